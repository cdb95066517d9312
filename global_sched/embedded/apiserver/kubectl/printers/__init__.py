"""Tables for `kubectl get`: columns and cells of every kind. Comfort for people, and nothing else.

No part of global-sched reads a table; without this room the server would answer objects only.
Read `columns` first.
"""
