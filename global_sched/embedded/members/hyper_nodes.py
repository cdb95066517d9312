"""`status.nodeCount` of HyperNodes, as Volcano's controller writes it where Volcano runs."""

from collections.abc import Mapping
from typing import Final

import msgspec

from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.members.cluster import Cluster
from global_sched.propagation.fields import Obj, get, name_of
from global_sched.shared.api.resource import HYPER_NODES, NODES
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.placement.tree.member_selectors import MemberError, MemberResolver

_DELAY: Final = 0.5
"""Seconds in which changes are collected: nodes come in hundreds."""
_ALL: Final = "all"


class HyperNodeCounts:
    """Counts the nodes that each HyperNode lists itself; a parent of HyperNodes has none.

    Source:  Volcano's HyperNode API: the count is of direct members.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.loop: Loop[str] = Loop("hypernodes", self._count, clock=cluster.clock, workers=1)
        cluster.mirrors[NODES].listen(self._node_changed)
        cluster.mirrors[HYPER_NODES].listen(self._hyper_node_changed)

    def _node_changed(self, old: Obj | None, new: Obj | None) -> None:
        """A heartbeat changes no count; what comes, goes or has other labels may."""
        if old is None or new is None or _labels(old) != _labels(new):
            self.loop.add_after(_ALL, _DELAY)

    def _hyper_node_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None and (old is None or old.get("spec") != new.get("spec")):
            self.loop.add_after(_ALL, _DELAY)

    async def _count(self, _all: str) -> None:
        known = self._cluster.mirrors[NODES].all()
        nodes: dict[str, Mapping[str, str]] = {name_of(one): _labels(one) for one in known}
        resolver = MemberResolver(nodes)
        for obj in self._cluster.mirrors[HYPER_NODES].all():
            try:
                listed = resolver.resolve(msgspec.convert(obj, HyperNode))
            except (MemberError, msgspec.ValidationError):
                continue  # their number of nodes is unknown
            status = {**(obj.get("status") or {}), "nodeCount": len(listed.nodes)}
            await self._cluster.write_status(HYPER_NODES, obj, status)


def _labels(node: Obj) -> dict[str, str]:
    return dict(get(node, "metadata", "labels") or {})
