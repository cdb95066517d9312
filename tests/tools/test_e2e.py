"""`make e2e` runs its shards side by side and says of each how it ended."""

import sys

from tools.e2e import shards, states

SAYS = "import os; me = os.environ['E2E_SHARD']; print('I am', me); raise SystemExit(me == 'b')"


def test_each_shard_knows_its_name_and_what_it_says_is_told_apart(capsys):
    """A shard that fails does not end the other one."""
    ended = shards(("a", "b"), (sys.executable, "-c", SAYS))

    assert ended == {"a": 0, "b": 1}
    assert sorted(capsys.readouterr().out.splitlines()) == ["a       | I am a", "b       | I am b"]


def test_two_suites_on_one_machine_have_folders_of_their_own(monkeypatch, tmp_path):
    """E2E_STATE names the first; the federation that tests break is beside it."""
    monkeypatch.setenv("E2E_STATE", str(tmp_path / "mine"))

    assert states() == (tmp_path / "mine", tmp_path / "mine-failover")
