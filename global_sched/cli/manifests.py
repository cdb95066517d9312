"""`gsched manifests`: what to apply to which API server, from the manifests that come with it."""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
import yaml

from global_sched.cli.output import echo
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.assets import asset

CONTROL_PLANE: Final = "control-plane"
HOST: Final = "host"
MEMBER: Final = "member"
VOLCANO_KINDS: Final = "volcano-kinds"

_BASES: Final = {
    CONTROL_PLANE: "control-plane",
    HOST: "global-sched/host",
    MEMBER: "member-agent",
}
_ACCESS: Final = "member-agent/control-plane"
_JOBS: Final = "member-agent/jobs"
_VOLCANO: Final = ("batch.volcano.sh_", "scheduling.volcano.sh_", "topology.volcano.sh_")
_IMAGE: Final = re.compile(r"(?m)(^\s*image: )global-sched:\S+$")
_IN_CLUSTER: Final = re.compile(r"(?m)^(\s*)in_cluster: true$")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,46}[a-z0-9])?")
_NOT_COPIED: Final = ("kind", "images", "*.py", "__pycache__")
"""Of a checkout's `deploy/`: what a wheel does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is filled in: members by name, the image, whether agents run Volcano Jobs."""

    members: Sequence[str] = ()
    image: str = ""
    run_volcano_jobs: bool = False


def show(part: str, choice: Choice) -> None:
    """Print the manifests for one API server."""
    for name in choice.members:
        if not _NAME.fullmatch(name):
            raise click.ClickException(
                f"--member {name!r}: not the name of a Cluster; lower-case letters, digits, - and"
                " ., 48 at most"
            )
    if part == MEMBER and len(choice.members) != 1:
        raise click.ClickException("the part `member` is for one member: give --member NAME once")
    echo("---\n".join(f"{text.strip()}\n" for text in documents(part, choice)).rstrip("\n"))


def documents(part: str, choice: Choice) -> Iterator[str]:
    """The manifests for one API server, filled in, in the order in which they are applied."""
    if part == VOLCANO_KINDS:
        for path in sorted(asset("crds").glob("*.yaml")):
            if path.name.startswith(_VOLCANO):
                yield path.read_text(encoding="utf-8")
        return
    deploy = asset("deploy")
    member = choice.members[0] if part == MEMBER else ""
    for text in _base(deploy / _BASES[part]):
        yield _filled(text, member, choice)
    if part == MEMBER and choice.run_volcano_jobs:
        yield from _base(deploy / _JOBS)
    if part == CONTROL_PLANE:
        for name in choice.members:
            yield _namespace(execution_namespace(name))
            for text in _base(deploy / _ACCESS):
                yield _filled(text, name, choice)


def copy(folder: Path) -> None:
    """Write all of them below a folder: bases, charts and install.sh in `deploy/`, and `crds/`.

    Raises:  ClickException when one of the two is there already.
    """
    for name in ("deploy", "crds"):
        if (folder / name).exists():
            raise click.ClickException(f"{folder / name} is there already: choose another folder")
    try:
        for name in ("deploy", "crds"):
            ignored = shutil.ignore_patterns(*_NOT_COPIED)
            shutil.copytree(asset(name), folder / name, ignore=ignored)
    except OSError as error:
        raise click.ClickException(f"{error.filename or folder}: {error.strerror}") from error
    echo(f"written: {folder / 'deploy'}, {folder / 'crds'}; next: {folder / 'deploy/install.sh'}")


def _base(folder: Path) -> Iterator[str]:
    """The documents of a kustomization that only names resources, as every base here does."""
    content = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for name in content["resources"]:
        path = folder / name
        if path.is_dir():
            yield from _base(path)
        else:
            yield path.read_text(encoding="utf-8")


def _filled(text: str, member: str, choice: Choice) -> str:
    """A manifest with a member's name, the image and the setting for Volcano Jobs."""
    if member:
        text = text.replace("MEMBER", member)
    if choice.image:
        text = _IMAGE.sub(rf"\g<1>{choice.image}", text)
    if choice.run_volcano_jobs:
        text = _IN_CLUSTER.sub(r"\g<0>\n\g<1>run_volcano_jobs: true", text)
    return text


def _namespace(name: str) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
