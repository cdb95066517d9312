"""Every choice of a cluster against the plain way: each cluster asked afresh, scored by numbers."""

from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, event, given, settings

from global_sched.core import run_cycle
from global_sched.core.fit.plugins import CLUSTER_SCORES
from global_sched.core.fit.ranking import Ranking
from global_sched.core.fit.scores import NO_TIER, ScoreInput, fill_of
from global_sched.shared.model.policy import Policy
from global_sched.shared.placement import Placed, Space
from tests.builders import NOW, POLICY, cluster, snapshot, workload
from tests.deep import examples
from tests.strategies import worlds

LIMIT = Policy().placement_search_limit


def by_hand(ask, rooms, view, at):
    """The score that depends on room, of a Space made for this; None where it does not fit."""
    room, gang = rooms.rooms[at], ask.gang
    space = Space(room.space.remaining(), search_limit=LIMIT)
    found = space.place(gang, amounts=ask.wanted, minimum=ask.minimum)
    if not isinstance(found, Placed):
        return None
    whole = ask.wanted == gang.all_amounts() and ask.minimum == gang.minimum_amounts()
    seen = space.glance(gang) if whole else None
    tier, holds = found.tier, space.holds(gang, found.domain)
    if seen is not None:
        tier, holds = seen.tier, seen.holds
    level = None if gang.constraint is None else NO_TIER if tier is None else tier
    fill = fill_of(gang.requests(ask.minimum), room.total)
    free = space.free().get(fill.resource)
    subject = ScoreInput(level, ask.wanted.pods(), holds, fill, free)
    weights = view.policy.score_weights
    return sum(
        getattr(weights, name) * int(score(subject, view)) for name, score in CLUSTER_SCORES.items()
    )


def compared_by_hand(workload, ask, rooms, view, scores):
    """Add what the shape says: the same fifth of leeway for every cluster that fits."""
    if workload.targets or ask.gang.constraint is not None or not scores:
        return
    requests = ask.gang.requests(ask.minimum)
    each = {at: fill_of(requests, room.total).evenness for at, room in enumerate(rooms.rooms)}
    if all(5 * one >= 4 * max(each.values()) for one in each.values()):
        return
    best = max(each[at] for at in scores)
    for at in scores:
        alike = 5 * each[at] >= 4 * best
        event(f"goes with the shape: {alike}")
        scores[at] += 100 * view.policy.score_weights.shape * alike


@settings(
    deadline=None,
    max_examples=examples(30),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(worlds())
def test_every_choice_is_what_asking_each_cluster_would_say(world):
    """Whether a cluster fits, what it scores, and which one is best; ties end in the name."""
    chosen = Ranking.best

    def checked(self, workload, ask, fits):
        rooms, view = self._rooms, self._view
        scores = {}
        for at in range(len(rooms.rooms)):
            if ask.seen[at] != rooms.versions[at]:
                assert not fits[at]
                continue
            said = by_hand(ask, rooms, view, at)
            assert bool(ask.may[at]) == (said is not None)
            if fits[at]:
                assert int(ask.base[at]) == said
                scores[at] = said + self.place_score(workload, rooms.rooms[at].cluster)
        compared_by_hand(workload, ask, rooms, view, scores)
        best = chosen(self, workload, ask, fits)
        want = min(scores.items(), key=lambda one: (-one[1], one[0]), default=None)
        event(f"{len(scores)} clusters fit")
        assert best == want
        return best

    with patch.object(Ranking, "best", checked):
        run_cycle(world, POLICY, NOW)


def test_the_check_sees_a_wrong_score():
    """A base score that is off by one is noticed: the comparison above can fail."""
    seen = []

    def spoiled(self, workload, ask, fits):
        ask.base = ask.base + np.int64(1)
        rooms, view = self._rooms, self._view
        at = int(np.flatnonzero(fits)[0])
        seen.append((int(ask.base[at]), by_hand(ask, rooms, view, at)))
        return at, 0

    with patch.object(Ranking, "best", spoiled):
        run_cycle(one_job(), POLICY, NOW)
    assert seen
    assert all(said != want for said, want in seen)


def one_job():
    """A cluster, and a job that fits."""
    return snapshot([cluster("c1", gpus=4)], pending=[workload("a", gpus=1)])
