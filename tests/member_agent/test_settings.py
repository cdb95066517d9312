"""Settings from flags, environment and file; wrong ones end in one clear line."""

import pytest
from click.testing import CliRunner

from member_agent.__main__ import cli
from member_agent.settings import Settings, load_settings


def run(*args, env=None):
    return CliRunner().invoke(cli, ["run", *args], env=env or {})


def test_flags_win_over_environment_and_file(tmp_path, monkeypatch):
    """Flags, then the environment, then the file, then the default."""
    file = tmp_path / "agent.yaml"
    file.write_text("cluster: file\nreport_period_seconds: 20\nlabel_keys: [a, b]\n")
    monkeypatch.setenv("MAGENT_REPORT_PERIOD_SECONDS", "30")
    monkeypatch.setenv("MAGENT_SCHEDULER_NAMES", "volcano, member-agent")

    found = load_settings(file, {"cluster": "flag"})

    assert found.cluster == "flag"
    assert found.report_period_seconds == 30
    assert found.label_keys == ("a", "b")
    assert found.scheduler_names == ("member-agent", "volcano")
    assert found.binds_at_once == 32


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param({}, ("member-agent",), id="no Jobs are run"),
        pytest.param(
            {"run_volcano_jobs": True}, ("member-agent", "volcano"), id="Jobs that name none"
        ),
        pytest.param(
            {"run_volcano_jobs": True, "scheduler_names": "member-agent"},
            ("member-agent",),
            id="what is set counts",
        ),
    ],
)
def test_an_agent_that_runs_volcano_jobs_answers_for_their_schedulers_name(given, want):
    """A Volcano Job without a schedulerName means `volcano`, which nothing else answers for."""
    assert load_settings(None, {"cluster": "m", **given}).scheduler_names == want


def test_no_scheduler_names_means_report_only():
    """An empty list is a choice, not the default."""
    assert load_settings(None, {"cluster": "m", "scheduler_names": ""}).scheduler_names == ()


def test_every_setting_is_documented():
    """`--help` tells what each setting means."""
    missing = [name for name, field in Settings.model_fields.items() if not field.description]
    assert missing == []
    shown = CliRunner().invoke(cli, ["run", "--help"]).output
    assert "--report-period-seconds" in shown
    assert "--run-volcano-jobs / --no-run-volcano-jobs" in shown


@pytest.mark.parametrize(
    ("args", "want"),
    [
        pytest.param([], "settings: cluster: Field required", id="no cluster"),
        pytest.param(
            ["--cluster", "m", "--report-period-seconds", "1"],
            "report_period_seconds: Input should be greater than or equal to 2 (given '1')",
            id="a period that is too short",
        ),
        pytest.param(
            ["--cluster", "A B"], "cluster: Value error, expected a Karmada", id="no cluster name"
        ),
        pytest.param(
            ["--cluster", "m", "--scheduler-names", "default-scheduler"],
            "default-scheduler is Kubernetes' own scheduler",
            id="the name of Kubernetes' scheduler",
        ),
        pytest.param(["--cluster", "m", "--log-format", "xml"], "xml", id="an unknown log format"),
        pytest.param(["--cluster", "m", "--log-level", "loud"], "loud", id="an unknown log level"),
        pytest.param(
            ["--cluster", "m", "--config", "/nowhere/x.yaml"], "/nowhere/x.yaml", id="no such file"
        ),
        pytest.param(
            ["--cluster", "m"], "no kubeconfig of the control plane", id="no control plane"
        ),
        pytest.param(
            ["--cluster", "m", "--control-kubeconfig", "/nowhere", "--kubeconfig", "/nowhere"],
            "/nowhere",
            id="a kubeconfig that does not exist",
        ),
    ],
)
def test_wrong_settings_are_one_line(args, want):
    """One clear line on standard error and a non-zero exit, no traceback."""
    result = run(*args)

    assert result.exit_code in (1, 2)
    assert want in result.output
    assert result.output.count("\n") == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("cluster: [", "is not YAML", id="no YAML"),
        pytest.param("- a", "is not a mapping", id="no mapping"),
        pytest.param("cluster: m\ncolour: red", "colour: Extra inputs", id="an unknown setting"),
    ],
)
def test_wrong_files_are_one_line(tmp_path, text, want):
    """A file with a mistake is refused as a whole, with the mistake."""
    file = tmp_path / "agent.yaml"
    file.write_text(text)

    result = run("--config", str(file))

    assert result.exit_code == 2
    assert want in result.output
    assert result.output.count("\n") == 1
