"""The wheel, installed into a new environment and used from an empty folder."""

import os
import re
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import VERSION
from tests.e2e.waiting import until
from tests.processes import processes_with
from tests.repo.commands import COMMANDS, PAGES, Live, commands, page
from tools.local_karmada.build import programs as built
from tools.local_karmada.tools import upstreams

ROOT = Path(__file__).parents[2]
SMALL_DEMO = ROOT / "tests" / "data" / "small-demo"
EXPLAINED = "gsched explain -n language tune-3"
"""The command whose answer README shows."""


class Environment:
    """A virtual environment with nothing of this checkout, and an empty folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "environment"
        self.empty = folder / "empty"
        self.empty.mkdir()
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        [self.wheel] = folder.glob("*.whl")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.home], check=True)
        self.install()

    def install(self, extra: str = "") -> None:
        """Install the wheel, with an extra or without; compiling it would take longer."""
        pip = [sys.executable, "-m", "pip", "--python", self.home / "bin/python", "install"]
        options = ["--quiet", "--no-compile", "--disable-pip-version-check"]
        options += ["-c", ROOT / "constraints.txt"]
        subprocess.run([*pip, *options, f"{self.wheel}{extra}"], check=True, timeout=300)

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A program of the environment, with nothing of ours around it."""
        return subprocess.run(
            [self.home / "bin" / program, *arguments],
            cwd=self.empty,
            env=self.variables(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def variables(self) -> dict[str, str]:
        """An environment with nothing of ours."""
        return {"PATH": os.defpath, "HOME": str(self.home), "COLUMNS": "160"}

    def packages(self) -> Path:
        """Where the package is installed."""
        return next(self.home.glob("lib/python*/site-packages")) / "global_sched"


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """The wheel without any extra, as in the image."""
    return Environment(tmp_path_factory.mktemp("package"))


def test_the_programs_of_the_image_need_no_extra_and_no_embedded_federation(environment):
    """All of them start; the demo says what is missing and how to get it."""
    embedded = environment.packages() / "embedded"
    without_extra = environment.run("gsched", "demo")
    aside = embedded.rename(environment.home / "embedded")
    try:
        without_folder = environment.run("gsched", "demo")
        helps = {
            name: environment.run(name, "--help").returncode
            for name in ("global-sched", "member-agent", "gsched", "kubectl-gsched")
        }
    finally:
        aside.rename(embedded)

    assert without_extra.returncode == without_folder.returncode == 1
    assert without_extra.stderr == (
        "Error: No module named 'jsonpatch': the embedded federation needs the extra `demo`;"
        " pip install 'global-sched[demo]'\n"
    )
    assert without_folder.stderr == (
        "Error: this installation has no embedded federation, as the image for clusters:"
        " pip install 'global-sched[demo]' elsewhere\n"
    )
    assert helps == dict.fromkeys(helps, 0)


def test_manifests_come_with_the_wheel(environment):
    """Printed for each API server, and as files with the script that installs them."""
    printed = environment.run("gsched", "manifests", "member", "--member", "m1")
    written = environment.run("gsched", "manifests", "--to", ".")

    kinds = [one["kind"] for one in yaml.safe_load_all(printed.stdout)]
    assert "Deployment" in kinds
    assert written.returncode == 0, written.stderr
    assert os.access(environment.empty / "deploy/install.sh", os.X_OK)
    for name in ("deploy", "crds"):
        shutil.rmtree(environment.empty / name)


@pytest.fixture
def demo(environment):
    """The demo with all that it has printed, up in an empty folder; it ends with the test."""
    environment.install("[demo]")
    with subprocess.Popen(
        [environment.home / "bin/gsched", "demo", "--keep"],
        cwd=environment.empty,
        env=environment.variables(),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        printed = []
        for line in process.stdout:
            printed.append(line.rstrip())
            if line.startswith("Logs of the programs"):
                break
        yield printed
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) == 0
    assert list(environment.empty.iterdir()) == []


@pytest.mark.timeout(900)
async def test_the_demo_and_the_quickstart(environment, demo):
    """`pip install 'global_sched-*.whl[demo]' && gsched demo`, then the pages' own commands.

    README's table is the demo's: the same jobs in the same clusters, for the same reasons.
    """
    assert any("expectations of the examples hold" in line for line in demo), demo
    assert [row for row in readme_rows() if row not in map(job_row, demo)] == []
    [kubeconfig] = [line.partition("=")[2] for line in demo if "export KUBECONFIG=" in line]
    kubectl = built(upstreams(VERSION), say=print)["kubectl"]
    tools = f"{environment.home / 'bin'}:{kubectl.parent}:{os.defpath}"
    variables = environment.variables() | {"KUBECONFIG": kubeconfig, "PATH": tools}
    put = {"mine.yaml": quickstart_manifests()}
    for name in ("examples/wider-rack.yaml", "tests/scenarios/rack-of-four.yaml"):
        put[name] = (ROOT / name).read_text(encoding="utf-8")
    for name, text in put.items():
        (environment.empty / name).parent.mkdir(parents=True, exist_ok=True)
        (environment.empty / name).write_text(text, encoding="utf-8")

    shell = Shell(environment.empty, variables)
    every = [one for name in PAGES for one in commands(page(name))]
    for command in dict.fromkeys(one for one in every if isinstance(COMMANDS[one], Live)):
        try:
            await until(partial(shell.answers, command), command)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{shell.said}") from error
    assert explained_in_readme() - decided(shell.printed[EXPLAINED]) == set()
    for name in put:
        top = environment.empty / name.partition("/")[0]
        shutil.rmtree(top) if top.is_dir() else top.unlink()


def test_a_demo_of_which_an_expectation_does_not_hold(environment, tmp_path):
    """Exit code 1 and a sentence for it; the other one holds, and no process is left."""
    environment.install("[demo]")
    wrong = tmp_path / "wrong"
    shutil.copytree(SMALL_DEMO, wrong)
    text = (wrong / "demo.yaml").read_text()
    (wrong / "demo.yaml").write_text(text.replace("cluster: b, domain: b-1", "cluster: a"))

    state = tmp_path / "state"
    done = environment.run("gsched", "demo", "--examples", str(wrong), "--state", str(state))

    assert done.returncode == 1, done.stdout
    assert "not as expected: team/fits: cluster is b, wanted a" in done.stdout
    assert done.stdout.count("not as expected") == 1
    assert processes_with(state) == []


class Shell:
    """Lines as a reader types them."""

    def __init__(self, folder, variables):
        self.folder, self.variables = folder, variables
        self.said = ""
        """What the last line said on standard error."""
        self.printed: dict[str, str] = {}
        """What each line has printed."""

    def answers(self, line):
        """Whether a line ends well and prints something."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        self.said = done.stderr
        self.printed[line] = done.stdout
        return done.returncode == 0 and bool(done.stdout)


def job_row(line):
    """Job, tenant, queue, priority and cluster of a line of the demo's table."""
    return line.split()[:5]


def readme_rows():
    """The rows of README's first table."""
    block = page("README.md").split("```")[1].strip().splitlines()
    return [job_row(line) for line in block[1:]]


def explained_in_readme():
    """What README shows of `gsched explain`, without what other jobs decide."""
    return decided(page("README.md").split("```")[3].strip())


def decided(text):
    """The lines of an explanation that the job alone decides: no place, no remedies."""
    lines = (re.sub(r", \d+ of \d+ in queue", " in queue", line) for line in text.splitlines())
    return {line for line in lines if not line.startswith(("runs when", "or  ", "    "))}


def quickstart_manifests():
    """What section 5 puts into mine.yaml."""
    return page("docs/quickstart.md").split("```yaml")[1].partition("```")[0]
