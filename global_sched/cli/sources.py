"""Input of `gsched whatif`: files, folders and standard input, as scenarios or manifests."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import yaml

from global_sched.scenario import Scenario, ScenarioError, parse_all
from global_sched.scenario.run import documents

Obj = dict[str, Any]
STDIN: Final = Path("-")
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario, and the folder that its own files are beside."""

    scenario: Scenario
    folder: Path

    def read(self, name: str) -> str:
        """The text of a file beside the scenario."""
        return (self.folder / name).read_text(encoding="utf-8")


@dataclass(slots=True)
class Given:
    """Everything that was given: either cases, or manifests in the order of the files."""

    cases: list[Case] = field(default_factory=list)
    manifests: list[Obj] = field(default_factory=list)
    names: str = ""


def read(paths: Sequence[Path]) -> Given:
    """Read all of it.

    Raises:  ScenarioError for what cannot be read, and for scenarios beside manifests: a scenario
             is a world of its own, manifests are tried on the live federation.
    """
    given = Given(names=", ".join(map(str, paths)))
    scenarios, others = [], []
    for path in _files(paths):
        text = sys.stdin.read() if path == STDIN else path.read_text(encoding="utf-8")
        name = "standard input" if path == STDIN else str(path)
        if _is_scenario(text):
            scenarios.append(name)
            folder = Path.cwd() if path == STDIN else path.parent
            found = parse_all(text, name if path == STDIN else path.name)
            given.cases += [Case(scenario=one, folder=folder) for one in found]
        else:
            others.append(name)
            given.manifests += documents(text, name if path == STDIN else path.name)
    if scenarios and others:
        raise ScenarioError(
            f"{scenarios[0]} is a scenario, a world of its own, and {others[0]} is not: try them"
            " apart"
        )
    return given


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    """Files as they are, folders as the manifests in them by name (not below them)."""
    for path in paths:
        if path == STDIN or not path.is_dir():
            yield path
            continue
        found = sorted(one for one in path.iterdir() if one.suffix in _SUFFIXES)
        if not found:
            raise click.ClickException(f"{path}: no .yaml, .yml or .json file in this folder")
        yield from found


def _is_scenario(text: str) -> bool:
    """A scenario file has the key `scenario` or `suite`; manifests have `kind`."""
    try:
        first = next(iter(yaml.safe_load_all(text)), None)
    except yaml.YAMLError:
        return any(f"\n{key}:" in f"\n{text}" for key in ("scenario", "suite"))
    return isinstance(first, dict) and bool({"scenario", "suite"} & set(first))
