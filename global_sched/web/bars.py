"""Bars of queues: what each is guaranteed, deserves, holds, borrows and waits for, on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.model.resources import PODS, Resources

WIDTH = 400
"""Units of a bar's width: the largest amount of all queues, of the root for the root alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One queue; lengths are parts of `WIDTH`, amounts are text."""

    name: str
    depth: int
    held: int
    borrowed: int
    waiting: int
    deserved: int
    guarantee: int
    label: str


def resources_of(views: Sequence[QueueView]) -> list[str]:
    """Resources that queues deserve, hold or wait for: devices first, the pod count left out."""
    names = {
        name
        for one in views
        for amounts in (one.deserved, one.held, one.asked)
        for name in amounts.names()
    }
    return sorted(names - {PODS}, key=lambda name: ("/" not in name, name))


def bars_of(views: Sequence[QueueView], resource: str) -> list[Bar]:
    """One bar per queue, in the order of the tree."""
    scale = max((_largest(one, resource) for one in views if one.depth), default=0)

    def length(one: QueueView, amounts: Resources) -> int:
        most = scale if one.depth else _largest(one, resource)
        return round(WIDTH * amounts.get(resource) / most) if most else 0

    def said(amounts: Resources) -> str:
        return format_quantity(amounts.get(resource), resource)

    found = []
    for one in views:
        held, borrowed = length(one, one.held), length(one, one.borrowed)
        waits = one.asked.get(resource) - one.held.get(resource)
        found.append(
            Bar(
                name=one.queue.name,
                depth=one.depth,
                held=held - borrowed,
                borrowed=borrowed,
                waiting=max(0, length(one, one.asked) - held),
                deserved=length(one, one.deserved),
                guarantee=length(one, one.guarantee),
                label=(
                    f"holds {said(one.held)}, {said(one.borrowed)} of it borrowed; deserves"
                    f" {said(one.deserved)}, guaranteed {said(one.guarantee)}; waits for"
                    f" {format_quantity(max(0, waits), resource)}"
                ),
            )
        )
    return found


def _largest(one: QueueView, resource: str) -> int:
    """The longest that its bar has to show."""
    return max(amounts.get(resource) for amounts in (one.asked, one.deserved, one.guarantee))
