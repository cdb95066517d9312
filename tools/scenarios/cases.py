"""Files to cases, and what each of them gave."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import yaml

from global_sched.scenario.format import Scenario, Want, WantAll, parse_all
from global_sched.scenario.run import run
from global_sched.scenario.world import ScenarioError
from global_sched.shared.api import yaml_text
from tools.scenarios import check, federation, volcano
from tools.scenarios.agents import ShippedAgents, UnsettledError
from tools.scenarios.converted import unit_scenario
from tools.scenarios.converted_cluster import cluster_scenario

_VOLCANO = ("allocateUnit", "hypernodeE2E", "nodeCapacityE2E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the report."""

    name: str
    passed: bool
    wanted: str
    got: str
    differs: str = ""
    """Why our rule differs on purpose, when that decided the case."""
    unproven: int = 0
    """Answers that the search limit ended before they were certain."""

    def line(self) -> str:
        """The line."""
        word = "PASS" if self.passed else "FAIL"
        why = f" | differs on purpose: {self.differs}" if self.differs else ""
        unsure = f" | {self.unproven} answers not proven" if self.unproven else ""
        line = f"{word} {self.name} | wanted {self.wanted} | got {self.got}{why}{unsure}"
        return " ".join(line.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A scenario of a file, or the reason why there is none."""

    name: str
    scenario: Scenario | None = None
    error: str = ""
    folder: Path = Path()

    def run(self) -> Result:
        """Run it on what is shipped. A case that cannot be read or run has failed."""
        if self.scenario is None:
            return Result(name=self.name, passed=False, wanted="a case", got=self.error)
        wanted = _wanted(self.scenario)
        try:
            failures, got, unproven = self._outcome(self.scenario)
        except (ScenarioError, UnsettledError) as error:
            text = " ".join(str(error).split())
            return Result(name=self.name, passed=False, wanted=wanted, got=text)
        except Exception as error:  # noqa: BLE001 - a case that crashes must not end the others
            text = " ".join(f"crashed: {type(error).__name__}: {error}".split())
            return Result(name=self.name, passed=False, wanted=wanted, got=text)
        return Result(
            name=self.name,
            passed=not failures,
            wanted=wanted,
            got="; ".join(failures) or got,
            differs=self.scenario.differs,
            unproven=unproven,
        )

    def _read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def _outcome(self, scenario: Scenario) -> tuple[list[str], str, int]:
        """What does not hold, what came out, and how many answers are not proven."""
        if scenario.federation:
            return federation.play(scenario, self._read)
        shipped = ShippedAgents()
        agents = check.Watching(shipped)
        report = run(scenario, self._read, agents)
        failures = [*report.failures, *agents.violations]
        return failures, agents.said() or "the same", len(report.unproven) + shipped.unproven


def read(path: Path) -> Iterator[Case]:
    """The cases of a file; one that cannot be read at all is one failed case."""
    try:
        text = path.read_text(encoding="utf-8")
        json = path.suffix == ".json"
        content = msgspec.json.decode(text) if json else yaml_text.read(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        yield Case(name=path.name, error=f"cannot be read: {' '.join(str(error).split())}")
        return
    if isinstance(content, dict) and any(name in content for name in _VOLCANO):
        yield from _volcano(content, path)
        return
    try:
        found = parse_all(text, path.name)
    except ScenarioError as error:
        yield Case(name=path.name, error=str(error))
        return
    for one in found:
        yield Case(name=f"{path.name}: {one.scenario}", scenario=one, folder=path.parent)


def _volcano(content: object, path: Path) -> Iterator[Case]:
    try:
        file = msgspec.convert(_said_only(content), volcano.File)
    except msgspec.ValidationError as error:
        yield Case(name=path.name, error=str(error))
        return
    if not file.allocate_unit and not file.hypernode_e2e:
        yield Case(name=path.name, error="there is no case in it")
    for at, raw in enumerate(file.allocate_unit):
        yield _case(raw, f"{path.name}: allocateUnit[{at}]", file)
    for at, raw in enumerate(file.hypernode_e2e):
        yield _case(raw, f"{path.name}: hypernodeE2E[{at}]", file)


def _said_only(value: object) -> object:
    """The value without what is null: a field that says nothing is one that is left out."""
    if isinstance(value, dict):
        return {key: _said_only(one) for key, one in value.items() if one is not None}
    return [_said_only(one) for one in value] if isinstance(value, list) else value


def _case(raw: object, place: str, file: volcano.File) -> Case:
    """One case, read strictly for itself."""
    name = place
    if isinstance(raw, dict) and isinstance(raw.get("id"), str):
        name = f"{raw['id']} {raw.get('name', '')}".strip()
    try:
        if "allocateUnit" in place:
            scenario = check.unit(unit_scenario(msgspec.convert(raw, volcano.UnitCase)))
        else:
            case = msgspec.convert(raw, volcano.ClusterCase)
            scenario = cluster_scenario(case, file.node_capacity_e2e)
    except ValueError as error:  # what the format or the conversion cannot take
        return Case(name=name, error=str(error))
    except Exception as error:  # noqa: BLE001 - a case that cannot be read must not end the others
        return Case(name=name, error=f"cannot be read: {type(error).__name__}: {error}")
    return Case(name=name, scenario=scenario)


def _wanted(scenario: Scenario) -> str:
    """What a scenario wants, in words for one line."""
    parts = [f"{name} {_said(want)}" for name, want in scenario.expect.items()]
    if scenario.expect_all is not None:
        parts.append(f"all {_said(scenario.expect_all)}")
    for number, step in enumerate(scenario.steps, 1):
        parts += [f"step {number}: {name} {_said(want)}" for name, want in step.expect.items()]
        if step.expect_all is not None:
            parts.append(f"step {number}: all {_said(step.expect_all)}")
    return "; ".join(part for part in parts if not part.endswith(" nothing")) or "no failure"


def _said(want: Want | WantAll) -> str:
    """The fields that are set."""
    values = msgspec.to_builtins(want)
    fields = {name: value for name, value in values.items() if value is not None}
    return ", ".join(f"{name} {value}" for name, value in fields.items()) or "nothing"
