"""The last release beside this version: each finds the other's objects, and both run side by side.

The release is taken from git into a folder of its own; where the clone does not have it, nothing is
measured.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from bench.harness import ROOT, Figure, at_least, at_most, shown
from global_sched.shared.telemetry.logs import configure
from tests.faults.federation_process import MEMBERS
from tests.faults.world import World, world

GROUP: Final = "versions"
RELEASE: Final = "0.1.0"
COMMIT: Final = "c82940b"
"""The commit with which CHANGELOG.md got the section of that release; no release has a tag."""
DECIDES: Final = ("jobs", "resourcebindings/ ", "pods", "podgroups", "bindings")
"""Parts of writes that would change what runs; statuses, Events and Directives do not."""


def figures() -> list[Figure]:
    """All of them."""
    configure(level="critical")
    archive = subprocess.run(
        ("git", "archive", COMMIT), cwd=ROOT, capture_output=True, check=False
    ).stdout
    if not archive:
        how = f"not measured: this clone has no commit {COMMIT}"
        return [shown(GROUP, f"objects of {RELEASE} read by this version", None, "", how)]
    with tempfile.TemporaryDirectory() as folder:
        release = Path(folder) / "release"
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(release, filter="data")
        return [*_golden(release, Path(folder)), *asyncio.run(_mixed(release, Path(folder)))]


# --- each finds the other's objects -----------------------------------------------------


def _golden(release: Path, folder: Path) -> list[Figure]:
    old, new = folder / "old.json", folder / "new.json"
    _told(release, "write", old)
    _told(ROOT, "write", new)
    again = json.loads(_told(ROOT, "read", new))["written"]
    found = []
    for writer, reader, file, tree in (
        (RELEASE, "this version", old, ROOT),
        ("this version", RELEASE, new, release),
    ):
        result: dict[str, Any] = json.loads(_told(tree, "read", file))
        others = {what: n for what, n in result["written"].items() if what not in again}
        decisions = [what for what in others if any(part in what for part in DECIDES)]
        decisions = [what for what in decisions if "/status" not in what]
        name = f"objects of {writer} read by {reader}"
        what = ", ".join(f"{what} ({n})" for what, n in others.items()) or "none"
        found += [
            at_most(
                GROUP, f"{name}: pods ended or begun", len(result["ended"] + result["begun"]), "",
                0, f"of {result['pods']}, of jobs that run, wait and have ended",
            ),
            at_most(
                GROUP, f"{name}: decisions, jobs and pods written", len(decisions), "", 0,
                f"all writes but those of any restart (Directives, reports, Leases): {what}",
            ),
        ]  # fmt: skip
    return found


def _told(tree: Path, word: str, file: Path) -> str:
    """Run `tests/golden.py` with the packages of a tree; what it prints."""
    done = subprocess.run(
        (sys.executable, str(ROOT / "tests" / "golden.py"), word, str(file)),
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"golden.py {word} in {tree}: {done.stderr[-2000:]}")
    return done.stdout


# --- both run side by side --------------------------------------------------------------


async def _mixed(release: Path, folder: Path) -> list[Figure]:
    """Upgraded and downgraded program by program, as real processes on one federation."""
    ended, placed, steps = 0, 0, list[str]()
    wrong: list[str] = []
    try:
        async with world(folder / "mixed", code=release) as found:
            await _submit(found, "first")
            placed += 1
            for tree, programs in (
                (ROOT, "global-sched"), (ROOT, "agents"),
                (release, "agents"), (release, "global-sched"),
            ):  # fmt: skip
                before = _pods(found)
                found.code = tree
                await _restart(found, programs)
                step = f"{programs} {'this version' if tree == ROOT else RELEASE}"
                await _submit(found, f"step{len(steps)}")
                placed += 1
                await asyncio.sleep(15)
                ended += len(before - _pods(found))
                steps.append(step)
    except AssertionError as error:
        wrong.append(str(error).splitlines()[0])
    how = f"all programs of {RELEASE}, then {', then '.join(steps)}: each step with a new gang"
    return [
        at_least(GROUP, "gangs that run while versions change", placed, "", 5, how),
        at_most(GROUP, "pods that ended meanwhile", ended, "", 0),
        at_most(GROUP, "violations meanwhile", len(wrong), "", 0, "; ".join(wrong)),
    ]


async def _submit(found: World, name: str) -> None:
    await found.submit(name, pods=2, gpus=4, seconds=9999)
    await found.until_phase(name, "Running")


async def _restart(found: World, programs: str) -> None:
    """SIGTERM, and the next start is of the tree that is set."""
    names = ["gs-a"] if programs == "global-sched" else [f"agent-{one}" for one in MEMBERS]
    for name in names:
        await found.kill(name, signal.SIGTERM)
        await found.processes[name].wait()
    for name in names:
        if name == "gs-a":
            await found.scheduler(name)
        else:
            await found.agent(name.removeprefix("agent-"))
    await asyncio.sleep(10)


def _pods(found: World) -> set[str]:
    """The uids of pods that are there, and have not ended, by the history of all servers."""
    alive: set[str] = set()
    for seen in found.history():
        if seen.plural == "pods":
            uid = str(seen.obj["metadata"]["uid"])
            over = seen.gone or seen.obj.get("status", {}).get("phase") in ("Succeeded", "Failed")
            (alive.discard if over else alive.add)(uid)
    return alive
