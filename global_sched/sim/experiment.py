"""The fields of an experiment file, and reading one with errors that name line and field.

Clusters, queues, tenants and the Policy are spelled as in scenario files.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import yaml
from msgspec import Meta as Limits

from global_sched.scenario.steps import policy_from
from global_sched.scenario.world import Part, Positive, ScenarioError, World
from global_sched.shared.api import yaml_text
from global_sched.shared.model.policy import Policy
from global_sched.sim.baselines import BASELINES
from global_sched.sim.errors import SimulationError

Load = Annotated[float, Limits(ge=0.01, le=1000)]
Day = Annotated[float, Limits(ge=0, le=36_500)]


class TraceSpec(Part):
    """Where the jobs come from."""

    file: str
    """Beside the experiment file; `traces/…` is below the folder of large traces."""
    format: str = "jobs"
    gpus_per_node: Positive = 8
    """How a job is cut into pods where the trace says only how many GPUs it has."""
    too_large: Literal["refuse", "drop"] = "refuse"
    """What happens to jobs that a cluster of some arm can never hold: `drop` counts them and drops
    them from all arms alike."""
    hard_tiers: bool = False
    """Whether gangs of several pods must lie in the lowest tier that can hold them at all."""
    licence: str = ""
    """For people: where the data is from, and under what licence."""


class ArmSpec(Part):
    """One arm: this project's scheduler with some settings, or a baseline."""

    name: str = ""
    baseline: str = ""
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    """Fields of the Policy that differ from the world's."""
    policy_file: str = ""
    """A YAML file of such fields."""
    early_binding: bool = False
    """Whether each job may only go where most was free when it came."""
    reclaim: bool = True
    topology: bool = True
    """Without: jobs lose their constraints."""
    surplus: bool = True
    """Without: elastic jobs ask for their minimum and no more."""
    checkpoint_seconds: Annotated[int, Limits(ge=0, le=31_536_000)] = 0
    """What traces do not say: a job keeps its work after each so many seconds of it, and an evicted
    one goes on from there. 0: it does all its work again. The scheduler knows nothing of them."""
    pooled: bool = False
    """Whether all nodes are one cluster without tiers: a bound for federations."""

    @property
    def title(self) -> str:
        """What tables call it."""
        return self.name or self.baseline or "global-sched"


class Experiment(Part):
    """A whole file."""

    experiment: str
    """What it shows, as a sentence."""
    trace: TraceSpec
    world: World
    arms: list[ArmSpec]
    about: str = ""
    silos: dict[str, Positive] = msgspec.field(default_factory=dict)
    """Nodes of each tenant's own cluster, which are also the weights of tenants and of their
    queues. A silo's nodes are like the first node of the world."""
    windows: list[tuple[Day, Day]] = msgspec.field(default_factory=list)
    """[begin, end) in days; each is a run that starts empty. None: the whole trace."""
    loads: list[Load] = msgspec.field(default_factory=lambda: [1.0])
    """The same jobs come so many times as fast."""
    against: str = ""
    """The arm that gains are relative to; default: the first baseline."""
    tick_seconds: Annotated[int, Limits(ge=0, le=3600)] = 0
    """0: decide at every event. Else at multiples of so many seconds, for all arms."""
    seeds: Positive = 1
    """Seed 0 is the trace as it is; each further one moves every submission a little."""
    jitter_seconds: Annotated[int, Limits(ge=1, le=86_400)] = 60
    """By up to so much."""


def parse(text: str, source: str) -> Experiment:
    """Read an experiment file's text.

    Raises:  SimulationError naming the line and the field.
    """
    try:
        content = yaml_text.read(text)
    except yaml.YAMLError as error:
        raise SimulationError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    try:
        found = msgspec.convert(content, Experiment)
    except msgspec.ValidationError as error:
        raise SimulationError(_placed(text, source, str(error))) from error
    for path, why in _problems(found):
        raise SimulationError(_placed(text, source, f"{why} - at `{path}`"))
    return found


def policy_of(experiment: Experiment, arm: ArmSpec, more: dict[str, object]) -> Policy:
    """The Policy of an arm: the world's fields, then its file's, then its own.

    Raises:  SimulationError naming the field.
    """
    try:
        policy = policy_from(_snake({**experiment.world.policy, **more, **arm.policy}))
    except ScenarioError as error:
        why = str(error).replace("world.policy.", "policy.")
        raise SimulationError(f"arm {arm.title!r}: {why}; docs/reference/policy.md") from error
    if policy.usage_half_life_seconds:
        raise SimulationError(
            f"arm {arm.title!r}: policy.usageHalfLifeSeconds: the simulator keeps no past usage; "
            "leave it out"
        )
    return policy


def _snake(values: dict[str, object]) -> dict[str, object]:
    """Camel-case names are accepted as well, as settings files have them."""
    return {re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", key).lower(): v for key, v in values.items()}


def _problems(found: Experiment) -> Sequence[tuple[str, str]]:
    """(path, what is wrong and what to do) of what types alone do not forbid."""
    problems = []
    world = found.world
    problems += [
        (f"$.world.{name}", "jobs come from the trace; remove this")
        for name in ("jobs", "traces", "manifests", "groups")
        if getattr(world, name)
    ]
    if not world.clusters:
        problems.append(("$.world.clusters", "is empty; give one cluster at least"))
    if not found.arms:
        problems.append(("$.arms", "is empty; give one arm at least"))
    titles = [arm.title for arm in found.arms]
    for at, arm in enumerate(found.arms):
        if arm.baseline and arm.baseline not in BASELINES:
            known = ", ".join(BASELINES)
            why = f"{arm.baseline!r} is no baseline; use one of {known}"
            problems.append((f"$.arms[{at}].baseline", why))
        if titles.index(arm.title) != at:
            why = f"{arm.title!r} is the name of two arms; name one of them otherwise"
            problems.append((f"$.arms[{at}].name", why))
        if arm.baseline and (arm.policy or arm.policy_file):
            why = "a baseline has no Policy; remove it or the baseline"
            problems.append((f"$.arms[{at}].policy", why))
        if arm.baseline.startswith("silos") and not found.silos:
            why = "silos-like needs the nodes of each tenant in `silos`"
            problems.append((f"$.arms[{at}].baseline", why))
    if found.against and found.against not in titles:
        why = f"{found.against!r} is no arm; use one of {', '.join(titles)}"
        problems.append(("$.against", why))
    for at, (begin, end) in enumerate(found.windows):
        if end <= begin:
            problems.append((f"$.windows[{at}]", "ends before it begins; give [begin, end] days"))
    return problems


def _placed(text: str, source: str, message: str) -> str:
    """The message with the line of the field that it names, as `FILE: line 3: arms[0].name: …`."""
    why, _, rest = message.partition(" - at ")
    found = re.search(r"`\$\.?([^`]*)`$", rest)
    path = "" if found is None else found[1]
    if rest.startswith("`key`"):
        why += ": quote keys that are numbers"
    line = _line(text, path)
    return f"{source}: line {line}: {path or 'the file'}: {why}"


def _line(text: str, path: str) -> int:
    """The line of a field such as `arms[0].name`; of what is around it where it is not there."""
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    line = 1
    for part in re.findall(r"[^.\[\]]+", path):
        if isinstance(node, yaml.MappingNode):
            found = [(key, value) for key, value in node.value if key.value == part]
            if not found:
                break
            line, node = found[0][0].start_mark.line + 1, found[0][1]
        elif isinstance(node, yaml.SequenceNode) and part.isdigit() and int(part) < len(node.value):
            node = node.value[int(part)]
            line = node.start_mark.line + 1
        else:
            break
    return line
