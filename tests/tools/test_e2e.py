"""`make e2e` runs its shards side by side and says of each how it ended."""

import sys

from tools.e2e import Ended, shards, states, summary

SAYS = "import os; me = os.environ['E2E_SHARD']; print('I am', me); raise SystemExit(me == 'b')"


def test_each_shard_knows_its_name_and_what_it_says_is_told_apart(capsys):
    """A shard that fails does not end the other one."""
    ended = shards(("a", "b"), (sys.executable, "-c", SAYS))

    assert ended == {"a": Ended(0, []), "b": Ended(1, [])}
    assert sorted(capsys.readouterr().out.splitlines()) == ["a       | I am a", "b       | I am b"]


def test_what_failed_is_said_once_more_at_the_end():
    """The first lines of a long run are out of sight by then."""
    says = "print('a dot\\nE   no such pod\\nFAILED tests/x.py::y'); raise SystemExit(1)"
    ended = shards(("a",), (sys.executable, "-c", says)) | {"b": Ended(0, ["E   expected"])}

    assert summary(ended, "3 s").splitlines() == [
        "a       | E   no such pod",
        "a       | FAILED tests/x.py::y",
        "3 s; a FAILED, b ended well",
    ]


def test_two_suites_on_one_machine_have_folders_of_their_own(monkeypatch, tmp_path):
    """E2E_STATE names the first; the other federations are beside it."""
    monkeypatch.setenv("E2E_STATE", str(tmp_path / "mine"))

    assert [one.name for one in states()] == ["mine", "mine-jobs", "mine-failover"]
    assert {one.parent for one in states()} == {tmp_path}
