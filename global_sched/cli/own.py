"""What a caller sees who may not read the federation: their own binding, queue and condition."""

from collections.abc import Sequence
from typing import Any, Final

import click

from global_sched.cli.output import Column, echo, show_rows, show_value
from global_sched.shared.api.base import condition
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import DECISION, DEFAULT_QUEUE
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.api.resource import QUEUES, RESOURCE_BINDINGS
from global_sched.shared.api.volcano import Queue
from global_sched.shared.kinds import KINDS, RUNTIMES, WorkloadKind
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Forbidden, NotFound
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.quantity import counted

NEEDS_NAMESPACE: Final = (
    "you may not read the whole federation; name your namespace: gsched explain -n NAMESPACE JOB"
)


OWN_COLUMNS: Final = (
    Column(head="JOB", field="job"),
    Column(head="BINDING", field="binding", wide=True),
    Column(head="CLUSTER", field="clusters"),
    Column(head="ADMITTED", field="admitted"),
    Column(head="SCHEDULED", field="scheduled"),
)


async def jobs_own(client: Client, *, namespace: str, output: str, denied: Forbidden) -> None:
    """Print the bindings of the caller's own namespace, and say what they may not read.

    Raises:  click.ClickException when they may not be read either.
    """
    rows = [_own(one) for one in await _bindings(client, namespace)]
    show_rows(rows, OWN_COLUMNS, output, nothing=f"No jobs found in namespace {namespace}.")
    echo(f"not shown: queue, share and place in line; {denied.message}", err=True)


async def explain_own(
    client: Client, *, job: str, namespace: str | None, output: str, denied: Forbidden
) -> None:
    """Print one binding of the caller's own namespace, and what they may not read.

    Raises:  click.ClickException when that may not be read either, or is not there.
    """
    if "/" in job:
        namespace, _, job = job.partition("/")
    if not namespace:
        raise click.ClickException(NEEDS_NAMESPACE)
    listed = await _bindings(client, namespace)
    found = [one for one in listed if job in (one.metadata.name, one.spec.resource.name)]
    if len(found) != 1:
        names = ", ".join(one.metadata.name for one in found)
        why = f"names several bindings: {names}" if found else f"is not in namespace {namespace}"
        raise click.ClickException(f"{job!r} {why}")
    binding = found[0]
    value = _own(binding) | {"queue": await _queue(client, binding), "not_shown": denied.message}
    if output in ("json", "yaml"):
        show_value(value, output)
        return
    for name, text in value.items():
        if text:
            echo(f"{name.replace('_', ' '):<10}{text}")


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
