"""Certain answers of a cycle: the closest place, or a refusal that stands."""

from collections.abc import Iterable

from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Outcome
from global_sched.shared.placement import Placed


class Doubts:
    """Workloads with room that may not be the closest, since the search limit ended the search."""

    def __init__(self) -> None:
        self._inexact: set[WorkloadKey] = set()

    def note(self, workload: WorkloadKey, placed: Placed) -> None:
        """The workload takes this room."""
        if not placed.exact:
            self._inexact.add(workload)

    def forget(self, workloads: Iterable[WorkloadKey]) -> None:
        """What these took was undone."""
        self._inexact.difference_update(workloads)

    def unproven(
        self, written: Iterable[WorkloadKey], outcomes: Iterable[Outcome]
    ) -> tuple[WorkloadKey, ...]:
        """Those of the written ones, and of the outcomes the refusals that are not proven."""
        unsure = {one.workload for one in outcomes if not one.verdict.proven}
        return tuple(sorted(unsure | self._inexact.intersection(written)))
