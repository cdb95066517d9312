"""Requests that no change of room mends: pods larger than any node, gangs than any cluster.

Judged over the whole federation, and only while every cluster says how large its nodes are: one
that does not may have anything. A bound from above: nodes that are cordoned or not ready count as
if each were the largest. So what is called impossible is so until nodes join.
"""

from collections.abc import Sequence

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.words import in_ranges

_Most = dict[str, tuple[int, list[ClusterName]]]
"""By resource the most that there is of it, and in which clusters."""


class Sizes:
    """The largest node and the largest cluster of a federation, by resource."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._known = bool(clusters) and all(
            one.capacity is not None and one.capacity.largest is not None for one in clusters
        )
        self._node: _Most = {}
        self._cluster: _Most = {}
        for one in clusters if self._known else ():
            capacity = one.capacity
            assert capacity is not None
            for name, amount in capacity.largest or ():
                _note(self._node, name, amount, one.name)
                whole = capacity.total.get(name) + capacity.missing * amount
                _note(self._cluster, name, whole, one.name)

    def largest(self) -> dict[str, int]:
        """Of each resource the most that any node has; empty where that is not known."""
        return {name: most for name, (most, _) in self._node.items()}

    def beyond(self, gang: Gang, minimum: Amounts) -> str:
        """What of these pods the federation does not have, in a sentence; empty where it may."""
        if not self._known:
            return ""
        for pod_set in gang.pod_sets:
            if not minimum.get(pod_set.name):
                continue
            for name, amount in pod_set.shape.requests.entries:
                most, where = self._node.get(name, (0, []))
                if amount > most and name != PODS:
                    asked, has = format_quantity(amount, name), format_quantity(most, name)
                    return (
                        f"a pod of {pod_set.name} asks for {name} {asked}, and no node of the "
                        f"federation has as much: {_largest(has, where)}"
                    )
        for name, amount in gang.requests(minimum).entries:
            most, where = self._cluster.get(name, (0, []))
            if amount > most:
                asked, has = format_quantity(amount, name), format_quantity(most, name)
                return (
                    f"{counted(minimum.pods(), 'pod')} that start together ask for {name} {asked}, "
                    f"and no cluster has as much: {_largest(has, where)}"
                )
        return ""


def _note(found: _Most, name: str, amount: int, cluster: ClusterName) -> None:
    most, where = found.get(name, (-1, []))
    if amount > most:
        found[name] = amount, [cluster]
    elif amount == most:
        where.append(cluster)


def _largest(has: str, where: Sequence[ClusterName]) -> str:
    return f"the largest has {has} (in {in_ranges(where)})" if where else "none has any"
