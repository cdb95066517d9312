"""A binding's facts, its template's reading and everything they name, to one Workload."""

from dataclasses import dataclass, replace
from typing import Final

from global_sched.cache.readers.bindings import BindingFacts, at_least
from global_sched.cache.readers.decisions import distrust, recomputed, within_template
from global_sched.cache.readers.queues import Priority
from global_sched.cache.stores.templates import TemplateFacts
from global_sched.shared.api.names import DEFAULT_QUEUE
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds.parts.reading import Reading
from global_sched.shared.model.decision import Backoff, Decision, Left
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Demand, Division, Progress, Target, Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What we have written, or are about to, and the watch has not shown yet."""

    targets: tuple[Target, ...]
    decision: Decision
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadParts:
    """Everything that goes into a Workload besides the binding itself."""

    demand: Demand
    reading: Reading | None
    problem: Verdict | None
    priority: Priority
    tenant: TenantName
    progress: tuple[Progress, ...]
    overlay: Overlay | None
    beyond: bool = False
    """Whether the decision is of a term that the Lease has not given."""
    late: bool = False
    """Whether it is of an earlier term and appeared in the present one."""
    below_minimum: BelowMinimum | None = None
    checkpoint_grace: int = 0
    found: Progress | None = None
    """Where it runs, by that cluster's report, though it was never placed by what is stored."""


def as_running(
    new: Reading, before: Reading | None, decision: Decision | None, *, placed: bool
) -> Reading:
    """The reading of a workload whose controller leaves it as it is once it runs.

    Its pods are those of the reading before; without one (a leader that just began) as many of each
    pod set as were admitted. Only suspension counts at once.
    """
    if not placed:
        return new
    if before is not None and before.fixed:
        if new.problem is not None:
            return new if new.problem.reason == Reason.SUSPENDED else before
        kept = replace(
            new, pod_sets=before.pod_sets, minimum=before.minimum, constraint=before.constraint
        )
        return before if kept == before else kept
    if not new.fixed or decision is None or len(decision.grants) != 1:
        return new
    admitted = decision.grants[0].amounts
    counts = {name: pods for name, pods in admitted.entries if pods}
    pod_sets = tuple(
        replace(one, count=counts[one.name], minimum=counts[one.name])
        for one in new.pod_sets
        if one.name in counts
    )
    if len(pod_sets) < len(counts) or pod_sets == new.pod_sets:
        return new
    return replace(new, pod_sets=pod_sets, minimum=admitted.pods())


def template_problem(facts: BindingFacts, template: TemplateFacts | None) -> Verdict | None:
    """Why the template cannot be used yet, None when its reading is that of the binding."""
    if not facts.has_reader:
        return None
    _, kind, namespace, name = facts.template
    if template is None or template.uid != facts.template_uid:
        seen = "another object of that name is there" if template else "it has not been seen"
        return _wait(f"{kind} {namespace}/{name} with uid {facts.template_uid}: {seen}")
    if not at_least(template.version, facts.template_version):
        return _wait(
            f"{kind} {namespace}/{name}: version {facts.template_version} has not been seen, "
            f"only {template.version}"
        )
    return None


def _wait(text: str) -> Verdict:
    return Verdict(code=Code.WAIT, reason=Reason.TEMPLATE_NOT_SEEN, detail=text, missing=1)


def spec_problem(
    facts: BindingFacts, reading: Reading | None, priority: Priority
) -> Verdict | None:
    """What the specs themselves forbid, None when nothing."""
    if not facts.binding_id:
        return _invalid(
            f"binding {facts.key}: metadata.labels: no permanent id; "
            "Karmada's webhook sets it, so check that it runs"
        )
    if facts.placement is not None and facts.placement.problem:
        return _invalid(f"binding {facts.key}: {facts.placement.problem}")
    if reading is not None and reading.problem is not None:
        return reading.problem
    if reading is not None and reading.scheduler_name() is None:
        return _invalid(
            f"{facts.template[1]} {facts.template[2]}/{facts.template[3]}: its pod templates name "
            "different schedulers, and one gang has one; use one schedulerName"
        )
    if priority.missing:
        return Verdict(
            code=Code.WAIT,
            reason=Reason.PRIORITY_CLASS_MISSING,
            detail=f"PriorityClass {priority.name} does not exist on the control plane; "
            "create it or name another one",
            missing=1,
        )
    return None


def _invalid(text: str) -> Verdict:
    return Verdict(code=Code.NEVER, reason=Reason.INVALID_SPEC, detail=text, missing=1)


def workload_of(facts: BindingFacts, parts: WorkloadParts) -> Workload:
    """The Workload of one binding."""
    overlay = parts.overlay
    targets = facts.targets if overlay is None else overlay.targets
    decision, forged = _believed(facts, parts) if overlay is None else (overlay.decision, "")
    found = _found(facts, parts)
    progress = parts.progress
    if found is not None:
        targets, progress = (Target(cluster=found.cluster),), (found,)
        decision, forged = _implied(facts, parts, found)
    counted = decision
    if decision is not None:
        counted = within_template(decision, parts.demand.division, parts.demand.gang)
    placed = overlay is not None and bool(overlay.targets)
    left = _left(facts, decision, parts.demand)
    reading = parts.reading
    priority, problem = _priority(parts, decision if targets else None)
    return Workload(
        key=facts.key,
        binding_id=facts.binding_id,
        uid=facts.uid,
        resource_version=facts.version,
        namespace=facts.namespace,
        name=facts.template[3],
        created=facts.created,
        generation=facts.generation,
        demand=parts.demand,
        queue=QueueName(reading.queue) if reading is not None and reading.queue else _DEFAULT,
        priority=priority,
        priority_class=parts.priority.name,
        tenant=parts.tenant,
        problem=problem,
        preemptable=reading is None or reading.preemptable,
        run_limit=None if reading is None else reading.run_limit,
        checkpoint=None if reading is None else reading.checkpoint,
        below_minimum=parts.below_minimum,
        checkpoint_grace=parts.checkpoint_grace,
        decision=counted,
        shrunk=counted is not decision,
        late=parts.late and overlay is None and bool(targets),
        forged=forged,
        targets=targets,
        leaving=tuple(sorted({*facts.leaving, *(one.cluster for one in left)})),
        left=left,
        placement_json=facts.placement.text if facts.placement is not None else "",
        placement_applied=placed or facts.placement_applied,
        observed_generation=facts.generation if placed else facts.observed_generation,
        observed_affinity=facts.observed_affinity,
        last_scheduled=overlay.at if placed and overlay else facts.last_scheduled,
        reschedule_at=facts.reschedule_at,
        scheduled=placed or facts.scheduled,
        reported=facts.reported,
        progress=progress,
        finished=facts.finished and not (reading is not None and reading.stays),
    )


def _found(facts: BindingFacts, parts: WorkloadParts) -> Progress | None:
    """Where a whole gang with its minimum runs that nothing stored ever placed."""
    found, gang = parts.found, parts.demand.gang
    if found is None or gang is None or parts.demand.division != Division.WHOLE:
        return None
    if facts.finished or found.bound.pods() < gang.minimum:
        return None
    return found


def _implied(facts: BindingFacts, parts: WorkloadParts, found: Progress) -> tuple[Decision, str]:
    """The decision that what runs implies, and why it is none that was made."""
    made = recomputed(
        binding=facts.binding_id,
        targets=(Target(cluster=found.cluster),),
        gang=parts.demand.gang,
        division=parts.demand.division,
        at=facts.created,
    )
    grants = tuple(replace(one, amounts=one.amounts.within(found.bound)) for one in made.grants)
    text = f"{found.cluster} reports that it runs there, and no decision has placed it: it stays"
    return replace(made, grants=grants), text


def _left(facts: BindingFacts, decision: Decision | None, demand: Demand) -> tuple[Left, ...]:
    """What it was withdrawn from: as the decision says, and as the eviction tasks of ours say.

    A task without its entry in a decision that can be believed holds all that is asked for.
    """
    known = () if decision is None else decision.left
    named = {one.cluster for one in known}
    gang = demand.gang
    held = Resources() if gang is None else gang.requests(gang.all_amounts())
    others = (
        Left(cluster=cluster, at=since, held=held)
        for cluster, since in facts.withdrawn
        if cluster not in named
    )
    return tuple(sorted((*known, *others)))


def _priority(parts: WorkloadParts, decision: Decision | None) -> tuple[int, Verdict | None]:
    """The job priority and what stands against the workload.

    One that runs keeps the priority it was admitted with, whatever becomes of its class.
    """
    problem = parts.problem
    if decision is None or decision.priority is None:
        return parts.priority.value, problem
    if problem is not None and problem.reason == Reason.PRIORITY_CLASS_MISSING:
        problem = None
    return decision.priority, problem


_DEFAULT: Final = QueueName(DEFAULT_QUEUE)


def _believed(facts: BindingFacts, parts: WorkloadParts) -> tuple[Decision | None, str]:
    """The decision in force, and why the annotation was not believed (empty: it was)."""
    decision, problem = facts.decision, facts.decision_problem
    backoffs: tuple[Backoff, ...] = ()
    left = () if decision is None else decision.left  # it only ever holds back
    if parts.beyond and decision is not None:
        problem = f"its term {decision.epoch} is one that the Lease has not given"
    elif decision is not None and not problem:
        problem = distrust(decision, facts.targets)
        if not problem:
            return decision, ""
        backoffs = decision.backoffs
        problem = problem if facts.targets else ""
    if problem:
        problem = f"the decision annotation is not believed: {problem}"
    elif facts.targets:
        problem = "there are clusters, but no decision annotation"
    if not facts.targets and not backoffs and not left:
        return None, problem
    implied = recomputed(
        binding=facts.binding_id,
        targets=facts.targets,
        gang=parts.demand.gang,
        division=parts.demand.division,
        at=facts.last_scheduled or facts.created,
        backoffs=backoffs,
    )
    return replace(implied, left=left), problem
