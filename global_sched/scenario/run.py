"""Run a scenario: its world, its steps, and what came out against what was wanted."""

from collections.abc import Iterator
from dataclasses import dataclass

import yaml
from pydantic import TypeAdapter, ValidationError

from global_sched.cache import State
from global_sched.scenario.format import JobSpec, Scenario, ScenarioError, Step, Want, World
from global_sched.scenario.jobs import jobs_of, policy_of, template_of
from global_sched.scenario.member_world import MemberWorld
from global_sched.scenario.members import Read
from global_sched.scenario.objects import (
    cluster_object,
    priority_object,
    queue_object,
    tenant_object,
)
from global_sched.scenario.play import Play
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Outcome, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Workload


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


def run(scenario: Scenario, read: Read) -> Report:
    """Play the scenario in memory; `read` gives the text of files beside it.

    Raises:  ScenarioError for a file that cannot be used.
    """
    play = start(scenario.world, read)
    failures = [f"at the start: {text}" for text in _compare(play, play.settle(), scenario.expect)]
    plan = play.settle()
    for number, step in enumerate(scenario.steps, 1):
        _take(play, step)
        plan = play.settle()
        failures += [f"after step {number}: {text}" for text in _compare(play, plan, step.expect)]
    return Report(
        scenario=scenario.scenario,
        now=play.now,
        jobs=tuple(_results(play, plan)),
        failures=tuple(failures),
    )


def start(world: World, read: Read) -> Play:
    """The world before its first cycle. Raises ScenarioError."""
    play = Play(_policy(world.policy))
    for cluster in world.clusters:
        play.apply(cluster_object(cluster))
        play.members[cluster.name] = MemberWorld(cluster, read)
    for second, wave in enumerate(waves(world, read)):
        for manifest in wave:
            play.apply(manifest, created=second)
    for job in world.jobs:
        _submit(play, job)
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
        found = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    for number, document in enumerate(found, 1):
        if document is None:
            continue
        if not isinstance(document, dict):
            raise ScenarioError(f"{source}: document {number} is not an object")
        if document.get("kind") == "List":
            yield from document.get("items") or []
        else:
            yield document


def _policy(values: dict[str, object]) -> Policy:
    """The Policy with the scenario's changes."""
    try:
        return TypeAdapter(Policy).validate_python(values, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"world.policy.{place}: {first['msg']}") from error


def _submit(play: Play, job: JobSpec) -> None:
    play.apply(template_of(job), created=job.created, running=job.running)
    play.apply(policy_of(job))


def _take(play: Play, step: Step) -> None:
    """Let one step happen."""
    play.now = Instant(play.now + step.wait_seconds * SECOND)
    for name in step.finish:
        play.finish(name)
    for name in step.delete:
        play.delete(name)
    for job in step.submit:
        _submit(play, job)
    play.propagate()
    for name, age in step.report_age.items():
        agent = _member(play, name).agent
        if agent is not None:
            agent.report_age_seconds = age
    for names, state in ((step.close_queues, "Closed"), (step.open_queues, "Open")):
        for name in names:
            play.set_queue_state(name, state)
    for name, nodes in step.lose_nodes.items():
        _member(play, name).lose(nodes)


def _member(play: Play, name: str) -> MemberWorld:
    if name not in play.members:
        raise ScenarioError(f"{name!r} is not a cluster of this scenario")
    return play.members[name]


def _results(play: Play, plan: Plan) -> Iterator[JobResult]:
    """All jobs by name."""
    outcomes = {outcome.workload: outcome for outcome in plan.outcomes}
    for name, key in sorted(play.keys.items()):
        yield JobResult(name=name, workload=play.workload(name), outcome=outcomes.get(key))


def _compare(play: Play, plan: Plan, expect: dict[str, Want]) -> Iterator[str]:
    """A sentence for every expectation that does not hold."""
    outcomes: dict[WorkloadKey, Outcome] = {one.workload: one for one in plan.outcomes}
    for name, want in expect.items():
        workload = play.workload(name)
        yield from differences(name, want, workload, outcomes.get(workload.key))


def compare_live(expect: dict[str, Want], state: State, plan: Plan) -> list[str]:
    """The same for a live federation: jobs are found by `namespace/name` of their template."""
    outcomes = {one.workload: one for one in plan.outcomes}
    workloads = {f"{one.namespace}/{one.name}": one for one in state.workloads()}
    failures: list[str] = []
    for name, want in expect.items():
        workload = workloads.get(name)
        if workload is None:
            failures.append(f"{name}: has no binding yet")
        else:
            failures += differences(name, want, workload, outcomes.get(workload.key))
    return failures


def differences(
    name: str, want: Want, workload: Workload, outcome: Outcome | None
) -> Iterator[str]:
    """What of an expectation does not hold for a job."""
    grants = workload.decision.grants if workload.decision and workload.targets else ()
    where = {str(grant.cluster): grant.amounts.pods() for grant in grants}
    first = grants[0] if grants else None
    verdict = outcome.verdict if outcome is not None else None
    admitted = bool(workload.targets)
    have: dict[str, object] = {
        "cluster": ", ".join(str(target.cluster) for target in workload.targets) or None,
        "clusters": where,
        "domain": first.domain if first else None,
        "tier": first.tier if first else None,
        "pods": sum(where.values()),
        "pending": None if admitted or verdict is None else str(verdict.code),
        "reason": None if verdict is None else str(verdict.reason),
        "nearest": None if outcome is None else outcome.nearest,
        "finished": workload.finished,
    }
    why = f" ({verdict.detail})" if verdict is not None and verdict.detail else ""
    for field, value in have.items():
        wanted = getattr(want, field)
        if wanted is not None and wanted != value:
            yield f"{name}: {field} is {value}, wanted {wanted}{why}"
    if want.says is not None and (verdict is None or want.says not in verdict.detail):
        said = verdict.detail if verdict is not None else "nothing"
        yield f"{name}: says {said!r}, wanted {want.says!r} in it"
    if want.refused is not None:
        reasons = (
            {str(c.cluster): str(c.verdict.reason) for c in outcome.clusters} if outcome else {}
        )
        for cluster, reason in want.refused.items():
            if reasons.get(cluster) != reason:
                yield f"{name}: {cluster} refuses with {reasons.get(cluster)}, wanted {reason}"
