"""The one error of the model: a value that must never exist."""


class InvariantError(AssertionError):
    """A bug of ours: the message names the object and what was violated."""
