"""Processes of this machine that a test started and that may still run."""

from pathlib import Path


def processes_with(path: Path) -> list[str]:
    """The command lines that name a path."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(each.read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return [line for line in found if str(path) in line]
