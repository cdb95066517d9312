"""The reading of a template: pod sets, gang and scheduling, or a refusal with its field."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import PodTemplate
from global_sched.shared.api.names import OBJECT_QUEUE_NAME, QUEUE_NAME
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds.parts.owner import PODS_LIMIT
from global_sched.shared.model.gang import PodSet, TopologyConstraint
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.printable import is_dns_name, is_label_key, is_label_value
from global_sched.shared.model.quantity import QuantityError
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.placement import SpecError, check_devices, shape_of


class RefusedError(ValueError):
    """A field cannot be read; the text names it, says why, and what would help."""

    def __init__(self, field: str, why: str, remedy: str) -> None:
        super().__init__(f"{field}: {why}; {remedy}")
        self.parts = (field, why, remedy)

    def of(self, owner: str) -> "RefusedError":
        """The same of a field of another object, or of a field further down."""
        field, why, remedy = self.parts
        return RefusedError(f"{owner}{field}", why, remedy)


class HeldError(ValueError):
    """The template itself says that nothing is to run now."""


class MissingError(ValueError):
    """Another object that the template needs is not on the control plane."""


@dataclass(frozen=True, slots=True)
class SchedulerField:
    """A place in a template where a schedulerName may stand, and what stands there."""

    path: str
    """JSON pointer, as an OverridePolicy spells it."""
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling:
    """Who binds the pods, as the template says it. Make one with `scheduling`.

    `fields` has one entry per pod template; `fallback` counts for those that name none, `default`
    when that is empty, too. `name` is the one that all pods name, None when they disagree.
    """

    fields: tuple[SchedulerField, ...] = ()
    fallback: SchedulerField | None = None
    default: str = ""
    name: str | None = ""


def scheduling(
    fields: Sequence[SchedulerField], fallback: SchedulerField | None = None, *, default: str = ""
) -> Scheduling:
    """The fields and the name that they amount to."""
    otherwise = (fallback.value if fallback else "") or default
    names = {field.value or otherwise for field in fields} or {otherwise}
    return Scheduling(
        fields=tuple(fields),
        fallback=fallback,
        default=default,
        name=names.pop() if len(names) == 1 else None,
    )


NOBODY: Final = Scheduling()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All that is kept of a template. Equal readings are one object in the cache.

    `divisible` kinds may be split over clusters, all others are gangs. `minimum` is the gang's.
    """

    api_version: str
    kind: str
    pod_sets: tuple[PodSet, ...] = ()
    minimum: int = 0
    constraint: TopologyConstraint | None = None
    divisible: bool = False
    carries_replicas: bool = True
    """False: entries of `spec.clusters` have replicas only when the binding has some."""
    queue: str = ""
    priority_class: str = ""
    scheduling: Scheduling = NOBODY
    preemptable: bool = True
    run_limit: int | None = None
    checkpoint: Instant | None = None
    stays: bool = False
    """Whether its pods run on after its end, until it is deleted: then it holds what it has."""
    fixed: bool = False
    """Whether its controller leaves one that runs as it is, whatever the template becomes."""
    problem: Verdict | None = None

    def scheduler_name(self) -> str | None:
        """The name that counts without overrides; None when pod templates disagree."""
        return self.scheduling.name


def refused(api_version: str, kind: str, text: str) -> Reading:
    """The reading of a template that has to change."""
    verdict = Verdict(code=Code.NEVER, reason=Reason.INVALID_SPEC, detail=text, missing=1)
    return Reading(api_version=api_version, kind=kind, problem=verdict)


def held(api_version: str, kind: str, text: str) -> Reading:
    """The reading of a template whose owner holds it back."""
    verdict = Verdict(code=Code.WAIT, reason=Reason.SUSPENDED, detail=text, missing=1)
    return Reading(api_version=api_version, kind=kind, problem=verdict)


def missing(api_version: str, kind: str, text: str) -> Reading:
    """The reading of a template that waits for another object on the control plane."""
    verdict = Verdict(code=Code.WAIT, reason=Reason.RUNTIME_MISSING, detail=text, missing=1)
    return Reading(api_version=api_version, kind=kind, problem=verdict)


def checked(reading: Reading) -> Reading:
    """The reading, when all names in it may be names.

    No API server checks the templates of custom resources, and these names are shown, compared and
    asked for. Raises RefusedError.
    """
    for field, name in (("queue", reading.queue), ("priorityClassName", reading.priority_class)):
        if name and not is_dns_name(name):
            raise RefusedError(field, f"{name[:_SHOWN]!r} is no DNS name", _DNS_REMEDY)
    for one in (*reading.scheduling.fields, reading.scheduling.fallback):
        if one is not None and one.value and not is_label_key(one.value):
            raise RefusedError(one.path, f"{one.value[:_SHOWN]!r} is no name", _LABEL_REMEDY)
    for pod_set in reading.pod_sets:
        if pod_set.name and not is_label_value(pod_set.name):
            raise RefusedError("pod set", f"{pod_set.name[:_SHOWN]!r} is no name", _LABEL_REMEDY)
        _check_shape(pod_set.shape, f"pod set {pod_set.name}")
    return reading


def _check_shape(shape: PodShape, where: str) -> None:
    """Keys and values of its selectors and tolerations."""
    keys = [*shape.label_keys(), *(one.key for one in shape.tolerations if one.key)]
    values = [value for _, value in shape.selector]
    values += [v for term in shape.affinity for one in term for v in one.values]
    values += [one.value for one in shape.tolerations]
    for key in keys:
        if not is_label_key(key):
            raise RefusedError(where, f"{key[:_SHOWN]!r} is no label key", _LABEL_REMEDY)
    for value in values:
        if not is_label_value(value):
            raise RefusedError(where, f"{value[:_SHOWN]!r} is no label value", _LABEL_REMEDY)


_SHOWN: Final = 60
_DNS_REMEDY: Final = "use lower-case letters, digits, '-' and '.', at most 253 characters"
_LABEL_REMEDY: Final = "use letters, digits, '-', '_' and '.', at most 63 characters"


def whole_number(value: int | None, field: str, *, default: int, least: int = 0) -> int:
    """A count within bounds, or a refusal that names the field."""
    if value is None:
        return default
    if value < least:
        raise RefusedError(field, f"is {value}", f"use a whole number of at least {least}")
    if value > PODS_LIMIT:
        raise RefusedError(field, f"is {value}", f"at most {PODS_LIMIT} pods are accepted")
    return value


def pods_total(pods: int, field: str) -> None:
    """Refuse a workload without pods, or with absurdly many."""
    if pods > PODS_LIMIT:
        raise RefusedError(field, f"add up to {pods} pods", f"at most {PODS_LIMIT} are accepted")


def shape(template: PodTemplate, field: str) -> PodShape:
    """What one pod of a template asks of a node."""
    spec = template.spec
    if not spec.containers:
        raise RefusedError(
            f"{field}.spec.containers", "is empty", "a pod needs at least one container"
        )
    try:
        check_devices(spec, template.metadata.annotations)
    except SpecError as error:
        raise RefusedError(f"{field}.{error.field}", *error.reason.rsplit("; ", 1)) from error
    try:
        return shape_of(spec)
    except (SpecError, QuantityError) as error:
        raise RefusedError(f"{field}.spec", str(error), "correct the pod template") from error


def queue_of(template: Meta, owner: Meta) -> str:
    """The queue that a kind without a field for it names; empty when it names none.

    The pod template's label, then its annotation, then the annotation on the object.
    """
    return (
        template.label(QUEUE_NAME)
        or template.annotation(QUEUE_NAME)
        or owner.annotation(OBJECT_QUEUE_NAME)
    )
