"""Stored objects: records and versions in memory, SQLite on disk, predicates that select them.

Everything is synchronous, so that a verb commits against exactly the state that it read.
Start with `store`, then `backend`, what all rooms above share.
"""
