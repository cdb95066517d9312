"""NODECOUNT of HyperNodes in `kubectl get`."""

import asyncio

from global_sched.shared.api.resource import HYPER_NODES, NODES
from tests.global_sched.embedded.members.member_world import member
from tests.virtual_time import virtual_time


async def counts(looker):
    """The counts once everything was looked at."""
    await asyncio.sleep(2)
    items = (await looker.client.list(HYPER_NODES)).items
    return {one["metadata"]["name"]: one.get("status", {}).get("nodeCount") for one in items}


def matching(name, **selector):
    """A HyperNode whose only member is a selector of nodes."""
    members = [{"type": "Node", "selector": selector}]
    return {
        "apiVersion": HYPER_NODES.api_version,
        "kind": HYPER_NODES.kind,
        "metadata": {"name": name},
        "spec": {"tier": 1, "members": members},
    }


@virtual_time
async def test_node_counts():
    """Nodes that a HyperNode lists itself and that exist, by every selector; parents have none."""
    async with member() as looker:
        await looker.client.create(
            HYPER_NODES, matching("by-pattern", regexMatch={"pattern": "^m1-.-0$"})
        )
        await looker.client.create(
            HYPER_NODES, matching("by-label", labelMatch={"matchLabels": {"zone": "z"}})
        )
        await looker.client.create(HYPER_NODES, matching("unreadable", regexMatch={"pattern": "("}))
        first = await counts(looker)
        await looker.client.delete(NODES, "m1-0-1")
        await looker.client.patch(NODES, "m1-1-1", {"metadata": {"labels": {"zone": "z"}}})
        second = await counts(looker)

    assert first == {
        "m1-0": 2,
        "m1-1": 2,
        "m1-spine": 0,
        "by-pattern": 2,
        "by-label": 0,
        "unreadable": None,
    }
    assert second == first | {"m1-0": 1, "by-label": 1}
