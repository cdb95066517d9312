"""Endpoints: a checked request to the verb, review or discovery page that answers it.

Start with `handlers`.
"""
