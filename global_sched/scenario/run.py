"""Run a scenario: its world, its steps, and what came out against what was wanted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import yaml

from global_sched.scenario.compare import (
    compare,
    compare_all,
    compare_group,
    compare_live,
)
from global_sched.scenario.format import Scenario, Step
from global_sched.scenario.jobs import jobs_of, policy_of, template_of
from global_sched.scenario.member_world import MemberWorld
from global_sched.scenario.members import Read
from global_sched.scenario.objects import (
    cluster_object,
    priority_object,
    queue_object,
    tenant_object,
)
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.simulator import Simulator
from global_sched.scenario.steps import policy_from, submit, take
from global_sched.scenario.world import ClusterSpec, GroupSpec, ScenarioError, World
from global_sched.shared.api import yaml_text
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Outcome, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload

__all__ = [
    "Agents",
    "JobResult",
    "PodLocations",
    "Report",
    "compare_live",
    "documents",
    "run",
    "start",
    "waves",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """Where one job stands: admitted with what, or its outcome of the last cycle."""

    name: str
    workload: Workload
    outcome: Outcome | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What came out. `failures` are sentences: what was wanted and what is."""

    scenario: str
    now: Instant
    jobs: tuple[JobResult, ...]
    failures: tuple[str, ...]
    snapshot: Snapshot = Snapshot()
    """What the last cycle decided on, and by which Policy: for `explain`."""
    policy: Policy = Policy()
    unproven: tuple[str, ...] = ()
    """Jobs with an answer that the search limit ended before it was certain, in any cycle."""


class Agents(Protocol):
    """The members' agents, for PodGroups that no federation directs."""

    def bind(
        self, cluster: ClusterSpec, groups: Sequence[GroupSpec], read: Read
    ) -> Mapping[str, PodLocations]:
        """Where the waiting pods of each PodGroup (`namespace/name`) are bound now, and why not."""


def run(scenario: Scenario, read: Read, agents: Agents | None = None) -> Report:
    """Play the scenario in memory; `read` gives the text of files beside it.

    agents:  what places PodGroups of the members' own; only files with `groups` need them.

    Raises:  ScenarioError for a file that cannot be used.
    """
    play = start(scenario.world, read)
    groups = _bind_groups(scenario.world, read, agents)
    plan = play.settle()
    failures = _failures("at the start", play, plan, scenario, groups)
    policy = scenario.world.policy
    for number, step in enumerate(scenario.steps, 1):
        play.begin_step()
        policy = take(play, step, policy)
        plan = play.settle()
        about = f" ({step.about})" if step.about else ""
        failures += _failures(f"after step {number}{about}", play, plan, step, {})
    return Report(
        scenario=scenario.scenario,
        now=play.now,
        jobs=tuple(_results(play, plan)),
        failures=tuple(failures),
        snapshot=play.snapshot(),
        policy=play.policy,
        unproven=tuple(
            sorted(play.unproven.union(*(one.unproven for one in play.members.values())))
        ),
    )


def _failures(
    when: str,
    play: Simulator,
    plan: Plan,
    wants: Scenario | Step,
    groups: Mapping[str, PodLocations],
) -> list[str]:
    """What does not hold now."""
    of_groups = {name: lies for name in wants.expect if (lies := _group(groups, name))}
    of_jobs = {name: want for name, want in wants.expect.items() if name not in of_groups}
    found = list(compare(play, plan, of_jobs))
    for name, there in of_groups.items():
        found += compare_group(name, wants.expect[name], there)
    if wants.expect_all is not None:
        found += compare_all(play, wants.expect_all)
        bound = sum(len(there.nodes) for there in groups.values())
        if wants.expect_all.bound is not None and wants.expect_all.bound != bound:
            found.append(f"{bound} pods are bound in all, wanted {wants.expect_all.bound}")
    return [f"{when}: {text}" for text in found]


def _group(groups: Mapping[str, PodLocations], name: str) -> PodLocations | None:
    """A PodGroup by `namespace/name`, or by its name when that is the only one."""
    found = [lies for full, lies in groups.items() if name in (full, full.partition("/")[2])]
    return found[0] if len(found) == 1 else None


def _bind_groups(world: World, read: Read, agents: Agents | None) -> dict[str, PodLocations]:
    """What the agents do with the members' own PodGroups."""
    if not world.groups:
        return {}
    if agents is None:
        raise ScenarioError("world.groups needs a member's agent: run the file with make scenarios")
    found: dict[str, PodLocations] = {}
    clusters = {cluster.name: cluster for cluster in world.clusters}
    only = next(iter(clusters)) if len(clusters) == 1 else ""
    named: dict[str, list[GroupSpec]] = {}
    for group in world.groups:
        name = group.cluster or only
        if name not in clusters:
            raise ScenarioError(f"group {group.name}: {name!r} is not a cluster of this scenario")
        named.setdefault(name, []).append(group)
    for name, groups in named.items():
        found |= agents.bind(clusters[name], groups, read)
    return found


def start(world: World, read: Read) -> Simulator:
    """The world before its first cycle. Raises ScenarioError."""
    play = Simulator(policy_from(world.policy))
    for cluster in world.clusters:
        play.apply(cluster_object(cluster))
        play.members[cluster.name] = MemberWorld(cluster, read)
    for second, wave in enumerate(waves(world, read)):
        for manifest in wave:
            play.apply(manifest, created=second)
    for job in world.jobs:
        submit(play, job)
    play.propagate()
    return play


def waves(world: World, read: Read) -> Iterator[list[dict[str, object]]]:
    """Everything of a world that is applied to the control plane, apart from `jobs`.

    Order:  queues, tenants and classes; then the manifests, one wave per file; then the traces.
    """
    yield [
        *(queue_object(queue) for queue in world.queues),
        *(tenant_object(tenant) for tenant in world.tenants),
        *(priority_object(name, value) for name, value in world.priority_classes.items()),
    ]
    for file in world.manifests:
        yield list(documents(read(file), file))
    for trace in world.traces:
        jobs = jobs_of(trace, read)
        yield [
            *(template_of(job) for job in jobs),
            *(policy_of(job, every_job=True) for job in jobs[:1]),
        ]


def documents(text: str, source: str) -> Iterator[dict[str, object]]:
    """The objects of a manifest file. Raises ScenarioError."""
    try:
        found = list(yaml_text.read_all(text))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    for number, document in enumerate(found, 1):
        if document is None:
            continue
        where = f"{source}: document {number}"
        if isinstance(document, dict) and document.get("kind") == "List":
            items = document.get("items") or []
            if not isinstance(items, list):
                raise ScenarioError(f"{where}: items is not a list")
            for at, item in enumerate(items):
                yield _object(item, f"{where}: items[{at}]")
        else:
            yield _object(document, where)


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ScenarioError(f"{where} is not an object")
    if not isinstance(value.get("metadata", {}), dict):
        raise ScenarioError(f"{where}: metadata is not an object")
    return value


def _results(play: Simulator, plan: Plan) -> Iterator[JobResult]:
    """All jobs by name."""
    outcomes = {outcome.workload: outcome for outcome in plan.outcomes}
    for name, key in sorted(play.keys.items()):
        yield JobResult(name=name, workload=play.workload(name), outcome=outcomes.get(key))
