"""The supervisor after mishaps: what ended is started again, and `down` always works."""

from deploy.local import processes
from deploy.local.__main__ import main
from deploy.local.options import Options
from tests.e2e.conftest import VERSION


async def test_what_ended_is_started_again(own_federation):
    """A killed child shows in the status; `up` starts it and leaves the others."""
    async with own_federation(members=1) as federation:
        before = {name: one.pid for name, one in federation.programs.items()}
        for name in ("east/kwok", "karmada-controller-manager"):
            await federation.stop(name, kill=True)
        states = {one.name: one.state for one in await federation.status()}
        ended = {name for name, state in states.items() if state == "ended"}
        assert ended == {"east/kwok", "karmada-controller-manager"}

        await federation.up(Options(members=1, karmada=VERSION))
        after = {name: one.pid for name, one in federation.programs.items()}
        assert {name for name in after if after[name] != before[name]} == ended

        # Whatever is lost, nothing is left behind.
        (federation.state / "federation.json").write_text("{half")
        await federation.down()
        assert list(processes.marked(federation.state)) == []
        assert not federation.state.exists()


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
