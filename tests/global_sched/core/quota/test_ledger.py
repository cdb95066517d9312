"""Held amounts, however they came to be held, and the order that they move."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from global_sched.core.fit.plugins import TENANT_SCORES
from global_sched.core.fit.scores import BEST
from global_sched.core.order.keys import MOVING, WORKLOAD_ORDER
from global_sched.core.order.leaf_order import fixed_keys
from global_sched.core.quota.ledger import Charge, Ledger
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue import Queue, Usage
from global_sched.shared.model.resources import Resources
from tests.builders import NOW, POLICY, cluster, queue, snapshot, workload

CPU, GPU = "cpu", "nvidia.com/gpu"
QUEUES = (
    Queue(name=QueueName("top"), guarantee=((CPU, 4),)),
    Queue(
        name=QueueName("left"),
        parent=QueueName("top"),
        guarantee=((CPU, 3),),
        cluster_capability=((ClusterName("c1"), ((CPU, 50),)),),
    ),
    Queue(name=QueueName("right"), parent=QueueName("top")),
)

usages = st.builds(
    Usage,
    queue=st.sampled_from(("left", "right", "gone")),
    tenant=st.sampled_from(("t1", "t2")),
    cluster=st.sampled_from(("c1", "c2")),
    amount=st.fixed_dictionaries({CPU: st.integers(1, 9), GPU: st.integers(0, 3)}).map(
        Resources.of
    ),
)


def _all_of(ledger):
    """Everything that it says of amounts."""
    nodes = {
        name: (
            Resources.of(node.held),
            {place: Resources.of(held) for place, held in node.cluster_held.items() if any(held)},
            Resources.of(node.inner),
            Resources.of(node.occupied),
        )
        for name, node in ledger.tree.nodes.items()
    }
    tenants = [
        (
            Resources.of(ledger.tenant_held(name)),
            [Resources.of(ledger.held(name, place)) for place in ("c1", "c2")],
            [ledger.tenant_share_in(one.name, name) for one in QUEUES],
            ledger.tenant_share(name),
        )
        for name in (TenantName("t1"), TenantName("t2"))
    ]
    return nodes, tenants


@given(st.lists(usages, max_size=8))
def test_what_is_held_at_the_start_is_as_if_it_was_charged(found):
    """In the queues and all above them, by cluster, and for the tenants."""
    clusters = [cluster("c1"), cluster("c2")]
    world = snapshot(clusters, queues=QUEUES)
    charged = Ledger(world)
    for one in found:
        charged.charge(Charge(one.queue, one.tenant, one.cluster, one.amount))

    assert _all_of(Ledger(replace(world, usage=tuple(found)))) == _all_of(charged)


def test_only_the_moving_rules_see_what_is_held():
    """And those say the same of all workloads of one tenant in one queue."""
    jobs = [workload("a", queue="q", priority=3), workload("b", queue="q", priority=1)]
    world = snapshot([cluster("c1")], queues=[queue("q")], pending=jobs)
    statement = Statement(world, POLICY, NOW)
    before = list(fixed_keys(jobs, statement))
    moving = [WORKLOAD_ORDER[name] for name in sorted(MOVING)]
    shares = [[rule(one, statement) for rule in moving] for one in jobs]

    statement.charge(jobs[0], ClusterName("c1"), Resources.of({CPU: 1000}))

    assert list(fixed_keys(jobs, statement)) == before
    after = [[rule(one, statement) for rule in moving] for one in jobs]
    assert all(one == other for one, other in pairwise(after))
    assert all(new > old for new, old in zip(after[0], shares[0], strict=True))


def test_a_tenant_that_holds_nothing_is_best_balanced():
    """Its scores start there, in every cluster, before any is worked out."""
    job = workload("a")
    world = snapshot([cluster("c1")], pending=[job])
    statement = Statement(world, POLICY, NOW)
    assert [s(job, world.clusters[0], statement) for s in TENANT_SCORES.values()] == [BEST]
