"""`gsched nodes`: what is printed, and how an administrator ends a probation."""

from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.shared.api.federation import CapacityReportSpec, ReportNodeTrouble
from global_sched.view.nodes import rows_of


def test_without_a_kubeconfig_of_the_member_the_command_is_printed():
    """Nothing is written by it."""
    result = CliRunner().invoke(cli, ["nodes", "clear", "east", "n1", "n2"])

    assert result.exit_code == 0
    assert result.output.splitlines()[1] == (
        "kubectl -n global-sched patch configmap member-agent-node-trouble --type merge "
        """-p '{"data":{"clear":"n1,n2"}}'"""
    )


def test_clear_needs_a_node_and_no_other_word_follows_a_cluster():
    """Both say what to write."""
    nothing = CliRunner().invoke(cli, ["nodes", "clear", "east"])
    other = CliRunner().invoke(cli, ["nodes", "east", "n1"])

    assert nothing.exit_code == other.exit_code == 2
    assert "name the nodes to clear: gsched nodes clear east NODE" in nothing.output
    assert "did you mean `gsched nodes clear`?" in other.output


def test_a_row_has_everything_that_the_report_says():
    """In the order of the report."""
    one = ReportNodeTrouble(
        node="n1",
        domain="r0",
        state="probation",
        cause="DeviceUnhealthy",
        detail="GpuHealthy is False",
        since="2026-01-01T00:00:00Z",
        until="2026-01-01T06:00:00Z",
        count=2,
    )

    assert list(rows_of(CapacityReportSpec(trouble=[one]))) == [
        {
            "node": "n1",
            "state": "probation",
            "domain": "r0",
            "cause": "DeviceUnhealthy",
            "detail": "GpuHealthy is False",
            "since": "2026-01-01T00:00:00Z",
            "until": "2026-01-01T06:00:00Z",
            "count": 2,
        }
    ]
