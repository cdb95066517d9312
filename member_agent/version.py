"""The agent's version."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version


@cache
def agent_version() -> str:
    """The installed version, read from its package once: every report names it."""
    try:
        return version("global-sched")
    except PackageNotFoundError:
        return "unknown"
