"""The installed package is small, and the wheel comes with all that is needed.

`tests/e2e/test_package.py` builds the wheel and uses it.
"""

import re
import subprocess
import sys
import tomllib

from tools.generate import ROOT

CONTAINERFILE = (ROOT / "deploy/images/Containerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
INCLUDED = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
NOT_IN_THE_IMAGE = ("global_sched.embedded", "cel", "cryptography", "jsonpatch")
EXTRA_WEB = ("jinja2",)
WITHOUT = """\
import importlib, sys
from pathlib import Path
for name in {blocked!r}:
    sys.modules[name] = None
for name in {modules!r}:
    importlib.import_module(name)
sys.argv = ["gsched", {command!r}]
sys.modules["global_sched.cli.main"].main()
"""
LEFT_OUT = {"demo", "demo_faults", "demo_programs", "dashboard"}
"""Commands that need the embedded federation, and the one that needs the extra `web`."""
COMMANDS = sorted(path.stem for path in (ROOT / "global_sched/cli").glob("[!_]*.py"))


def without(blocked, *modules, command="demo"):
    """A command where some packages are not installed, once the modules are imported."""
    code = WITHOUT.format(blocked=blocked, modules=modules, command=command)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False
    )


def test_programs_and_commands_need_no_extra_and_no_embedded_federation():
    """The demo and the dashboard alone cannot be imported without; the demo says so."""
    modules = [f"global_sched.cli.{name}" for name in COMMANDS if name not in LEFT_OUT]

    done = without(
        (*NOT_IN_THE_IMAGE, *EXTRA_WEB), "global_sched.app", "member_agent.app", *modules
    )

    assert (done.returncode, done.stderr) == (
        1,
        (
            "Error: this installation has no embedded federation, as the image for clusters:"
            " pip install 'global-sched[demo]' elsewhere\n"
        ),
    )


def test_the_demo_names_the_package_that_is_missing():
    """One line with the command that installs it."""
    done = without(("cel",), "global_sched.cli.main")

    assert done.returncode == 1
    assert re.fullmatch(r"Error: .*cel.*; pip install 'global-sched\[demo\]'\n", done.stderr)


def test_the_dashboard_names_the_package_that_is_missing():
    """One line with the command that installs it."""
    done = without(EXTRA_WEB, "global_sched.cli.main", command="dashboard")

    assert done.returncode == 1
    assert re.fullmatch(r"Error: .*jinja2.*; pip install 'global-sched\[web\]'\n", done.stderr)


def test_the_image_has_neither_the_extra_nor_the_embedded_federation():
    """It installs the wheel alone and takes the folder away; what the wheel needs is copied."""
    copied = set(re.findall(r"(?m)^COPY (\S+) \./\1$", CONTAINERFILE))
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()

    assert "[demo]" not in CONTAINERFILE
    assert "$(ls /wheels/*.whl)[web]" in CONTAINERFILE
    assert "rm -r /opt/venv/lib/python*/site-packages/global_sched/embedded" in CONTAINERFILE
    for folder in {source.split("/")[0] for source in INCLUDED}:
        assert folder in copied
        assert f"!{folder}" in ignored


def test_the_wheel_has_everything_of_deploy_that_people_apply():
    """All but what needs a checkout: kind, the image. Bytecode alone makes no folder."""
    left_out = {"kind", "images", "__init__.py"}
    files = (p for p in (ROOT / "deploy").rglob("*") if p.is_file() and p.suffix != ".pyc")
    there = {path.relative_to(ROOT / "deploy").parts[0] for path in files} - left_out

    assert {f"deploy/{name}" for name in there} | {"crds", "examples"} == set(INCLUDED)
    assert all(target == f"global_sched/assets/{source}" for source, target in INCLUDED.items())
