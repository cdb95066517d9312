"""Errors of commands: one line with the way out, and an exit code; completion for kubectl."""

import runpy
import socket

import click
import pytest
import yaml
from click.testing import CliRunner

from global_sched.cli import completing
from global_sched.cli.main import __file__ as main_file
from global_sched.cli.main import cli, kubectl_complete

COMMANDS = (
    ("jobs",),
    ("queues",),
    ("tenants",),
    ("clusters",),
    ("topology", "east"),
    ("explain", "train"),
)


@pytest.fixture
def closed_port():
    """A loopback port without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_server_that_is_away(tmp_path, command, closed_port):
    """Every command names the address and what to check."""
    path = tmp_path / "kubeconfig"
    server = f"http://127.0.0.1:{closed_port}"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": {"server": server}}],
                "users": [{"name": "u", "user": {}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )

    result = CliRunner().invoke(cli, ["--kubeconfig", str(path), *command])

    assert result.exit_code == 1
    assert result.output.count("\n") == 1
    assert result.output.startswith(f"Error: the control plane cannot be used: {server}: ")
    assert "check the server address of the kubeconfig's context, and that it runs" in result.output


def test_a_server_that_is_not_verified_is_said(tmp_path, closed_port, monkeypatch, capsys):
    """Beside the answer, on standard error; a completion says nothing, and no file no more."""
    server = {"server": f"https://127.0.0.1:{closed_port}", "insecure-skip-tls-verify": True}
    path = tmp_path / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "clusters": [{"name": "c", "cluster": server}],
                "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )

    result = CliRunner().invoke(cli, ["--kubeconfig", str(path), "jobs"])
    monkeypatch.setattr("sys.argv", ["x", "--kubeconfig", str(path), "explain", ""])
    kubectl_complete()

    warning, error = result.stderr.splitlines()
    assert warning.startswith(
        f"Warning: kubeconfig {path}: its cluster entry 'c' has insecure-skip-tls-verify"
    )
    assert error.startswith("Error: the control plane cannot be used")
    assert result.stdout == ""
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param(None, "does not exist or is not a file", id="no file"),
        pytest.param("x: [", "cannot be read", id="broken YAML"),
        pytest.param("apiVersion: v1", "has no contexts: add one", id="no contexts"),
        pytest.param(
            "contexts: [{name: a}, {name: b}]",
            "has no current-context: choose one of a, b",
            id="no current context",
        ),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(tmp_path, content, want):
    """The file is named."""
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)

    result = CliRunner().invoke(cli, ["--kubeconfig", str(path), "jobs"])

    assert result.exit_code == 1
    assert result.output.startswith(f"Error: kubeconfig {path} {want}")
    assert result.output.count("\n") == 1


def test_no_kubeconfig(tmp_path, monkeypatch):
    """Without any credentials the three ways to give them are named."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    result = CliRunner().invoke(cli, ["jobs"])

    assert (result.exit_code, result.output) == (
        1,
        (
            "Error: no credentials for an API server found: pass --kubeconfig FILE, "
            "set KUBECONFIG, or run in a pod with a service account\n"
        ),
    )


@pytest.mark.parametrize("command", [("nope",), ("jobs", "-o", "xml"), ("explain",)])
def test_wrong_words_are_exit_code_2(command):
    """Usage errors say how to get help."""
    result = CliRunner().invoke(cli, list(command))

    assert result.exit_code == 2
    assert "--help' for help." in result.output


def completed(capsys, monkeypatch, *words):
    """The answer that kubectl would get."""
    monkeypatch.setattr("sys.argv", ["kubectl_complete-gsched", *words])
    kubectl_complete()
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("words", "want"),
    [
        pytest.param(("explain", "-o", ""), ["table", "wide", "json", "yaml", ":4"], id="values"),
        pytest.param(("whatif", ""), [":0"], id="a file: the shell completes it"),
        pytest.param(("topology", "e"), ["east", ":4"], id="a cluster"),
        pytest.param(("explain", ""), ["lab/train", "team/train", ":4"], id="a job"),
        pytest.param(("explain", "-n", "lab", "t"), ["train", ":4"], id="a job of a namespace"),
    ],
)
def test_completion_through_kubectl(capsys, monkeypatch, words, want):
    """Candidates, then the directive that kubectl expects."""
    known = {"clusters": ["east", "west"], "jobs": ["lab/train", "team/train"]}
    monkeypatch.setattr(completing, "_names", lambda _context, what: known[what])

    assert completed(capsys, monkeypatch, *words) == want


def test_commands_are_completed_with_a_word_on_each(capsys, monkeypatch):
    """Shells show what a command does."""
    lines = completed(capsys, monkeypatch, "q")

    assert lines == [
        "queue\tChange queues, with your own rights: open,...",
        "queues\tQueues: state, priority, weight, what is...",
        ":4",
    ]


def test_completion_is_silent_without_a_control_plane(capsys, monkeypatch):
    """A tab never shows an error."""
    monkeypatch.setenv("KUBECONFIG", "/nowhere")

    assert completed(capsys, monkeypatch, "topology", "") == [":4"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    """The script of each shell asks gsched itself."""
    result = CliRunner().invoke(cli, ["completion", shell])

    assert result.exit_code == 0
    assert f"_GSCHED_COMPLETE={shell}_complete" in result.output


def test_runs_as_a_module(capsys, monkeypatch):
    """`python -m global_sched.cli.main` does what the executable does."""
    monkeypatch.setattr("sys.argv", ["gsched", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(main_file), run_name="__main__")

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("gsched, version ")


def every_command(group=cli, path=()):
    """Each command with the words that call it."""
    for name, command in group.commands.items():
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


@pytest.mark.parametrize("words", [" ".join(words) for words, _ in every_command()])
def test_every_command_has_help_with_an_example(words):
    """`-h` says what it does, and shows a line that can be typed."""
    shown = CliRunner().invoke(cli, [*words.split(), "-h"])

    assert shown.exit_code == 0
    assert f"Example:\n    {'source <(' * (words == 'completion')}gsched {words}" in shown.output
