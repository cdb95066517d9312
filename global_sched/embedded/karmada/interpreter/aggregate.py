"""Statuses of all members to the status of the template."""

from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import Obj, get, kind_of
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.interpretation import Items
from global_sched.shared.kinds.parts.statuses import statuses


def aggregate(template: Obj, items: Items, now: str) -> Obj | None:
    """The template's new status; None for kinds whose status is not aggregated.

    now: RFC 3339, for conditions that become true.
    """
    kind = KINDS.get(kind_of(template))
    hook = _OTHERS.get(kind_of(template)) if kind is None else kind.karmada.aggregate
    return None if hook is None else hook(template, items, now)


def _pod(template: Obj, items: Items, _now: str) -> Obj:
    """The phase that needs most attention, and the containers of all members."""
    parts = statuses(items)
    phases = {part.get("phase") for part in parts}
    order = ("Failed", "Pending", "Running", "Succeeded")
    phase = next((one for one in order if one in phases), get(template, "status", "phase"))
    containers = [one for part in parts for one in part.get("containerStatuses") or []]
    status: Obj = {"phase": phase or "Pending"}
    return status | ({"containerStatuses": containers} if containers else {})


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj, Items, str], Obj]]] = {
    ("v1", "Pod"): _pod,
}
