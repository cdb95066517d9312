"""Settings: their sources, and errors of those that cannot be used."""

import pytest

from global_sched.settings import SettingsError, load_settings, read_policy
from global_sched.shared.model.policy import Policy, ScoreWeights


@pytest.fixture
def write(tmp_path):
    """Writes a settings file."""

    def written(text, name="settings.yaml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_flags_win_over_the_environment_over_the_file(write, monkeypatch):
    """Each source fills in what the stronger ones leave out."""
    file = write("lease_name: from-file\nnamespace: from-file\nidentity: from-file\n")
    monkeypatch.setenv("GSCHED_LEASE_NAME", "from-env")
    monkeypatch.setenv("GSCHED_NAMESPACE", "from-env")

    settings = load_settings(file, {"lease_name": "from-flag"})

    assert (settings.lease_name, settings.namespace, settings.identity) == (
        "from-flag",
        "from-env",
        "from-file",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "a.yaml", "policy: {backoff_seconds: 7, score_weights: {packing: 3}}", id="YAML"
        ),
        pytest.param(
            "a.toml",
            "[policy]\nbackoff_seconds = 7\n[policy.score_weights]\npacking = 3",
            id="TOML",
        ),
    ],
)
def test_the_policy_section_is_the_models_policy(write, name, text):
    """The section becomes the very value that a cycle takes; the rest keeps its default."""
    settings = load_settings(write(text, name), {})

    assert settings.policy == Policy(backoff_seconds=7, score_weights=ScoreWeights(packing=3))


def test_nested_environment(monkeypatch):
    """`__` separates the parts of a name."""
    monkeypatch.setenv("GSCHED_POLICY__PLACEMENT_TIMEOUT_SECONDS", "45")
    monkeypatch.setenv("GSCHED_SCHEDULER_NAMES", "b,a")

    settings = load_settings(None, {})

    assert settings.policy.placement_timeout_seconds == 45
    assert settings.scheduler_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("leese_name: x", "leese_name is no setting; there are ", id="unknown key"),
        pytest.param("policy: {bakoff: 1}", "policy.bakoff is no setting; there are", id="policy"),
        pytest.param(
            "policy: {score_weights: {size: 1}}", "policy.score_weights.size is no", id="weights"
        ),
        pytest.param(
            "policy: {recovery_node_exit_codes: [79, 256]}",
            "policy.recovery_node_exit_codes: 256 is no exit code of a failure; use 1 to 255",
            id="exit code",
        ),
        pytest.param(
            f"policy: {{recovery_node_exit_codes: {list(range(1, 34))}}}",
            "policy.recovery_node_exit_codes: 33 are listed; use at most 32",
            id="exit codes",
        ),
        pytest.param("policy: {backoff_seconds: -1}", "policy.backoff_seconds: -1", id="negative"),
        pytest.param("policy: {backoff_seconds: soon}", "policy.backoff_seconds: ", id="no number"),
        pytest.param("policy: 7", "policy", id="no section"),
        pytest.param(
            "policy: {copied_kinds: [batch/v1/CronJob]}",
            "policy.copied_kinds: 'batch/v1/CronJob' is no kind; use Kind.group without a version",
            id="a kind with its version",
        ),
        pytest.param(
            "policy: {pod_kinds: [training.example.com]}",
            "policy.pod_kinds: 'training.example.com' is no kind",
            id="a kind without a capital",
        ),
        pytest.param("writes_at_once: 0", "writes_at_once: ", id="out of range"),
        pytest.param("scheduler_names: []", "name at least one scheduler", id="no name"),
        pytest.param("log_level: loud", "use debug, info, warning or error", id="level"),
        pytest.param("lease_seconds: 5", "lease_seconds must exceed renew_seconds", id="lease"),
        pytest.param("- a", "is not a mapping of settings", id="a list"),
        pytest.param("a: [", "cannot be read", id="no YAML"),
    ],
)
def test_refusals_are_one_line(write, text, want):
    """The line names the setting, says what is wrong, and what would help."""
    with pytest.raises(SettingsError) as caught:
        load_settings(write(text), {})

    message = str(caught.value)
    assert want in message
    assert "\n" not in message


def test_a_file_that_is_not_there(tmp_path):
    """The file's name is in the line."""
    with pytest.raises(SettingsError, match=r"gone.yaml cannot be read: No such file"):
        load_settings(tmp_path / "gone.yaml", {})


def test_read_policy():
    """The published Policy is read by the same rules."""
    assert read_policy({"backoff_seconds": 9}) == Policy(backoff_seconds=9)
    with pytest.raises(SettingsError, match=r"policy.x is no setting"):
        read_policy({"x": 1})
    with pytest.raises(SettingsError, match=r"policy.backoff_seconds"):
        read_policy({"backoff_seconds": "soon"})
