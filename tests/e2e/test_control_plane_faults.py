"""The supervisor after mishaps: what ended is started again, and `down` always works."""

import os
from pathlib import Path

import pytest

from tests import volcano_stand_in as stand_in
from tests.e2e.conftest import VERSION, tool_of
from tools.local_karmada import processes, volcano
from tools.local_karmada.__main__ import main
from tools.local_karmada.options import Options
from tools.local_karmada.programs import Programs


async def test_what_ended_is_started_again(own_federation, volcano_folder):
    """A killed child shows in the status; `up` starts it and leaves the others.

    Volcano's programs, where they are found, are children like the others.
    """
    async with own_federation(members=1) as federation:
        before = {name: one.pid for name, one in federation.programs.items()}
        killed = ("east/kwok", "east/vc-scheduler", "karmada-controller-manager")
        for name in killed:
            await federation.stop(name, kill=True)
        states = {one.name: one.state for one in await federation.status()}
        assert {name for name, state in states.items() if state == "ended"} == set(killed)

        await federation.up(Options(members=1, karmada=VERSION))
        after = {name: one.pid for name, one in federation.programs.items()}
        assert {name for name in after if after[name] != before[name]} == set(killed)
        await _runs_volcano(federation, volcano_folder)

        # Whatever is lost, nothing is left behind.
        (federation.state / "federation.json").write_text("{half")
        await federation.down()
        assert list(processes.marked(federation.state)) == []
        assert not federation.state.exists()


@pytest.fixture
def volcano_folder(tmp_path, monkeypatch):
    """Stand-ins of Volcano's programs where the supervisor looks for them, and their kinds."""
    every = (volcano.CONTROLLERS, volcano.SCHEDULER, volcano.GLOBAL)
    folder = stand_in.programs(tmp_path / "volcano", *every)
    names = ("jobflows.flow.volcano.sh", "jobtemplates.flow.volcano.sh")
    monkeypatch.setenv("VOLCANO_CRDS", str(stand_in.definitions(folder / "crds", *names)))
    monkeypatch.delenv("VOLCANO_BIN", raising=False)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


async def _runs_volcano(federation, folder):
    """They run as administrators of their server, its kinds are served, and the agent lets go."""
    wanted = ["east/vc-controller-manager", "east/vc-scheduler", volcano.GLOBAL]
    states = {one.name: one.state for one in await federation.status()}
    assert [states.get(name) for name in wanted] == ["works"] * 3
    started = stand_in.started(folder)
    assert sorted(name for name, _ in started) == sorted(
        [volcano.CONTROLLERS, volcano.SCHEDULER, volcano.SCHEDULER, volcano.GLOBAL]
    )
    run = tool_of(federation, "kubectl")
    for _, (kubeconfig, *_flags) in started:
        path = Path(kubeconfig.removeprefix("--kubeconfig="))
        assert run("auth", "can-i", "*", "*", kubeconfig=path).strip() == "yes"
    east = federation.kubeconfigs.members["east"]
    assert run("get", "jobflows.flow.volcano.sh", "-A", kubeconfig=east) == ""
    assert "default" in run("get", "queues.scheduling.volcano.sh", kubeconfig=east)
    programs = Programs(federation)
    await programs.start_agents()
    words = federation.programs["member-agent-east"].argv
    assert words[words.index("--scheduler-names") + 1] == "member-agent"
    assert "--run-volcano-jobs" not in words
    await programs.stop_all()


def test_other_options_are_refused(federation, capsys):
    """A federation that runs is not changed into another one, and the message says why."""
    status = main(["--state", str(federation.state), "up", "--members", "2", "--karmada", VERSION])

    said = capsys.readouterr().err
    assert status == 1
    assert said.count("\n") == 1
    assert "has a federation with other options (members 3 → 2)" in said
    assert "make karmada-down" in said


def test_nothing_is_up(tmp_path, capsys):
    """The status of an empty folder is one line, and `down` has nothing to do."""
    assert main(["--state", str(tmp_path / "none"), "status"]) == 1
    assert capsys.readouterr().out == f"no federation in {tmp_path / 'none'}\n"
    assert main(["--state", str(tmp_path / "none"), "down"]) == 0
