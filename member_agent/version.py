"""The agent's version."""

from importlib.metadata import PackageNotFoundError, version


def agent_version() -> str:
    """The installed version."""
    try:
        return version("global-sched")
    except PackageNotFoundError:
        return "unknown"
