"""Refusals that keep a controller from its work on an object for now."""


class NotNow(Exception):  # noqa: N818 - a reason, not a failure of ours
    """Tried again after a back-off; the message is for the object's owner."""
