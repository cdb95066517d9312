"""`gsched job suspend|resume|priority|cancel`, `gsched queue open|close|set`: the caller's rights.

A job is changed at its template, never at its binding, which tenants may not write. What is written
per kind stands in `shared/kinds`. A priority that would have no effect, and fields that would make
a queue unusable, are refused by a dry run before anything is written.
"""

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click
import msgspec

from global_sched.cache.readers.queues import read_queue
from global_sched.cli.output import echo
from global_sched.cli.view import Session, with_session
from global_sched.cli.where import Where
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.resource import PRIORITY_CLASSES, QUEUES, RESOURCE_BINDINGS
from global_sched.shared.api.volcano import Queue
from global_sched.shared.kinds import KINDS, WorkloadKind
from global_sched.shared.kinds.parts.acts import Field, Refused
from global_sched.shared.kube.client import Client, Propagation
from global_sched.shared.kube.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from global_sched.view.own import NEEDS_NAMESPACE, is_ours
from global_sched.view.text import object_name

Body = dict[str, Any]
Obj = Mapping[str, Any]
DRY: Final = " (server dry run)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job that an act is about, as its binding names it."""

    kind: WorkloadKind
    namespace: str
    name: str
    uid: str

    def text(self) -> str:
        """As `kubectl -o name` spells it."""
        of = self.kind.resource
        return object_name(of.api_version, of.kind, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which jobs a command names, and whether the server only tries it."""

    names: tuple[str, ...]
    namespace: str | None
    dry_run: bool


def run(where: Where, act: Callable[[Session], Coroutine[Any, Any, None]]) -> None:
    """Do it on a control plane, as the user of the kubeconfig."""
    with_session(where, act)


# --- jobs ---------------------------------------------------------------------------------------


async def suspend(session: Session, asked: Asked, *, on: bool) -> None:
    """Hold jobs back, or let them go on; a job that runs frees its room."""
    done = "suspended" if on else "resumed"

    async def act(client: Client, job: Job) -> str:
        field = writable(job, "suspend" if on else "resume", job.kind.acts.suspend)
        await _patch(client, job, field, on, dry_run=asked.dry_run)
        return done

    await _each(session, asked, act)


async def prioritize(session: Session, asked: Asked, *, name: str) -> None:
    """Give jobs another PriorityClass."""

    async def act(client: Client, job: Job) -> str:
        field = writable(job, "give another priority", job.kind.acts.priority)
        await _class_exists(client, name)
        tried = await _patch(client, job, field, name, dry_run=True)
        counts = _class_of(job, tried)
        if counts != name:
            raise click.ClickException(
                f"{job.text()}: {field.text()} would have no effect: its pod templates name "
                f"PriorityClass {counts}, which counts first; change it there"
            )
        if not asked.dry_run:
            await _patch(client, job, field, name, dry_run=False)
        return f"has PriorityClass {name}"

    await _each(session, asked, act)


async def cancel(session: Session, asked: Asked) -> None:
    """Delete jobs: the objects that their bindings name, and no later ones of the same names."""

    async def act(client: Client, job: Job) -> str:
        await client.delete(
            job.kind.resource,
            job.name,
            namespace=job.namespace,
            uid=job.uid or None,
            propagation=Propagation.BACKGROUND,
            dry_run=asked.dry_run,
        )
        return "deleted"

    await _each(session, asked, act)


def writable(job: Job, what: str, act: Field | Refused) -> Field:
    """The field that an act writes. Raises click.ClickException where the kind has none."""
    if isinstance(act, Refused):
        raise click.ClickException(f"cannot {what} {job.text()}: {act.why}")
    return act


def _class_of(job: Job, obj: Obj) -> str:
    """The PriorityClass that counts in an object, as the scheduler reads it."""
    template = msgspec.convert(dict(obj), job.kind.wire)
    reading = job.kind.reading(template)
    return reading.priority_class


async def _class_exists(client: Client, name: str) -> None:
    """Refuse a name that no class has; a caller that may not look writes it all the same."""
    try:
        await client.get(PRIORITY_CLASSES, name)
    except NotFound:
        raise click.ClickException(f"there is no PriorityClass {name!r}") from None
    except Forbidden:
        return


async def _patch(client: Client, job: Job, field: Field, value: Any, *, dry_run: bool) -> Obj:
    """Set a field of the object that the binding names; the object as it is then."""
    resource = job.kind.resource
    found: Obj = {}
    if field.also:
        found = await client.get(resource, job.name, namespace=job.namespace)
    patch = field.patch(found, value)
    if job.uid:
        patch.setdefault("metadata", {})["uid"] = job.uid  # no later object of the same name
    return await client.patch(resource, job.name, patch, namespace=job.namespace, dry_run=dry_run)


async def _each(
    session: Session, asked: Asked, act: Callable[[Client, Job], Awaitable[str]]
) -> None:
    """Do it with each job that is named; all are found before the first is changed."""
    namespace = asked.namespace or session.namespace or None
    jobs = [await find(session.client, name, namespace) for name in asked.names]
    for job in jobs:
        done = await _said(job.text(), act(session.client, job))
        echo(f"{job.text()} {done}{DRY * asked.dry_run}")


async def _said(name: str, doing: Awaitable[str]) -> str:
    """What was done. Raises click.ClickException with what the server said against it."""
    try:
        return await doing
    except NotFound as error:
        raise click.ClickException(f"{name} is gone") from error
    except Conflict as error:
        raise click.ClickException(
            f"{name} was made anew or changed meanwhile: look again, then repeat it"
        ) from error
    except Forbidden as error:
        raise click.ClickException(f"you may not change {name}: {error.message}") from error
    except (BadRequest, Invalid) as error:
        raise click.ClickException(f"{name}: the API server refuses: {error.message}") from error


async def find(client: Client, name: str, namespace: str | None) -> Job:
    """The job of that name, or of that binding, that global-sched schedules.

    Raises:  click.ClickException where there is none or more than one.
    """
    if "/" in name:
        namespace, _, name = name.partition("/")
    try:
        listed = await client.list(RESOURCE_BINDINGS, namespace=namespace, type=ResourceBinding)
    except Forbidden as error:
        text = NEEDS_NAMESPACE if namespace is None else f"you may not read {namespace}"
        raise click.ClickException(f"{text} ({error.message})") from error
    found = [
        one
        for one in listed.items
        if is_ours(one) and name in (one.spec.resource.name, one.metadata.name)
    ]
    scope = f" in namespace {namespace}" if namespace else ""
    if not found:
        raise click.ClickException(f"no job {name!r}{scope} is scheduled by global-sched")
    if len(found) > 1:
        names = ", ".join(f"{one.metadata.namespace}/{one.metadata.name}" for one in found)
        raise click.ClickException(
            f"{name!r} names several jobs: {names}; use -n or the name of the binding"
        )
    of = found[0].spec.resource
    kind = KINDS.get((of.api_version, of.kind))
    if kind is None:
        raise click.ClickException(
            f"{of.kind} {of.name} is of a kind that gsched does not change; use kubectl"
        )
    return Job(kind=kind, namespace=of.namespace, name=of.name, uid=of.uid)


# --- queues -------------------------------------------------------------------------------------


async def open_queues(
    session: Session, names: Sequence[str], *, opened: bool, dry_run: bool
) -> None:
    """Open or close queues: what runs in a closed one goes on, and nothing new is admitted."""
    state = "Open" if opened else "Closed"

    async def act(name: str) -> str:
        body = {"status": {"state": state}}
        await session.client.patch(QUEUES, name, body, subresource="status", dry_run=dry_run)
        return state.lower()

    for name in names:
        done = await _said(f"queue {name}", act(name))
        echo(f"queue.scheduling.volcano.sh/{name} {done}{DRY * dry_run}")


async def set_queue(session: Session, name: str, spec: Body, *, dry_run: bool) -> None:
    """Change fields of a queue; refused where the queue could not be read any more."""

    async def act() -> str:
        tried = await session.client.patch(QUEUES, name, {"spec": spec}, dry_run=True)
        problem = read_queue(msgspec.convert(tried, Queue)).problem
        if problem:
            raise click.ClickException(f"queue {name} would be unusable: {problem}")
        if not dry_run:
            await session.client.patch(QUEUES, name, {"spec": spec})
        return "changed"

    done = await _said(f"queue {name}", act())
    echo(f"queue.scheduling.volcano.sh/{name} {done}{DRY * dry_run}")


def queue_spec(asked: Mapping[str, Any]) -> Body:
    """The fields of a queue's `spec` that the options ask for.

    Raises:  click.UsageError for an amount that is not RESOURCE=AMOUNT.
    """
    names = ("weight", "priority", "parent", "reclaimable")
    spec: Body = {name: asked[name] for name in names if asked[name] is not None}
    for name in ("deserved", "capability"):
        if asked[name]:
            spec[name] = amounts(asked[name], f"--{name}")
    if asked["guarantee"]:
        spec["guarantee"] = {"resource": amounts(asked["guarantee"], "--guarantee")}
    return spec


def amounts(given: Sequence[str], option: str) -> Body:
    """`cpu=64` as a patch of amounts; `cpu=` takes the resource out.

    Raises:  click.UsageError for what has no `=`.
    """
    found: Body = {}
    for text in given:
        name, equals, quantity = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} {text!r}: use RESOURCE=AMOUNT, or RESOURCE= for none")
        found[name] = quantity or None
    return found
