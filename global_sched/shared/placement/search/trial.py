"""A placement in the making: steps on the rows that can be undone, redone and counted.

Search tries placements on the real rows instead of copying them (a trail, as in constraint solvers
with backtracking: Van Hentenryck 1989). Every step moves nodes from one row to another; `undo`
walks the trail back and tells followers of the log to skip that stretch, so that trying costs
nothing to tables that were not asked in between. Cost: O(steps). docs/design/0003, "Algorithms".
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Unit


class TrialStep(NamedTuple):
    """Pods of one pod set on nodes of a row, which then are nodes of the target row."""

    unit: int
    row: int
    target: int
    pod_set: PodSetName
    nodes: int
    pods: int


@dataclass(slots=True)
class Trial:
    """Steps that are applied to the rows as they are added.

    Where all of them are known from one look at the rows they need not be: `applied` False.
    """

    rows: Rows
    applied: bool = True
    steps: list[TrialStep] = field(default_factory=list)
    _placed: dict[tuple[int, PodSetName], int] = field(default_factory=dict)
    """Pods by unit and pod set."""
    _start: int = field(init=False)
    _logged: int = field(init=False)

    def __post_init__(self) -> None:
        self._start = self.rows.here()
        self._logged = len(self.rows.log)

    def amounts(self) -> Amounts:
        """Pods so far."""
        amounts: dict[PodSetName, int] = {}
        for (_, name), pods in self._placed.items():
            amounts[name] = amounts.get(name, 0) + pods
        return Amounts.of(amounts)

    def undo(self) -> None:
        """Take everything off the rows again; the steps stay readable."""
        self.rows.back_to(self._start)
        if len(self.rows.log) > self._logged:
            self.rows.skips[self._logged] = len(self.rows.log)

    def here(self) -> tuple[int, int, dict[tuple[int, PodSetName], int]]:
        """A point to go back to."""
        return len(self.steps), self.rows.here(), dict(self._placed)

    def back_to(self, point: tuple[int, int, dict[tuple[int, PodSetName], int]]) -> None:
        """Take back the steps since."""
        steps, trail, placed = point
        self.rows.back_to(trail)
        del self.steps[steps:]
        self._placed = placed

    def redo(self) -> None:
        """Put undone steps on the rows again, which must be as they were."""
        self._start = self.rows.here()
        self._logged = len(self.rows.log)
        for step in self.steps:
            self.rows.move(step.row, step.target, step.nodes)

    def count(self, unit: Unit) -> int:
        """Pods of a unit so far, in all its pod sets."""
        if not self.steps:
            return 0
        return sum([self._placed.get((unit.at, name), 0) for name, _, _ in unit.sets])

    def put(self, unit: Unit, table: ShapeTable, row: int, nodes: int, pods: int) -> int:
        """Put `pods` of a unit on each of some nodes; the unit's pod sets follow each other.

        Each pod set gets its least first, in the template's order, then the surplus likewise.
        Returns the row of the last node.
        """
        left = nodes
        target = row
        while left:
            name, wanted = self._next(unit)
            whole = min(left, wanted // pods)
            if whole:
                target = self._step(unit, table, name, row, whole, pods)
                left -= whole
                continue
            target = self._mixed(unit, table, row, pods)
            left -= 1
        return target

    def _mixed(self, unit: Unit, table: ShapeTable, row: int, pods: int) -> int:
        """One node with pods of several pod sets of the unit."""
        at, left = row, pods
        while left:
            name, wanted = self._next(unit)
            part = min(left, wanted)
            at = self._step(unit, table, name, at, 1, part)
            left -= part
        return at

    def _next(self, unit: Unit) -> tuple[PodSetName, int]:
        """The pod set that is filled next, and how many pods it takes before another's turn."""
        for name, least, _ in unit.sets:
            lacking = least - self._placed.get((unit.at, name), 0)
            if lacking > 0:
                return name, lacking
        for name, _, most in unit.sets:
            lacking = most - self._placed.get((unit.at, name), 0)
            if lacking > 0:
                return name, lacking
        name = unit.sets[-1][0]
        return name, 2**62

    def _step(
        self, unit: Unit, table: ShapeTable, name: PodSetName, row: int, nodes: int, pods: int
    ) -> int:
        added = table.marks_of(pods) if unit.key[1] else ()
        target = self.rows.after(row, table.request or (), pods, added)
        if self.applied:
            self.rows.move(row, target, nodes)
        self.steps.append(TrialStep(unit.at, row, target, name, nodes, pods))
        slot = (unit.at, name)
        self._placed[slot] = self._placed.get(slot, 0) + nodes * pods
        return target
