"""Karmada's interpretation of a kind: functions on raw objects, as released (1.18.2).

The embedded Karmada and everything that builds bindings without a Karmada ask; a real one asks its
own interpreter.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from global_sched.shared.api.raw import Obj, get, labels, put

Items = list[Obj]
"""Entries of `status.aggregatedStatus`: clusterName, status, applied, health."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpretation:
    """One answer per operation of the interpreter."""

    replicas: Callable[[Obj], int] | None
    """InterpretReplica: how many pods of `pods`' first spec; None where there is no such hook, so
    that the binding carries no replicas."""
    components: bool
    """Whether InterpretComponent knows it (asked only behind the gate MultiplePodTemplates-
    Scheduling, which is off as released)."""
    revised: str | None
    """ReviseReplica: the field of `spec` that is set for one member; None: the object stays
    whole."""
    pods: Callable[[Obj], list[Obj]] | None
    """InterpretDependency: the pod specs whose references travel along; None: none travel."""
    prune: Callable[[Obj], None] | None
    """What a server generated is taken out before the object travels, in place."""
    retain: Callable[[Obj, Obj], None] | None
    """(desired, observed): what the member's object keeps, in place."""
    reflect: Callable[[Obj, Obj], Obj] | None
    """(object, status): the part of the status that is collected; None: all of it."""
    health: Callable[[Obj], bool] | None
    """Whether the member's object is healthy; None: as soon as it exists."""
    aggregate: Callable[[Obj, Items, str], Obj] | None
    """(template, items, now): the template's status; None: it is not aggregated."""


def template_pods(template: Obj) -> list[Obj]:
    """The pod spec of kinds with one pod template."""
    return [get(template, "spec", "template", "spec") or {}]


def spec_replicas(template: Obj) -> int:
    """`spec.replicas`."""
    return int(get(template, "spec", "replicas") or 0)


UNKNOWN: Final = Interpretation(
    replicas=None,
    components=False,
    revised=None,
    pods=None,
    prune=None,
    retain=None,
    reflect=None,
    health=None,
    aggregate=None,
)
"""A kind that Karmada's interpreter does not know."""


RETAIN_REPLICAS: Final = "resourcetemplate.karmada.io/retain-replicas"


def keep(done: Obj, observed: Obj, *path: str) -> None:
    """Take a value over from the member, if it has one."""
    value: Any = get(observed, *path)
    if value:
        put(done, *path, value=copy.deepcopy(value))


def keep_replicas(done: Obj, observed: Obj) -> None:
    """Keep the member's replicas where a label asks for it."""
    if labels(done).get(RETAIN_REPLICAS) == "true":
        keep(done, observed, "spec", "replicas")
