"""Errors of a local federation, for the person in front of it."""


class LocalError(Exception):
    """One line: what is wrong, and what would help."""
