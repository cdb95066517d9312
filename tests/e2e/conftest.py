"""The real Karmada of the suite: one for all tests, and one of its own for those that break it.

What these fixtures give is written down in docs/design/0002-real-karmada.md. `make e2e` runs the
tests in shards side by side (`tools/e2e.py`), each with a federation of its own, and then what
looks at the requests of all.
"""

import asyncio
import hashlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from pathlib import Path
from typing import Any

import pytest

from global_sched.shared.api import resource as kinds
from tests.e2e.faults import SHORT, Faults
from tests.e2e.requests import Requests
from tests.e2e.world import World
from tools.local_karmada import volcano
from tools.local_karmada.errors import LocalError
from tools.local_karmada.federation import Federation
from tools.local_karmada.options import Options, default_state
from tools.local_karmada.programs import Programs
from tools.local_karmada.tools import KARMADA_VERSIONS

LAST = "test_rights.py"
"""Looks at what all other tests have asked for."""
SHARD = os.environ.get("E2E_SHARD")
"""`suite`, `jobs`, `faults` (breaks a federation), `package` or `rights` (LAST); unset, all."""
PACKAGE = "test_package.py"
"""Needs no federation: the wheel in an environment of its own."""
JOBS = (
    "test_agent_duties.py",
    "test_beside_karmada_scheduler.py",
    "test_deploy_",
    "test_embedded_server.py",
    "test_interpreter_",
    "test_kinds.py",
    "test_node_lifecycle.py",
    "test_recovery.py",
    "test_volcano_jobs.py",
)
"""How jobs fare, and how the product is installed: half of the suite, and two members do for it."""
VERSION = os.environ.get("KARMADA") or KARMADA_VERSIONS[0]
SUITE = Options(karmada=VERSION)
TWO = Options(members=2, karmada=VERSION)
FAULTS = Options(members=2, karmada=VERSION, failover=True, descheduler=True)
"""The federation that tests break: taints evict there, and Karmada's times are short."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark everything here, leave out what needs Volcano where there is none, sort the last."""
    here = Path(__file__).parent
    try:
        missing = volcano.find().missing()
    except LocalError as error:
        raise pytest.UsageError(str(error)) from error
    ran = {item.path for item in items}
    chosen = config.option.keyword or any("::" in one for one in config.args)
    whole = not chosen and set(here.glob("test_*.py")) <= ran
    for item in items:
        if item.path.parent != here:
            continue
        item.add_marker(pytest.mark.e2e)
        if not whole and SHARD is None and item.get_closest_marker("whole_suite"):
            item.add_marker(pytest.mark.skip(reason="only after all of the suite"))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(600))
        if missing and item.get_closest_marker("volcano"):
            item.add_marker(pytest.mark.skip(reason=missing))
    items.sort(key=lambda item: SHARDS.index(_shard(item)))
    if SHARD is not None:
        config.hook.pytest_deselected(items=[one for one in items if _shard(one) != SHARD])
        items[:] = [one for one in items if _shard(one) == SHARD]


SHARDS = ("suite", "jobs", "faults", "package", "rights")
"""In this order where one process runs all: LAST comes last."""


def _shard(item: pytest.Item) -> str:
    if item.path.name == LAST:
        return "rights"
    if item.path.name == PACKAGE:
        return "package"
    breaks = {"fault_federation", "own_federation"} & set(getattr(item, "fixturenames", ()))
    if breaks:
        return "faults"
    return "jobs" if item.path.name.startswith(JOBS) else "suite"


def _state(part: str = "") -> Path:
    given = os.environ.get("E2E_STATE")
    first = Path(given) if given else default_state().parent / "e2e"
    return first.with_name(f"{first.name}{part}")


@pytest.fixture(scope="session")
def federation() -> Iterator[Federation]:
    """The federation of the suite, up and healthy; E2E_KEEP=1 leaves it for the next run."""
    with _jobs() if SHARD == "jobs" else _suite(_state(), SUITE) as made:
        yield made


@pytest.fixture(scope="session")
def jobs_federation() -> Iterator[Federation]:
    """The one of the shard `jobs`, for what looks at the requests of all."""
    with _jobs() as made:
        yield made


def _jobs() -> AbstractContextManager[Federation]:
    return _suite(_state("-jobs"), TWO)


@contextmanager
def _suite(state: Path, options: Options) -> Iterator[Federation]:
    made = Federation(state, say=lambda text: print(text, flush=True))  # noqa: T201 - progress
    with _up(made, options):
        yield made


@contextmanager
def _up(made: Federation, options: Options) -> Iterator[None]:
    """A federation that is up in the block; what was started goes however it ends.

    E2E_KEEP=1 leaves it for the next run. The shard `rights` takes what others have left as it is.
    """
    keep = os.environ.get("E2E_KEEP")
    if not keep:
        asyncio.run(made.down())
    try:
        if SHARD != "rights" or not _runs(made, options):
            asyncio.run(made.up(options))
        yield
    finally:
        if not keep:
            asyncio.run(made.down())


def _runs(made: Federation, options: Options) -> bool:
    """Whether it was started with these options and nothing of it has ended."""
    ledger = made.ledger
    return ledger.options == options and all(one.alive for one in ledger.programs.values())


@pytest.fixture(scope="session")
def requests(request: pytest.FixtureRequest) -> Requests:
    """Every request of our programs in this run, on every federation."""
    names = ["federation", *(["jobs_federation"] if SHARD == "rights" else [])]
    if SHARD == "rights" or any(_shard(one) == "faults" for one in request.session.items):
        names.append("fault_federation")
    return Requests(*map(request.getfixturevalue, names))


@pytest.fixture
async def programs(federation: Federation) -> Programs:
    """global-sched and an agent per member, running."""
    found = Programs(federation)
    await found.start_agents()
    await found.start_scheduler()
    return found


@pytest.fixture
async def world(federation: Federation, programs: Programs) -> AsyncIterator[World]:
    """Clients of the suite's federation, closed with the test."""
    found = World(federation, programs)
    await found.open()
    yield found
    await found.close()


@pytest.fixture
def space(request: pytest.FixtureRequest, kubectl: Callable[..., str]) -> Iterator[str]:
    """A namespace of the test's own. What is in it goes with the test, without a wait."""
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]
    name = f"e2e-{digest}"
    kubectl("delete", "namespace", name, "--ignore-not-found", "--timeout=60s")
    kubectl("create", "namespace", name)
    yield name
    kubectl("delete", "namespace", name, "--wait=false")


Tool = Callable[..., str]


def tool_of(federation: Federation, name: str) -> Tool:
    """A program of the federation as a function: arguments in, what it printed out."""

    def run(
        *arguments: str,
        kubeconfig: Path | None = None,
        stdin: str | None = None,
        check: bool = True,
    ) -> str:
        """Without `check`, what it said on both channels, however it ended."""
        answer = subprocess.run(
            [federation.tool(name), *arguments],
            env=os.environ | {"KUBECONFIG": str(kubeconfig or federation.kubeconfigs.admin)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if not check:
            return answer.stdout + answer.stderr
        assert answer.returncode == 0, f"{name} {' '.join(arguments)}: {answer.stderr}"
        return answer.stdout

    return run


@pytest.fixture
def kubectl(federation: Federation) -> Tool:
    """`kubectl("get", "pods", kubeconfig=…, stdin="…", check=True)` is what it printed."""
    return tool_of(federation, "kubectl")


@pytest.fixture
def karmadactl(federation: Federation) -> Tool:
    """The same of karmadactl."""
    return tool_of(federation, "karmadactl")


@pytest.fixture
def helm(federation: Federation) -> Tool:
    """The same of helm."""
    return tool_of(federation, "helm")


@pytest.fixture
def own_federation(
    tmp_path: Path,
) -> Callable[..., AbstractAsyncContextManager[Federation]]:
    """A federation for one test that breaks it, ended with the block.

    Options are those of `tools.local_karmada.options.Options`; two members unless more are asked
    for.
    """

    @asynccontextmanager
    async def run(**options: Any) -> AsyncIterator[Federation]:
        made = Federation(tmp_path / "federation")
        try:
            await made.up(Options(**({"members": 2, "karmada": VERSION} | options)))
            yield made
            asked = Requests(made).counted()
            assert not [one for one in asked if not one.allowed and not one.host]
        finally:
            await made.down()

    return run


@pytest.fixture(scope="session")
def fault_federation() -> Iterator[Federation]:
    """One federation for all tests that break something and mend it again."""
    made = Federation(_state("-failover"))
    with _up(made, FAULTS):
        yield made


@pytest.fixture
async def faults(
    fault_federation: Federation, request: pytest.FixtureRequest
) -> AsyncIterator[Faults]:
    """That federation with everything running, and a namespace of the test's own."""
    if not all(one.alive for one in fault_federation.programs.values()):
        await fault_federation.up(FAULTS)  # a test that failed may have left something ended
    programs = Programs(fault_federation)
    for member in fault_federation.members:
        await programs.start_agent(member, "--lease-seconds", "4")
    await programs.start_scheduler("global-sched", *SHORT)
    digest = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]
    kubectl = tool_of(fault_federation, "kubectl")
    found = Faults(
        fault_federation,
        programs,
        f"e2e-{digest}",
        kubectl=kubectl,
        karmadactl=tool_of(fault_federation, "karmadactl"),
    )
    kubectl("delete", "namespace", found.space, "--ignore-not-found", "--timeout=60s")
    await found.open()
    await found.admin.create(kinds.NAMESPACES, {"metadata": {"name": found.space}})
    yield found
    kubectl("delete", "namespace", found.space, "--wait=false")
    await found.close()
