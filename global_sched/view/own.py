"""The view of a caller without read access: their own binding, queue and condition."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import click

from global_sched.cache.readers.bindings import is_finished
from global_sched.shared.api.base import condition
from global_sched.shared.api.federation import WaitingJob, WaitingList
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import DECISION, DEFAULT_QUEUE, DEFAULT_SCHEDULER, WAITING_LIST
from global_sched.shared.api.reasons import ConditionType, Reason
from global_sched.shared.api.resource import QUEUES, RESOURCE_BINDINGS, WAITING_LISTS
from global_sched.shared.api.volcano import Queue
from global_sched.shared.kinds import KINDS, RUNTIMES, WorkloadKind
from global_sched.shared.kinds.parts.reading import Reading
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Forbidden, NotFound
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.scheduled_text import detail_of, reported_of
from global_sched.view.explain_screen import Screen
from global_sched.view.job_query import job_row
from global_sched.view.text import Row

NEEDS_NAMESPACE: Final = (
    "you may not read the whole federation; name your namespace: gsched explain -n NAMESPACE JOB"
)


async def own_rows(client: Client, *, namespace: str, now: Instant) -> list[Row]:
    """The jobs of the caller's own namespace, as rows of `gsched jobs`.

    Read from bindings, and from templates where the caller may read them: what a job's pods do
    stands in reports, which only the platform may read, so a job with clusters is Placed.
    Raises:  click.ClickException when the bindings may not be read.
    """
    bindings = await _bindings(client, namespace)
    kinds = {(one.spec.resource.api_version, one.spec.resource.kind) for one in bindings}
    readings: dict[tuple[str, str, str], Reading] = {}
    for kind in sorted(kinds & KINDS.keys()):
        readings |= await _readings(client, KINDS[kind], namespace)
    waiting = await waiting_jobs(client, namespace)
    return [
        _row(one, readings.get(_template(one)), waiting.get(_named(one)), now)
        for one in bindings
        if is_ours(one)
    ]


async def waiting_jobs(client: Client, namespace: str) -> dict[tuple[str, str], WaitingJob]:
    """The entries of the namespace's WaitingList, by kind and name; none where there is no list."""
    try:
        found = await client.get(WAITING_LISTS, WAITING_LIST, namespace=namespace, type=WaitingList)
    except ApiError:
        return {}
    return {(one.kind, one.name): one for one in found.jobs or ()}


def _named(binding: ResourceBinding) -> tuple[str, str]:
    return binding.spec.resource.kind, binding.spec.resource.name


def is_ours(binding: ResourceBinding) -> bool:
    """Whether global-sched schedules it."""
    return binding.spec.scheduler_name != DEFAULT_SCHEDULER


def _template(binding: ResourceBinding) -> tuple[str, str, str]:
    of = binding.spec.resource
    return of.api_version, of.kind, of.name


async def _readings(
    client: Client, kind: WorkloadKind, namespace: str
) -> dict[tuple[str, str, str], Reading]:
    """What the templates of a kind say, by (apiVersion, kind, name); none where refused."""
    try:
        found = await client.list(kind.resource, namespace=namespace, type=kind.wire)
    except ApiError:
        return {}
    of, read = kind.resource, {}
    for template in found.items:
        try:
            runtime = await _runtime(client, kind, template)
        except ApiError:
            runtime = None
        name = template.metadata.name
        read[of.api_version, of.kind, name] = kind.reading(template, runtime)
    return read


def _row(
    binding: ResourceBinding, reading: Reading | None, listed: WaitingJob | None, now: Instant
) -> Row:
    """One job, from its binding, what its template says, and its entry in the waiting list."""
    reference = binding.spec.resource
    clusters = [target.name for target in binding.spec.clusters or ()]
    decision = _decision(binding) if clusters else None
    grants = decision.grants if decision is not None else ()
    first = grants[0] if len(grants) == 1 else None
    said = reported_of(condition(binding.status.conditions, ConditionType.SCHEDULED))
    created = binding.metadata.creation_timestamp
    until = decision.at if decision is not None else now
    wanted = sum(one.count for one in reading.pod_sets) if reading is not None else None
    state = _state(binding, clusters, reading)
    waits = not clusters and state != "Finished"
    problem = reading.problem if reading is not None else None
    reason = said.reason or (problem.reason if problem is not None else None)
    detail = detail_of(said.message) or (problem.detail if problem is not None else "")
    return job_row(
        reference.api_version,
        reference.kind,
        binding.metadata.namespace,
        reference.name,
        binding.metadata.name,
        queue=(reading.queue or DEFAULT_QUEUE) if reading is not None and wanted else None,
        position=listed.position or None if listed is not None and waits else None,
        state=state,
        clusters=clusters,
        domain=first.domain if first else None,
        tier=first.tier if first else None,
        pods={"admitted": sum(g.amounts.pods() for g in grants), "wanted": wanted}
        if wanted
        else None,
        uncounted=reading is None and (reference.api_version, reference.kind) in KINDS,
        wait_seconds=max(0, (until - parse_instant(created)) // SECOND) if created else 0,
        verdict=str(said.code) if said.code and waits else None,
        reason=str(reason) if reason and waits else None,
        detail=detail if waits else None,
    )


def _state(binding: ResourceBinding, clusters: list[str], reading: Reading | None) -> str:
    """One word of `job_query.STATES`, as far as a binding and its template show it."""
    of = binding.spec.resource
    items = binding.status.aggregated_status
    if is_finished(of.api_version, of.kind, items, [ClusterName(one) for one in clusters]):
        return "Finished"
    if clusters:
        return "Placed"
    problem = reading.problem if reading is not None else None
    if problem is None:
        return "Pending"
    return "Suspended" if problem.reason == Reason.SUSPENDED else "Unreadable"


def _decision(binding: ResourceBinding) -> Decision | None:
    text = binding.metadata.annotation(DECISION)
    try:
        return parse_decision(text) if text else None
    except DecisionError:
        return None


class OwnJob(NamedTuple):
    """One job of the caller's own namespace, as far as they may read it."""

    binding: ResourceBinding
    listed: WaitingJob | None
    """Its entry in the namespace's WaitingList."""
    value: dict[str, str]
    """What a binding and its queue say, in words."""


async def own_job(client: Client, *, job: str, namespace: str) -> OwnJob:
    """A job by its name or the name of its binding.

    Raises:  click.ClickException when that may not be read, is not there, or is several.
    """
    listed = await _bindings(client, namespace)
    found = [one for one in listed if job in (one.metadata.name, one.spec.resource.name)]
    if len(found) != 1:
        names = ", ".join(one.metadata.name for one in found)
        why = f"names several bindings: {names}" if found else f"is not in namespace {namespace}"
        raise click.ClickException(f"{job!r} {why}")
    binding = found[0]
    entry = (await waiting_jobs(client, namespace)).get(_named(binding))
    value = _own(binding) | {"queue": await _queue(client, binding)}
    return OwnJob(binding, entry, value)


def own_screen(own: OwnJob) -> Screen:
    """The same screen as for the platform, as far as binding and waiting list have it."""
    binding, listed, value = own
    said = reported_of(condition(binding.status.conditions, ConditionType.SCHEDULED))
    facts = [("queue", value["queue"])] if value["queue"] else []
    more = "Not shown: room, clusters and other jobs, which only the platform may read."
    if binding.spec.clusters:
        granted = value["admitted"] or value["clusters"]
        return Screen(
            title=f"{value['job']} is placed", facts=[("admitted", granted), *facts], more=more
        )
    reason = str(said.reason or "not decided yet")
    message, place, enough = detail_of(said.message), "", []
    if listed is not None:
        reason, message = listed.reason, listed.message
        place = f", {listed.position} in queue {listed.queue}" if listed.position else ""
        enough = [listed.runs_when] if listed.runs_when else []
        facts.append(("since", listed.since))
    else:
        facts.append(("place", "not known: the namespace has no WaitingList with this job yet"))
    title = f"{value['job']} waits{place}: {reason}"
    return Screen(title=title, answer=message, enough=enough, facts=facts, more=more)


async def _bindings(client: Client, namespace: str) -> Sequence[ResourceBinding]:
    """The bindings of a namespace. Raises click.ClickException when they may not be read."""
    try:
        found = await client.list(RESOURCE_BINDINGS, namespace=namespace, type=ResourceBinding)
    except Forbidden as error:
        raise click.ClickException(
            f"you may not read namespace {namespace}: {error.message}"
        ) from error
    return found.items


def _own(binding: ResourceBinding) -> dict[str, str]:
    """The caller's own binding in words."""
    reference = binding.spec.resource
    scheduled = condition(binding.status.conditions, ConditionType.SCHEDULED)
    clusters = ", ".join(target.name for target in binding.spec.clusters or ())
    said = f"{scheduled.status} {scheduled.reason}: {scheduled.message}" if scheduled else "not yet"
    return {
        "job": f"{reference.kind} {reference.namespace}/{reference.name}",
        "binding": binding.metadata.name,
        "clusters": clusters or "none yet",
        "admitted": _admitted(binding) if clusters else "",
        "scheduled": said,
    }


def _admitted(binding: ResourceBinding) -> str:
    """What the decision annotation grants."""
    text = binding.metadata.annotation(DECISION)
    try:
        decision = parse_decision(text) if text else None
    except DecisionError:
        return "unknown: the decision annotation cannot be read"
    if decision is None:
        return ""
    return "; ".join(
        f"{counted(grant.amounts.pods(), 'pod')} in {grant.cluster}"
        + (f", domain {grant.domain} (tier {grant.tier})" if grant.domain else "")
        for grant in decision.grants
    )


async def _runtime(client: Client, reader: WorkloadKind, template: Any) -> Any:
    """The object that holds a part of the template, None where there is none. Raises ApiError."""
    ref = None if reader.runtimes is None else reader.runtimes.ref(template)
    if ref is None:
        return None
    _, crd = RUNTIMES[ref.api_version, ref.kind]
    return await client.get(crd.resource, ref.name, namespace=ref.namespace or None, type=crd.type)


async def _queue(client: Client, binding: ResourceBinding) -> str:
    """The job's queue, as far as the caller may read it; empty for a kind without demand."""
    reference = binding.spec.resource
    reader = KINDS.get((reference.api_version, reference.kind))
    if reader is None:
        return ""
    try:
        template = await client.get(
            reader.resource, reference.name, namespace=reference.namespace, type=reader.wire
        )
        runtime = await _runtime(client, reader, template)
        name = reader.reading(template, runtime).queue or DEFAULT_QUEUE
    except ApiError as error:
        return f"not shown: {error.message}"
    try:
        queue = await client.get(QUEUES, name, type=Queue)
    except NotFound:
        return f"{name}, which does not exist"
    except ApiError as error:
        return f"{name}; its state is not shown: {error.message}"
    status = queue.status
    return f"{name}: {status.state or 'Open'}, {status.pending} pending, {status.running} running"
