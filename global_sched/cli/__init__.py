"""`gsched` and its kubectl plugin: one file per command.

A command reads live objects into the cache, calls `core` and prints; it keeps no scheduling logic
of its own, and it never writes. Heavy imports stay inside the commands, so that `--help` is quick.

Read `main` for the commands and `view` for what they look at.
"""
