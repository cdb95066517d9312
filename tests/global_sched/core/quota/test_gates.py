"""Gates before room and amounts are looked at."""

from dataclasses import replace

import pytest

from global_sched.core.quota.gates import Gates
from global_sched.core.quota.tree import QueueTree
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Claim, ClaimPart, Decision, Leaver
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division
from tests.builders import NOW, queue, resources, snapshot, tenant, workload

PLAIN = queue("q")
BROKEN = Verdict(code=Code.WAIT, reason=Reason.INVALID_SPEC, missing=1)


def under(parent, one):
    return replace(one, parent=QueueName(parent))


def gates(queues, tenants=(), pending=()):
    world = snapshot(queues=queues, tenants=tenants, pending=pending)
    return Gates(world, QueueTree(world.queues))


@pytest.mark.parametrize(
    ("queues", "tenants", "one", "want"),
    [
        pytest.param([PLAIN], [], workload("j", queue="q"), None, id="nothing"),
        pytest.param(
            [PLAIN],
            [],
            replace(workload("j", queue="q"), problem=BROKEN),
            Reason.INVALID_SPEC,
            id="its own problem",
        ),
        pytest.param([], [], workload("j", queue="q"), Reason.QUEUE_MISSING, id="no such queue"),
        pytest.param(
            [queue("q", problem="it is its own parent")],
            [],
            workload("j", queue="q"),
            Reason.QUEUE_INVALID,
            id="a frozen queue",
        ),
        pytest.param(
            [PLAIN, under("q", queue("below"))],
            [],
            workload("j", queue="q"),
            Reason.QUEUE_NOT_LEAF,
            id="a queue that has others below it",
        ),
        pytest.param(
            [queue("q", is_open=False)],
            [],
            workload("j", queue="q"),
            Reason.QUEUE_CLOSED,
            id="a closed queue",
        ),
        pytest.param(
            [queue("up", is_open=False), under("up", queue("q"))],
            [],
            workload("j", queue="q"),
            Reason.QUEUE_CLOSED,
            id="a queue below a closed one",
        ),
        pytest.param(
            [PLAIN],
            [tenant("t", queues=["other"])],
            workload("j", queue="q", tenant="t"),
            Reason.QUEUE_NOT_ALLOWED,
            id="a tenant that may not use the queue",
        ),
        pytest.param(
            [],
            [],
            workload("j", queue="q", division=Division.COPIED),
            None,
            id="copies of an object pass all gates",
        ),
    ],
)
def test_who_is_refused_before_any_cluster_is_asked(queues, tenants, one, want):
    """By itself, by its queue or those above, by its tenant."""
    found = gates(queues, tenants).refusal(one)

    assert (found.reason if found is not None else None) == want


@pytest.mark.parametrize(
    ("queues", "tenants", "pods", "want"),
    [
        pytest.param([queue("q", gpus=4)], [], 4, True, id="as large as the queue may be"),
        pytest.param([queue("q", gpus=4)], [], 5, False, id="larger than the queue may be"),
        pytest.param(
            [queue("up", gpus=4), under("up", queue("q"))],
            [],
            5,
            False,
            id="larger than a queue above may be",
        ),
        pytest.param(
            [PLAIN],
            [replace(tenant("t"), limits=resources(gpus=4))],
            5,
            False,
            id="larger than the tenant may be",
        ),
        pytest.param([PLAIN], [], 500, True, id="no limits"),
    ],
)
def test_whose_minimum_is_within_the_limits(queues, tenants, pods, want):
    """In empty queues. Surplus may be cut, and so does not count."""
    one = workload("j", queue="q", tenant="t", gpus=1, pods=pods)

    assert gates(queues, tenants).within(QueueName("q"), TenantName("t"), one.demand) is want


def test_the_oldest_may_wait_beside_a_limit():
    """Those beyond the tenant's limit of waiting workloads are the youngest."""
    jobs = [workload(f"j{n}", queue="q", tenant="t", created=n) for n in (3, 1, 2)]

    found = gates([PLAIN], [replace(tenant("t"), pending_limit=2)], jobs)

    assert found.beyond_pending_limit == {jobs[0].key: 2}
    refused = found.refusal(jobs[0])
    assert refused.reason == Reason.TENANT_PENDING_LIMIT
    assert refused.detail == "tenant t may have 2 pending, and it has 2 older pending workloads"
    assert found.refusal(jobs[1]) is None


def test_who_made_others_leave_stays_within_the_limit():
    """Its victims are older and wait, too: they would put it beyond the limit, and come back."""
    victim = workload("victim", queue="q", tenant="t", created=1)
    leaver = Leaver(binding=victim.binding_id, amounts=Amounts())
    claim = Claim(
        parts=(ClaimPart(cluster=ClusterName("c1"), amounts=Amounts()),),
        since=NOW,
        until=NOW,
        victims=(leaver,),
    )
    claimant = workload("claimant", queue="q", tenant="t", created=2)
    claimant = replace(claimant, decision=Decision(id="x", at=NOW, epoch=1, order=0, claim=claim))

    found = gates([PLAIN], [replace(tenant("t"), pending_limit=1)], [victim, claimant])

    assert found.beyond_pending_limit == {victim.key: 1}


def test_a_tenant_without_an_object_has_the_defaults():
    """And is the same whenever it is asked for."""
    found = gates([Queue(name=QueueName("q"))])

    assert found.tenant(TenantName("t")) is found.tenant(TenantName("t"))
    assert found.tenant(TenantName("t")).weight == 1


def test_many_queues_below():
    """A few are named, and that there are more."""
    below = [replace(queue(f"e{n}"), parent=QueueName("org")) for n in range(4)]

    found = gates([queue("org"), *below]).shut(QueueName("org"), TenantName("t"))

    assert found.detail == (
        "queue org has queues below it (e0, e1, e2, …); name one that has none below it"
    )
