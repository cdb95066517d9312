"""A cluster of a scenario as the objects that its API server would hold.

The embedded federation creates exactly these objects, and an in-process run builds its topology
from them with the code that the agent uses.
"""

import csv
import io
from collections.abc import Callable, Iterator

from global_sched.scenario.world import (
    Amount,
    ClusterSpec,
    HostTable,
    HyperNodeSpec,
    NodesSpec,
    ScenarioError,
)

Read = Callable[[str], str]
"""Gives the text of a file that lies beside the scenario file."""

_ALLOCATABLE: Amount = {"cpu": 64, "memory": "512Gi", "pods": 110, "nvidia.com/gpu": 8}
_CREATED = "2026-01-01T00:00:00Z"


def taint(text: str, where: str) -> dict[str, str]:
    """Kubectl's `key=value:Effect` or `key:Effect` as a taint object."""
    body, _, effect = text.rpartition(":")
    key, _, value = body.partition("=")
    if not key or effect not in ("NoSchedule", "NoExecute", "PreferNoSchedule"):
        raise ScenarioError(
            f"{where}: {text!r} is not a taint; write key=value:NoSchedule (or NoExecute)"
        )
    return (
        {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
    )


def toleration(text: str, where: str) -> dict[str, str]:
    """`key=value:Effect`, `key:Effect` or `key` as a toleration object."""
    body, colon, effect = text.rpartition(":")
    if not colon:
        body, effect = text, ""
    key, equals, value = body.partition("=")
    if not key:
        raise ScenarioError(
            f"{where}: {text!r} is not a toleration; write key, or key=value:Effect"
        )
    found = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        found["value"] = value
    if effect:
        found["effect"] = effect
    return found


def nodes_of(cluster: ClusterSpec, read: Read) -> list[dict[str, object]]:
    """The Node objects of a cluster, in the file's order."""
    where = f"cluster {cluster.name}"
    nodes = [_node(name, group, where) for group in cluster.nodes for name in _names(group)]
    if cluster.hosts is not None:
        group = NodesSpec(allocatable=cluster.hosts.allocatable)
        nodes.extend(_node(row[0], group, where) for row in _hosts(cluster.hosts, read))
    return nodes


def hyper_nodes_of(cluster: ClusterSpec, read: Read) -> list[dict[str, object]]:
    """The HyperNode objects of a cluster: domains, those written out, a host table's."""
    found = []
    for name, domain in cluster.domains.items():
        members = [
            _member("Node", node) for g in cluster.nodes if g.domain == name for node in _names(g)
        ]
        members += [
            _member("HyperNode", child)
            for child, spec in cluster.domains.items()
            if spec.parent == name
        ]
        if members:
            found.append(_hyper_node(name, domain.tier, domain.tier_name, members))
    found.extend(_spelled(one) for one in cluster.hyper_nodes)
    if cluster.hosts is not None:
        found.extend(_table_domains(cluster.hosts, read))
    return found


def _spelled(spec: HyperNodeSpec) -> dict[str, object]:
    """A HyperNode whose members are written out."""
    members = [_member("Node", name) for name in spec.nodes]
    members += [_member("HyperNode", name) for name in spec.children]
    if spec.node_pattern:
        members.append({"type": "Node", "selector": {"regexMatch": {"pattern": spec.node_pattern}}})
    if spec.node_labels:
        selector = {"labelMatch": {"matchLabels": spec.node_labels}}
        members.append({"type": "Node", "selector": selector})
    return _hyper_node(spec.name, spec.tier, spec.tier_name, members)


def used_by(cluster: ClusterSpec) -> dict[str, Amount]:
    """Requests of the pods that run on each node already, by node name."""
    return {name: group.used for group in cluster.nodes if group.used for name in _names(group)}


def _names(group: NodesSpec) -> Iterator[str]:
    """The node names of a group."""
    base = group.name or group.domain or "node"
    if group.name and group.count == 1:
        yield base
        return
    yield from (f"{base}-{index}" for index in range(group.count))


def _node(name: str, group: NodesSpec, where: str) -> dict[str, object]:
    """One Node object."""
    allocatable = {k: str(v) for k, v in (_ALLOCATABLE | group.allocatable).items()}
    spec: dict[str, object] = {}
    if group.taints:
        spec["taints"] = [taint(text, f"{where}: node {name}") for text in group.taints]
    if group.cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **group.labels},
        },
        "spec": spec,
        "status": {
            "allocatable": allocatable,
            "capacity": allocatable,
            "conditions": [
                {
                    "type": "Ready",
                    "status": "True" if group.ready else "False",
                    "reason": "KubeletReady" if group.ready else "KubeletNotReady",
                    "message": "kubelet is posting ready status" if group.ready else "not ready",
                    "lastHeartbeatTime": _CREATED,
                    "lastTransitionTime": _CREATED,
                }
            ],
        },
    }


def _member(kind: str, name: str) -> dict[str, object]:
    """An exact member of a HyperNode."""
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}


def _hyper_node(
    name: str, tier: int, tier_name: str, members: list[dict[str, object]]
) -> dict[str, object]:
    """One HyperNode object."""
    spec: dict[str, object] = {"tier": tier, "members": members}
    if tier_name:
        spec["tierName"] = tier_name
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": spec,
    }


def _hosts(table: HostTable, read: Read) -> list[list[str]]:
    """The rows of a host table, without its header and comments."""
    lines = [line for line in read(table.file).splitlines() if not line.startswith("#")]
    rows = list(csv.reader(io.StringIO("\n".join(lines))))
    width = len(rows[0]) if rows else 0
    if width < 2 or any(len(row) != width for row in rows):
        raise ScenarioError(f"{table.file}: every row needs a host and the same number of domains")
    return rows[1:]


def _table_domains(table: HostTable, read: Read) -> list[dict[str, object]]:
    """HyperNodes of a host table, named by their path from the top so that names are unique."""
    rows = _hosts(table, read)
    depth = len(rows[0]) - 1 if rows else 0
    members: dict[tuple[str, ...], dict[str, dict[str, object]]] = {}
    for host, *path in rows:
        for level in range(depth, 0, -1):
            key = tuple(path[:level])
            below = (
                _member("Node", host)
                if level == depth
                else _member("HyperNode", "-".join(path[: level + 1]).lower())
            )
            members.setdefault(key, {})[str(below["selector"])] = below
    names = table.tier_names
    return [
        _hyper_node(
            "-".join(key).lower(),
            depth - len(key) + 1,
            names[len(key) - 1] if len(key) <= len(names) else "",
            list(found.values()),
        )
        for key, found in sorted(members.items(), key=lambda item: (-len(item[0]), item[0]))
    ]
