"""PodGroups of a member, placed by the agent's own round over its own cache."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of, used_by
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.world import (
    Amount,
    ClusterSpec,
    GroupPodSpec,
    GroupSpec,
    TopologySpec,
)
from global_sched.shared.api import names
from global_sched.shared.api.core import Node, Pod
from global_sched.shared.api.volcano import HyperNode, PodGroup
from member_agent.cache import ClusterCache, units_of
from member_agent.scheduler.plan.outcome import Situation
from member_agent.scheduler.plan.round import plan_round

_ROUNDS: Final = 50
"""An agent that still finds something to bind after so many rounds never stops."""

Obj = dict[str, Any]


class UnsettledError(Exception):
    """The agent never becomes idle."""


class ShippedAgents:
    """What the agent does with PodGroups, round after round until it is idle."""

    def __init__(self) -> None:
        self.unproven = 0
        """Answers that the search limit ended before they were certain."""

    def bind(
        self, cluster: ClusterSpec, groups: Sequence[GroupSpec], read: Read
    ) -> Mapping[str, PodLocations]:
        """By `namespace/name`: where the waiting pods of each PodGroup were bound, and why not.

        Raises:  UnsettledError.
        """
        cache = filled(cluster, groups, read)
        situation, reasons = Situation(), dict[str, str]()
        for _ in range(_ROUNDS):
            done = plan_round(cache, units_of(cache, frozenset({names.AGENT_SCHEDULER})), situation)
            self.unproven += done.unproven
            reasons = {pod.uid: wait.reason for wait in done.waits for pod in wait.pods}
            for placement in done.placements:
                for pod, node in placement.nodes:
                    cache.assume(pod.uid, node)
            situation = Situation(reservations=done.reservations, reached=done.reached)
            if not done.placements:
                break
        else:
            raise UnsettledError(f"the agent is not idle after {_ROUNDS} rounds")
        return {_key(group): _lies(cache, group, reasons) for group in groups}


def parsed_tree(
    cluster: ClusterSpec, read: Read
) -> tuple[list[HyperNode], dict[str, dict[str, str]]]:
    """The HyperNodes of a cluster, and the labels of its nodes: what makes a tree."""
    nodes = [msgspec.convert(one, Node) for one in nodes_of(cluster, read)]
    hyper_nodes = [msgspec.convert(one, HyperNode) for one in hyper_nodes_of(cluster, read)]
    return hyper_nodes, {one.metadata.name: dict(one.metadata.labels or {}) for one in nodes}


def filled(cluster: ClusterSpec, groups: Sequence[GroupSpec], read: Read) -> ClusterCache:
    """The cache of an agent that has seen all objects of the cluster."""
    cache = ClusterCache(cluster.name)
    for one in nodes_of(cluster, read):
        cache.upsert_node(msgspec.convert(one, Node))
    for one in hyper_nodes_of(cluster, read):
        cache.upsert_hyper_node(msgspec.convert(one, HyperNode))
    for node, used in used_by(cluster).items():
        cache.upsert_pod(msgspec.convert(_used_pod(node, used), Pod))
    for group in groups:
        cache.upsert_group(msgspec.convert(group_object(group), PodGroup))
        for pod in group.pods:
            cache.upsert_pod(msgspec.convert(_pod(group, pod), Pod))
    return cache


def group_object(group: GroupSpec) -> Obj:
    """The PodGroup."""
    spec: Obj = {"minMember": group.min_member}
    if group.topology is not None:
        spec["networkTopology"] = _topology(group.topology)
    if group.subgroups:
        spec["subGroupPolicy"] = [
            {
                "name": one.name,
                "labelSelector": {"matchLabels": one.selector} if one.selector else {},
                "matchLabelKeys": one.keys,
                "subGroupSize": one.size,
                "minSubGroups": one.min_groups,
                **({"networkTopology": _topology(one.topology)} if one.topology else {}),
            }
            for one in group.subgroups
        ]
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": _meta(group.namespace, group.name, "group"),
        "spec": spec,
    }


def _topology(spec: TopologySpec) -> Obj:
    found: Obj = {"mode": spec.mode}
    if spec.highest_tier_allowed is not None:
        found["highestTierAllowed"] = spec.highest_tier_allowed
    if spec.highest_tier_name:
        found["highestTierName"] = spec.highest_tier_name
    return found


def _meta(namespace: str, name: str, kind: str) -> Obj:
    return {
        "namespace": namespace,
        "name": name,
        "uid": f"{kind}-{namespace}-{name}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }


def _pod(group: GroupSpec, pod: GroupPodSpec) -> Obj:
    """One pod."""
    meta = _meta(group.namespace, pod.name, "pod")
    meta["labels"] = dict(pod.labels)
    meta["annotations"] = {names.GROUP_NAME: group.name}
    spec: Obj = {
        "schedulerName": names.AGENT_SCHEDULER,
        "containers": [_container(pod.requests)],
    }
    if pod.node:
        spec["nodeName"] = pod.node
    if pod.node_selector:
        spec["nodeSelector"] = pod.node_selector
    status = {"phase": "Running" if pod.node else "Pending"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": status}


def _used_pod(node: str, used: Amount) -> Obj:
    """A pod without an owner that holds what is used on a node already."""
    return {
        "metadata": _meta("kube-system", f"used-{node}", "pod"),
        "spec": {"nodeName": node, "containers": [_container(used)]},
        "status": {"phase": "Running"},
    }


def _container(requests: Amount) -> Obj:
    amounts = {name: str(value) for name, value in requests.items()}
    return {"name": "main", "resources": {"requests": amounts}}


def _key(group: GroupSpec) -> str:
    return f"{group.namespace}/{group.name}"


def _lies(cache: ClusterCache, group: GroupSpec, reasons: Mapping[str, str]) -> PodLocations:
    """What came out for the pods of a group that waited."""
    tree = cache.tree()
    records = {pod.name: pod for pod in cache.pods.values() if pod.namespace == group.namespace}
    waited = [records[pod.name] for pod in group.pods if not pod.node]
    late = [pod for pod in waited if not cache.node_of(pod)]
    return PodLocations(
        nodes={pod.name: cache.node_of(pod) for pod in waited if cache.node_of(pod)},
        leaf_of={name: domain for name, domain in tree.leaf_of.items() if domain is not None},
        parents={one.name: one.parent for one in tree.domains if one.parent is not None},
        waiting=len(late),
        reason=_first(reasons.get(pod.uid, "") for pod in late),
    )


def _first(texts: Iterable[str]) -> str:
    return next((text for text in texts if text), "")
