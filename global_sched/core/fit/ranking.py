"""The best of the clusters that fit a workload, by the weighted sums of all scores."""

from collections.abc import Iterable

import numpy as np

from global_sched.core.fit.plugins import (
    CHOICE_SCORES,
    TENANT_SCORES,
    WORKLOAD_SCORES,
    WeightedScore,
)
from global_sched.core.fit.rooms import Ask, Ints, Mask, Rooms
from global_sched.core.quota.ledger import Ledger
from global_sched.core.view import CycleView
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import ClusterName, TenantName
from global_sched.shared.model.workload import Workload


class Ranking:
    """Scores by cluster position; what a tenant's depend on is followed as it changes."""

    def __init__(self, view: CycleView, rooms: Rooms, ledger: Ledger) -> None:
        self._view, self._rooms, self._ledger = view, rooms, ledger
        weights = view.policy.score_weights
        self._choice = WeightedScore(CHOICE_SCORES, weights)
        self._tenant = WeightedScore(TENANT_SCORES, weights)
        self._local = WeightedScore(WORKLOAD_SCORES, weights)
        self._tenant_scores: dict[TenantName, Ints] = {}

    def scores(self, workload: Workload, ask: Ask, fits: Mask) -> Ints:
        """The weighted sums by cluster position, valid where the ask just fitted."""
        scores: Ints = ask.base + self.balance(workload)
        if ask.evenness is not None:
            scores += self.shape(workload, ask, fits)
        for target in workload.targets:
            at = self._rooms.position.get(target.cluster)
            if at is not None:
                scores[at] += self.local(workload, self._rooms.rooms[at].cluster)
        return scores

    def shape(self, workload: Workload, ask: Ask, fits: Mask) -> Ints:
        """The weighted scores that compare the clusters which fit, by cluster position."""
        found = np.zeros(len(fits), dtype=np.int64)
        if ask.evenness is not None and not workload.targets:
            found += self._choice.of(ask.evenness, fits)
        return found

    def place_score(self, workload: Workload, cluster: Cluster) -> int:
        """The weighted sum of the scores that depend on tenant and workload, in one cluster."""
        at = self._rooms.position[cluster.name]
        return int(self.balance(workload)[at]) + self.local(workload, cluster)

    def local(self, workload: Workload, cluster: Cluster) -> int:
        """The weighted scores that depend on the one workload, in one cluster."""
        return int(self._local.of(workload, cluster, self._view))

    def ranked(self, workload: Workload, ask: Ask, fits: Mask) -> list[tuple[int, int]]:
        """The fitting clusters as (position, score), best first, ties by name."""
        scores = self.scores(workload, ask, fits)
        found = [(at, int(scores[at])) for at in np.flatnonzero(fits).tolist()]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def best(self, workload: Workload, ask: Ask, fits: Mask) -> tuple[int, int] | None:
        """The best fitting cluster as (position, score); None when none fits."""
        if not len(fits):
            return None
        scores = np.where(fits, self.scores(workload, ask, fits), -1)
        at = int(scores.argmax())
        return (at, int(scores[at])) if fits[at] else None

    def balance(self, workload: Workload) -> Ints:
        """The weighted scores that depend on what the tenant holds, by cluster position."""
        scores = self._tenant_scores.get(workload.tenant)
        moved: Iterable[ClusterName] = self._ledger.moved(workload.tenant)
        rooms, view = self._rooms, self._view
        if scores is None:
            scores = np.full(len(rooms.rooms), self._tenant.best(), dtype=np.int64)
            self._tenant_scores[workload.tenant] = scores
            moved = self._ledger.places(workload.tenant)
        for name in moved:
            at = rooms.position.get(name)
            if at is None:
                continue
            scores[at] = self._tenant.of(workload, rooms.rooms[at].cluster, view)
        return scores
