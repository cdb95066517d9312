"""The demo of faults as a user runs it: real programs, a minute of real time."""

import pytest
from click.testing import CliRunner

from global_sched.cli.main import cli


@pytest.mark.faults
@pytest.mark.timeout(400)
def test_every_gang_is_whole_again_and_nothing_else_is_touched():
    """Crashes, dead machines, a deleted Node, a lost rack."""
    result = CliRunner().invoke(cli, ["demo", "--faults"])

    assert result.exit_code == 0, result.output
    assert "all 5 gangs are whole" in result.output
