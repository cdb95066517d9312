"""Volcano is used where it is provided, and the message says what is missing elsewhere."""

from types import MappingProxyType

import pytest

from global_sched.embedded.credentials import AgentKubeconfigs
from global_sched.shared.clock import SystemClock
from tests import volcano_stand_in as stand_in
from tools.local_karmada import volcano
from tools.local_karmada.certs import Authority
from tools.local_karmada.errors import LocalError
from tools.local_karmada.federation import Federation
from tools.local_karmada.health import until_healthy
from tools.local_karmada.ledger import Ledger
from tools.local_karmada.programs import agent_flags
from tools.local_karmada.servers import Site


@pytest.fixture(autouse=True)
def nothing(monkeypatch, tmp_path):
    """A machine without Volcano."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("VOLCANO_BIN", "VOLCANO_CRDS"):
        monkeypatch.delenv(name, raising=False)


def brought(tmp_path, monkeypatch, *names):
    """A folder of programs, and one of CRDs."""
    folder = stand_in.programs(tmp_path / "volcano", *names)
    (folder / "crds").mkdir()
    monkeypatch.setenv("VOLCANO_BIN", str(folder))
    monkeypatch.setenv("VOLCANO_CRDS", str(folder / "crds"))
    return folder


def test_it_is_not_here():
    """Every part that lacks is named, with the setting that would bring it."""
    found = volcano.find()
    assert not found.runs_jobs
    assert found.missing() == (
        "Volcano is not here: vc-controller-manager, vc-scheduler, the CRDs (VOLCANO_CRDS) not "
        "found; set VOLCANO_BIN and PATH"
    )


@pytest.mark.parametrize(
    ("names", "runs_jobs", "binds"),
    [
        pytest.param(("vc-controller-manager", "vc-scheduler"), True, True, id="both"),
        pytest.param(("vc-controller-manager",), True, False, id="no scheduler: the agent binds"),
        pytest.param(("vc-scheduler",), False, False, id="no controller: the agent does all"),
    ],
)
def test_what_is_here_decides_who_works(tmp_path, monkeypatch, names, runs_jobs, binds):
    """Jobs go to Volcano's controller where it is, pods to its scheduler where both are."""
    brought(tmp_path, monkeypatch, *names)
    found = volcano.find()
    assert (found.runs_jobs, found.binds) == (runs_jobs, binds)


@pytest.mark.parametrize("name", ["VOLCANO_BIN", "VOLCANO_CRDS"])
def test_a_setting_that_names_nothing(monkeypatch, name):
    """A typing error is said, rather than taken for a machine without Volcano."""
    monkeypatch.setenv(name, "/no/such/folder")
    with pytest.raises(LocalError, match=f"{name}=/no/such/folder is not a folder"):
        volcano.find()


async def test_a_silent_controller_is_refused(tmp_path, monkeypatch):
    """Without JobFlow its controller does nothing and does not say so; we do."""
    folder = brought(tmp_path, monkeypatch, "vc-controller-manager")
    (folder / "crds" / "jobs.yaml").write_text(
        "kind: CustomResourceDefinition\nmetadata: {name: jobs.batch.volcano.sh}\n"
    )
    with pytest.raises(LocalError, match=r"has no jobflows.flow.volcano.sh: without it"):
        await volcano.define(None, "east", volcano.find())


async def test_what_is_found_is_started_with_its_flags(tmp_path, monkeypatch):
    """Each on a health port of its own, as the only replica, with lifted client limits."""
    every = (volcano.CONTROLLERS, volcano.SCHEDULER, volcano.GLOBAL)
    folder = brought(tmp_path, monkeypatch, *every)
    ledger = Ledger(tmp_path / "state")
    authority = Authority(tmp_path / "state" / "pki")
    site = Site(ledger=ledger, authority=authority, programs=MappingProxyType({}))
    found = volcano.find()
    beside = volcano.global_program(site, found)
    try:
        names = []
        for program in (*volcano.programs_of(site, "east", found), beside):
            names.append(ledger.start(program).name)
            await until_healthy(ledger, program.name, clock=SystemClock())
        while len(stand_in.started(folder)) < len(every):  # the last one has no health page
            await SystemClock().sleep(0.01)
    finally:
        await Federation(tmp_path / "state").down()

    assert names == ["east/vc-controller-manager", "east/vc-scheduler", volcano.GLOBAL]
    kubeconfigs = tmp_path / "state" / "kubeconfigs"
    assert stand_in.started(folder) == [
        *(
            (
                name,
                [
                    f"--kubeconfig={kubeconfigs}/east-system_admin.yaml",
                    "--leader-elect=false",
                    "--kube-api-qps=2000",
                    "--kube-api-burst=4000",
                    "--enable-healthz=true",
                    f"--healthz-address=127.0.0.1:{ledger.port(f'east/{name}')}",
                ],
            )
            for name in (volcano.CONTROLLERS, volcano.SCHEDULER)
        ),
        (
            volcano.GLOBAL,
            [
                f"--kubeconfig={kubeconfigs}/control-plane-system_admin.yaml",
                "--leader-elect=false",
            ],
        ),
    ]


async def test_one_that_ends_is_told(tmp_path, monkeypatch):
    """Its last line, and where its log is: a program that does not know a flag ends at once."""
    folder = brought(tmp_path, monkeypatch, volcano.CONTROLLERS, volcano.SCHEDULER)
    (folder / volcano.SCHEDULER).write_text("#!/bin/sh\necho unknown flag >&2; exit 2\n")
    ledger = Ledger(tmp_path / "state")
    authority = Authority(tmp_path / "state" / "pki")
    site = Site(ledger=ledger, authority=authority, programs=MappingProxyType({}))
    try:
        program = ledger.start(volcano.programs_of(site, "east", volcano.find())[1])
        with pytest.raises(LocalError, match=r"^east/vc-scheduler ended: unknown flag \(its log:"):
            await until_healthy(ledger, program.name, clock=SystemClock())
    finally:
        await Federation(tmp_path / "state").down()


@pytest.mark.parametrize(
    ("names", "schedulers", "jobs"),
    [
        pytest.param((), "member-agent,volcano", True, id="nothing is here: the agent does all"),
        pytest.param((volcano.CONTROLLERS,), "member-agent,volcano", False, id="it runs Jobs"),
        pytest.param(
            (volcano.CONTROLLERS, volcano.SCHEDULER), "member-agent", False, id="it binds, too"
        ),
    ],
)
def test_the_agent_leaves_to_volcano_what_is_its(tmp_path, monkeypatch, names, schedulers, jobs):
    """Jobs where its controller runs, pods of `volcano` where its scheduler does."""
    brought(tmp_path, monkeypatch, *names)
    files = AgentKubeconfigs(control_plane=tmp_path / "control", member=tmp_path / "member")
    flags = agent_flags("east", files, volcano.find())
    assert flags[flags.index("--scheduler-names") + 1] == schedulers
    assert ("--run-volcano-jobs" in flags) is jobs
