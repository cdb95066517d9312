"""Node topologies as data: racks of nodes under a spine, with the HyperNodes that say so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Obj = dict[str, Any]

ALLOCATABLE: Final[Mapping[str, str]] = {
    "cpu": "64",
    "memory": "512Gi",
    "nvidia.com/gpu": "8",
    "pods": "110",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePlan:
    """Nodes and the HyperNodes over them, as manifests."""

    nodes: tuple[Obj, ...]
    hyper_nodes: tuple[Obj, ...] = ()


def rack_plan(
    prefix: str,
    *,
    racks: int,
    nodes: int,
    allocatable: Mapping[str, str] = ALLOCATABLE,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Obj, ...] = (),
) -> NodePlan:
    """`racks` racks (tier 1) of `nodes` nodes each, under one spine (tier 2).

    Names are `<prefix>-<rack>-<node>`, `<prefix>-<rack>` and `<prefix>-spine`.
    """
    made: list[Obj] = []
    tree: list[Obj] = []
    for rack in range(racks):
        names = [f"{prefix}-{rack}-{number}" for number in range(nodes)]
        made += [
            node(name, allocatable=allocatable, labels=labels, taints=taints) for name in names
        ]
        tree.append(hyper_node(f"{prefix}-{rack}", 1, "rack", "Node", names))
    children = [f"{prefix}-{rack}" for rack in range(racks)]
    tree.append(hyper_node(f"{prefix}-spine", 2, "spine", "HyperNode", children))
    return NodePlan(nodes=tuple(made), hyper_nodes=tuple(tree))


def node(
    name: str,
    *,
    allocatable: Mapping[str, str] = ALLOCATABLE,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Obj, ...] = (),
) -> Obj:
    """A Node manifest; `nodes.completed` adds what a kubelet says of itself."""
    spec: Obj = {"taints": [dict(taint) for taint in taints]} if taints else {}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": spec,
        "status": {"allocatable": dict(allocatable)},
    }


def hyper_node(name: str, tier: int, tier_name: str, kind: str, members: list[str]) -> Obj:
    """A HyperNode that lists its members by name."""
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": tier,
            "tierName": tier_name,
            "members": [
                {"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members
            ],
        },
    }
