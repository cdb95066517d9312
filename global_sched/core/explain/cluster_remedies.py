"""Clusters that are left out, and what would let a workload run there."""

from collections.abc import Iterator

import numpy as np

from global_sched.core.explain.left_out import obstacles, permitted
from global_sched.core.explain.remedy_text import UNKNOWN
from global_sched.core.explain.trials import Trials
from global_sched.core.explain.variants import raised_in
from global_sched.core.fit.rooms import Ask
from global_sched.core.offer import Refusal
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change, Remedy
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload

CLUSTERS = 4
"""So many clusters are tried."""


class ClusterRemedies:
    """Trials for one workload that waits, with what it asks for at least."""

    def __init__(
        self, workload: Workload, asked: Resources, trials: Trials, statement: Statement
    ) -> None:
        self._workload, self._asked = workload, asked
        self._trials, self._statement = trials, statement
        self._case = statement.standings.case(workload)

    def find(self, ask: Ask, refusal: Refusal, *, nowhere: bool) -> Iterator[Remedy]:
        """One change for each cluster that is left out.

        Those that hold the workload now; where it may use none, the others, the nearest first: one
        of them has to let it in. `nowhere`: it may not run, whatever the cluster.
        """
        case, rooms = self._case, self._statement.rooms.rooms
        fits = ask.fitting(np.ones_like(case.allowed))
        found = (fits & ~case.allowed).nonzero()[0].tolist()
        if not found and not case.allowed.any():
            found = sorted(
                range(len(rooms)), key=lambda at: rooms[at].cluster.name != refusal.nearest
            )
        tried = 0
        for at in found:
            remedy = self._of(at, fits=bool(fits[at]), nowhere=nowhere)
            if remedy is not None:
                yield remedy
                tried += 1
            if tried == CLUSTERS:
                return

    def _of(self, at: int, *, fits: bool, nowhere: bool) -> Remedy | None:
        """What lets it into one cluster, if anything does."""
        statement, refusal = self._statement, self._case.refusals[at]
        cluster = statement.rooms.rooms[at].cluster
        if refusal is None or cluster.terminating:
            return None
        if refusal.verdict.reason == Reason.QUEUE_CAPABILITY:
            changed, lacks = raised_in(self._workload, self._asked, cluster.name, statement)
            if not lacks:
                return None
            text = "; ".join(lacks)
            return self._trials.judged(Change.QUOTA, changed, text, cluster=cluster.name)
        against = obstacles(self._workload, cluster, statement)
        if nowhere or not against:
            return None
        where = ", where it fits" if fits else ""
        text = f"{cluster.name} may be used{where}: {'; '.join(one.detail for one in against)}"
        reasons = [one.reason for one in against]
        world = permitted(self._workload, cluster, reasons, statement.snapshot, statement.now)
        if world is None:
            return Remedy(
                change=Change.CLUSTER, text=text + UNKNOWN, enough=False, cluster=cluster.name
            )
        return self._trials.judged(Change.CLUSTER, world, text, cluster=cluster.name)
