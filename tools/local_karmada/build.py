"""Programs built once from the Go module registry, and kept in the user's cache.

Looked at first: PATH, then KUBEBUILDER_ASSETS, where a program counts only when it says that it
is of the wanted version. Every program is built beside its place and renamed, so that an
interrupted build goes on with the next program, and Go's own cache holds what was compiled.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from global_sched.shared.clock import SystemClock
from tools.local_karmada import golang
from tools.local_karmada.errors import LocalError
from tools.local_karmada.tools import Upstream

Say = Callable[[str], None]
_ASK_SECONDS: Final = 30
_BUILD_SECONDS: Final = 3600


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/global-sched`, usually `~/.cache/global-sched`."""
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "global-sched"


def folder_of(upstream: Upstream, cache: Path) -> Path:
    """Where an upstream's programs are kept: other pins or flags have another folder."""
    digest = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        digest.update((upstream.folder / name).read_bytes())
    digest.update("\0".join(upstream.flags).encode())
    return cache / "bin" / f"{upstream.name}-{upstream.version}-{digest.hexdigest()[:12]}"


def programs(
    upstreams: Iterable[Upstream], *, say: Say, cache: Path | None = None
) -> dict[str, Path]:
    """Every program by name: found, kept from before, or built now.

    Raises:  LocalError when Go or the registry is missing, or a build fails.
    """
    where = cache or cache_folder()
    found: dict[str, Path] = {}
    for upstream in upstreams:
        for name in upstream.packages:
            found[name] = _present(upstream, name, where) or _built(upstream, name, where, say)
    return found


def _present(upstream: Upstream, name: str, cache: Path) -> Path | None:
    kept = folder_of(upstream, cache) / name
    for candidate in (shutil.which(name), os.environ.get("KUBEBUILDER_ASSETS", "") + f"/{name}"):
        if not candidate or not os.access(candidate, os.X_OK) or Path(candidate) == kept:
            continue
        if tells(upstream, name, Path(candidate)):
            return Path(candidate)
    return kept if kept.is_file() else None


def tells(upstream: Upstream, name: str, program: Path) -> bool:
    """Whether a program says that it is of the wanted version."""
    try:
        answer = subprocess.run(
            [program, *upstream.asks[name]],
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return upstream.names_itself_in(answer.stdout + answer.stderr)


def _built(upstream: Upstream, name: str, cache: Path, say: Say) -> Path:
    folder = folder_of(upstream, cache)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder, say):
        if not (folder / name).is_file():  # another process may have built it meanwhile
            go = golang.find(cache)
            clock = SystemClock()
            start = clock.monotonic()
            say(f"building {name} {upstream.version} from {upstream.source}")
            _compile(go, upstream, name, folder)
            say(f"built {name} in {clock.monotonic() - start:.0f} s")
    return folder / name


@contextmanager
def _alone(folder: Path, say: Say) -> Iterator[None]:
    """One build at a time per folder; another one is waited for."""
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another build in {folder}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile(go: Path, upstream: Upstream, name: str, folder: Path) -> None:
    unfinished = folder / f".{name}.unfinished"
    command = [str(go), "build", *upstream.flags, "-o", str(unfinished), upstream.packages[name]]
    if shutil.which("nice"):
        command = ["nice", "-n", "5", *command]
    log = folder / f"{name}.log"
    try:
        with log.open("wb") as file:
            answer = subprocess.run(
                command,
                cwd=upstream.folder,
                env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly"},
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
                timeout=_BUILD_SECONDS,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LocalError(f"{name} cannot be built: {error}") from error
    if answer.returncode:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        last = lines[-1] if lines else f"go ended with {answer.returncode}"
        raise LocalError(
            f"{name} {upstream.version} cannot be built: {last} (all of it is in {log}; the "
            f"module registry of `go env GOPROXY` must be reachable)"
        )
    if not tells(upstream, name, unfinished):
        raise LocalError(f"{unfinished} does not say that it is {upstream.version}: delete it")
    unfinished.replace(folder / name)


def module_folder(upstream: Upstream, cache: Path | None = None) -> Path:
    """Where the upstream's sources are: its manifests are read from there.

    Raises:  LocalError when the registry cannot be reached.
    """
    go = golang.find(cache or cache_folder())
    answer = subprocess.run(
        [go, "mod", "download", "-json", upstream.source],
        cwd=upstream.folder,
        env=os.environ | {"GOFLAGS": "-mod=readonly"},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        found = json.loads(answer.stdout)
        return Path(found["Dir"])
    except (ValueError, KeyError) as error:
        text = (answer.stderr or answer.stdout).strip().splitlines()
        last = text[-1] if text else "no answer"
        raise LocalError(f"the sources of {upstream.source} cannot be read: {last}") from error
