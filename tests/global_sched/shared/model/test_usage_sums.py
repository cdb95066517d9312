"""Usage summed up by queue and tenant: whole sums, and sums that follow changes."""

import pytest

from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue import Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.usage_sums import Summed, UsageSums, summed


def usage(queue, tenant, cluster, cpu):
    return Usage(
        queue=QueueName(queue),
        tenant=TenantName(tenant),
        cluster=ClusterName(cluster),
        amount=Resources.of({"cpu": cpu}),
    )


def cpus(found):
    """In all and by part."""
    return found.amount.get("cpu"), {name: part.get("cpu") for name, part in found.parts.items()}


ONE = (usage("a", "t", "m", 1), usage("a", "t", "n", 2), usage("a", "u", "m", 4))


def test_what_is_summed():
    """A queue by its tenants, a tenant by its clusters."""
    found = summed((*ONE, usage("b", "t", "m", 8)))

    assert {name: cpus(one) for name, one in found.queues.items()} == {
        "a": (7, {"t": 3, "u": 4}),
        "b": (8, {"t": 8}),
    }
    assert {name: cpus(one) for name, one in found.tenants.items()} == {
        "t": (11, {"m": 9, "n": 2}),
        "u": (4, {"m": 4}),
    }


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param([(ONE[0], usage("a", "t", "m", 5))], (*ONE[1:], usage("a", "t", "m", 5)),
                     id="another amount"),
        pytest.param([(ONE[2], None)], ONE[:2], id="one that is gone"),
        pytest.param([(None, usage("b", "v", "m", 3))], (*ONE, usage("b", "v", "m", 3)),
                     id="one that is new"),
        pytest.param([(one, None) for one in ONE], (), id="all gone"),
        pytest.param([], ONE, id="none"),
    ],
)  # fmt: skip
def test_sums_follow_changes(changes, want):
    """They are what adding everything anew would give; nothing of the sums before changes."""
    before = summed(ONE)

    found = before.changed(changes)

    assert found == summed(want)
    assert before == summed(ONE)


def test_what_does_not_change_is_the_same_object():
    """So a cycle after a small change copies little."""
    before = summed((*ONE, usage("b", "v", "m", 8)))

    after = before.changed([(ONE[2], None)])

    assert after.queues[QueueName("b")] is before.queues[QueueName("b")]
    assert after.tenants[TenantName("v")] is before.tenants[TenantName("v")]
    assert UsageSums().queues.get(QueueName("a"), Summed()).amount == Resources()
