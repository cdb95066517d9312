"""The wheel, installed into a new environment and used from an empty folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


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
            env={"PATH": os.defpath, "HOME": str(self.empty), "COLUMNS": "160"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

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
        "Error: No module named 'cel': the embedded federation needs the extra `demo`;"
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


@pytest.mark.timeout(600)
def test_the_demo_runs_from_an_empty_folder(environment):
    """`pip install 'global_sched-*.whl[demo]' && gsched demo`; nothing is left behind."""
    environment.install("[demo]")

    done = environment.run("gsched", "demo")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "expectations of the examples hold" in done.stdout.splitlines()[-1]
    assert list(environment.empty.iterdir()) == []
