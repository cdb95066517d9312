"""Past usage of tenants: how it orders them, and when it has to be written."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, renewed, run_cycle
from global_sched.core.quota.past_usage import RECORD_SECONDS
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.past import FINE, Past
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from tests.builders import GPU, NOW, POLICY, cluster, ids, snapshot, tenant, workload

HOUR = 3600
FORGETS = replace(POLICY, usage_half_life_seconds=HOUR)
ROOM = [cluster("c1", nodes=4, gpus=8)]


def past(name, gpus, *, held=0, hours=0, where="default"):
    """So many GPUs on average until so many hours ago, and `held` since."""
    return Past(
        queue=QueueName(where),
        tenant=TenantName(name),
        at=Instant(NOW - hours * HOUR * SECOND),
        held=Resources.of({GPU: held}),
        average=Resources.of({GPU: int(gpus * FINE)}),
    )


def world(*records, running=(), tenants=None):
    """One job each of a (the older one) and b waits."""
    found = snapshot(
        ROOM,
        tenants=tenants or [tenant("a"), tenant("b")],
        running=running,
        pending=[workload("a1", tenant="a"), workload("b1", tenant="b", created=5)],
    )
    return replace(found, past=tuple(sorted(records)))


@pytest.mark.parametrize(
    ("records", "policy", "want"),
    [
        pytest.param([], FORGETS, ["a1", "b1"], id="without a past the older one goes first"),
        pytest.param([past("a", 1)], FORGETS, ["b1", "a1"], id="whoever held less goes first"),
        pytest.param([past("a", 1)], POLICY, ["a1", "b1"], id="off, the past is nothing"),
        pytest.param(
            [past("a", 8, hours=3), past("b", 2, hours=1)],
            FORGETS,
            ["a1", "b1"],
            id="8 three hours ago is as much as 2 one hour ago: a tie, and the older one",
        ),
        pytest.param(
            [past("a", 8, hours=3), past("b", 1.999, hours=1)],
            FORGETS,
            ["b1", "a1"],
            id="and a thousandth less goes first",
        ),
        pytest.param(
            [past("a", 0, held=2, hours=1), past("b", 1.001)],
            FORGETS,
            ["a1", "b1"],
            id="what is held since the record counts as well: 2 for an hour are 1",
        ),
        pytest.param(
            [past("a", 9)],
            replace(FORGETS, usage_weight_percent=0),
            ["a1", "b1"],
            id="a weight of 0 lets nothing count",
        ),
        pytest.param(
            [past("a", 3, where="other"), past("b", 2, where="other")],
            FORGETS,
            ["b1", "a1"],
            id="other queues count for the federation's share",
        ),
        pytest.param(
            [past("a", 9, where="other"), past("b", 1)],
            FORGETS,
            ["a1", "b1"],
            id="but the queue's own share goes before",
        ),
    ],
)
def test_order(records, policy, want):
    """Inside a queue: what is held, and the average of what was."""
    assert ids(run_cycle(world(*records), policy, NOW).outcomes) == want


def test_weights_and_what_is_held():
    """Holding 2 equals having held 4 at half the weight; a tenant's weight divides the sum."""
    running = [workload("r", tenant="a", gpus=2, on="c1")]
    half = replace(FORGETS, usage_weight_percent=50)

    tie = world(past("b", 4), running=running)
    more = world(past("b", 4.1), running=running)
    weighted = world(past("b", 4.1), running=running, tenants=[tenant("a"), tenant("b", weight=2)])

    firsts = [ids(run_cycle(one, half, NOW).outcomes)[0] for one in (tie, more, weighted)]
    assert firsts == ["a1", "a1", "b1"]
    assert ids(run_cycle(world(past("b", 3.9), running=running), half, NOW).outcomes)[0] == "b1"


def test_explained():
    """`explain` says what the tenant held on average, as of now."""
    found = explain_workload(world(past("a", 8, hours=1)), FORGETS, NOW, workload("a1").key)

    assert found.tenant.past == Resources.of({GPU: 4})


def test_first_record():
    """What is held is noted with no past yet; queues without usage are not."""
    found = world(running=[workload("r", tenant="a", gpus=2, on="c1")])
    held = next(one.amount for one in found.usage)

    assert renewed(found, FORGETS, NOW) == {
        QueueName("default"): (
            Past(queue=QueueName("default"), tenant=TenantName("a"), at=NOW, held=held),
        )
    }


def test_settled():
    """While what is held stays the same nothing is written, however long that is."""
    found = world(running=[workload("r", tenant="a", gpus=2, on="c1")])
    found = replace(found, past=renewed(found, FORGETS, NOW)[QueueName("default")])

    for years in (0, 1, 100):
        later = Instant(NOW + years * 365 * 24 * HOUR * SECOND)
        assert renewed(found, FORGETS, later) == {}


def test_change():
    """The average so far is written with what is held from now on, at most once a minute."""
    before = past("a", 8, held=4, hours=1)
    found = world(before)

    (record,) = renewed(found, FORGETS, NOW)[QueueName("default")]

    assert record == replace(
        before, at=NOW, held=Resources(), average=Resources.of({GPU: 6 * FINE})
    )
    fresh = replace(found, past=(replace(before, at=NOW),))
    soon = Instant(NOW + (RECORD_SECONDS - 1) * SECOND)
    assert renewed(fresh, FORGETS, soon) == {}
    assert renewed(fresh, FORGETS, Instant(soon + SECOND)).keys() == {QueueName("default")}


def test_forgotten():
    """A tenant without usage and average is left out; without any tenant, the record."""
    old = [past("gone", 8, hours=60), past("a", 0, held=1, hours=60)]

    (record,) = renewed(world(*old), FORGETS, NOW)[QueueName("default")]
    assert record.tenant == "a"
    assert renewed(world(*old), POLICY, NOW) == {QueueName("default"): ()}


def test_a_queue_that_is_gone():
    """Nothing is written on a queue that is not there."""
    found = replace(world(past("a", 8, held=4, where="lost")), queues=(Queue(name=QueueName("x")),))

    assert renewed(found, FORGETS, NOW) == {}
