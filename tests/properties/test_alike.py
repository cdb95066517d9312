"""Copies of a Job that wait share how their turns end; the plan is that of asking each one."""

from dataclasses import replace
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from global_sched.core import cycle, run_cycle
from global_sched.core.place.alike import EarlierTurns, refuse_alike
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.values import to_json
from global_sched.shared.model.workload import Demand, Reported
from tests.builders import workload
from tests.deep import examples
from tests.properties.test_reclaim import COMMON, LEAVES, towns

REASONS = (None,) * 6 + (Reason.SEARCH_DEFERRED, Reason.CAPACITY_DOES_NOT_FIT)


@st.composite
def copies(draw, name):
    """A Job some times over, most of them with nothing of their own."""
    pods = draw(st.integers(1, 3))
    first = workload(
        name,
        cpu=draw(st.sampled_from((1, 2))),
        pods=pods,
        minimum=draw(st.sampled_from((pods, pods, 1))),
        queue=draw(st.sampled_from(LEAVES)),
        tenant=draw(st.sampled_from(("t1", "t2"))),
        priority=draw(st.sampled_from((0, 10))),
    )
    return [
        replace(
            workload(f"{name}{at}", created=draw(st.sampled_from((0, 0, 3, 8)))),
            demand=first.demand,
            queue=first.queue,
            tenant=draw(st.sampled_from((first.tenant,) * 5 + (TenantName("t3"),))),
            priority=draw(st.sampled_from((first.priority,) * 5 + (5,))),
            run_limit=draw(st.sampled_from((None,) * 6 + (60,))),
            group=draw(st.sampled_from(("",) * 12 + ("g",))),
            reported=Reported(reason=draw(st.sampled_from(REASONS))),
        )
        for at in range(draw(st.integers(2, 8)))
    ]


policies = st.builds(
    Policy,
    patience_seconds=st.sampled_from((0, 5, 15)),
    reservations=st.integers(0, 2),
    searches_per_cycle=st.integers(0, 3),
    admissions_per_cycle=st.sampled_from((2, 1000)),
    ageing_period_seconds=st.sampled_from((0, 5)),
    ageing_step=st.just(3),
    ageing_limit=st.just(12),
)


def _limited(snapshot, limit):
    tenants = tuple(replace(one, pending_limit=limit) for one in snapshot.tenants)
    return replace(snapshot, tenants=tenants)


def _shared(town, known):
    """Equal demands are one object, as the cache makes them."""
    for key, one in town.workloads.items():
        demand: Demand = known.setdefault(one.demand, one.demand)
        town.workloads[key] = replace(one, demand=demand)


@settings(COMMON, max_examples=examples(30))  # twice four cycles each
@given(towns(), policies, copies("a"), copies("b"), st.data())
def test_together_or_one_by_one(town, policy, first, second, data):
    """Searches, reservations, limits on what waits and ageing tell the same to each of them."""
    town.add(*first, *second)
    _shared(town, {})
    refused = []

    def counted(workload, line, statement):
        before = len(statement.outcomes)
        refuse_alike(workload, line, statement)
        refused.append(len(statement.outcomes) - before)

    shared, again = [], EarlierTurns.again

    def noted(turns, *words):
        level = again(turns, *words)
        shared.append(level is not None)
        return level

    for _ in range(4):
        snapshot = _limited(town.snapshot(), data.draw(st.sampled_from((None, 0, 2))))
        with (
            patch.object(cycle, "refuse_alike", counted),
            patch.object(EarlierTurns, "again", noted),
        ):
            together = run_cycle(snapshot, policy, town.now)
        with (
            patch.object(cycle, "refuse_alike", lambda *_: None),
            patch.object(EarlierTurns, "again", lambda *_: None),
        ):
            alone = run_cycle(snapshot, policy, town.now)
        assert to_json(together) == to_json(alone)
        town.execute(together)
        town.now = Instant(town.now + 10 * SECOND)
    event(f"refused with others: {min(sum(refused), 10)}")
    event(f"turns that end as an earlier one: {min(sum(shared), 10)}")
