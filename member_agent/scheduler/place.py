"""One round: which waiting pods go to which nodes now, and why the others wait. Pure.

Order of claims on the room: pods that are being bound; plans that a crash or a failed bind left;
places reserved in earlier rounds; what was held for workloads that are admitted by now, until their
turn; directed workloads without places, in the order in which the leader admitted them, those that
room is only held for among them; then everybody else, by priority and age. A directed workload
keeps its reservation until its pods are bound, so that the order in which pods arrive does not
matter.
"""

from collections.abc import Sequence

from member_agent.cache import ClusterCache, Unit
from member_agent.scheduler.books import Books
from member_agent.scheduler.directed import (
    hold_room,
    hold_until_its_turn,
    keep_reservation,
    place_directed,
)
from member_agent.scheduler.free import free_order, place_free
from member_agent.scheduler.giving import pods_to_give_up
from member_agent.scheduler.round import Round, Situation


def plan_round(cache: ClusterCache, units: Sequence[Unit], situation: Situation) -> Round:
    """Decide one round over everything that waits.

    Every waiting pod of ours ends in a placement, in a wait with a reason, or belongs to a unit
    that is being bound or backs off. Equal input gives an equal round.
    """
    books = Books(cache, units, situation)
    books.hold_flying()
    for unit in units:
        books.pin(unit)
    holds = {hold.binding: hold for hold in books.holds}
    entries = sorted(cache.entries().values(), key=lambda entry: entry.turn)
    for entry in entries:
        if entry.binding not in holds:
            keep_reservation(books, entry)
    for entry in entries:
        if entry.binding not in holds:
            hold_until_its_turn(books, entry)
    for entry in entries:
        if entry.binding in holds:
            hold_room(books, holds[entry.binding])
            continue
        for giving in pods_to_give_up(entry, books.by_binding.get(entry.binding, ())):
            books.give_up(giving)
        place_directed(books, entry)
    for unit in units:
        if unit.binding is not None and unit.binding not in cache.entries():
            books.wait(unit, unit.waiting, f"no Directive entry for binding {unit.binding} yet")
    for unit in free_order(units):
        place_free(books, unit)
    return books.result()
