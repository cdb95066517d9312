"""Volcano's allocation cycles as scenarios of the project's own format."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from global_sched.scenario.format import Scenario, Want, WantAll
from global_sched.scenario.world import (
    ClusterSpec,
    GroupPodSpec,
    GroupSpec,
    HyperNodeSpec,
    NodesSpec,
    SubgroupSpec,
    TopologySpec,
    World,
)
from tools.scenarios import volcano

CLUSTER: Final = "member"
NAMESPACE: Final = "c1"
"""The namespace of every pod in Volcano's allocation tests."""
UNKNOWN_TIER: Final = (
    "A hard constraint on a tier that the cluster does not have is a refusal with that reason. "
    "Volcano drops the constraint."
)
MINIMUM_FIRST: Final = (
    "The minimum decides whether a group fits; pods beyond it are surplus. Volcano refuses a "
    "domain that does not hold every pending pod."
)
EXTRA: Final = {"nvidia.com/gpu": 0}


class ConversionError(ValueError):
    """A case contradicts itself; the message names the field."""


# --- one allocation cycle -------------------------------------------------------------------


def unit_scenario(case: volcano.UnitCase) -> Scenario:
    """One allocation cycle as PodGroups of a member. Raises ConversionError."""
    cluster = ClusterSpec(
        name=CLUSTER,
        hyper_nodes=_tree(case),
        nodes=[
            NodesSpec(
                name=node.name,
                allocatable=EXTRA | {"pods": 110} | node.alloc,
                labels=node.labels or {},
            )
            for node in case.nodes
        ],
    )
    groups = _groups(case)
    waiting = [group for group in groups if any(not pod.node for pod in group.pods)]
    want = Want(bound=case.expect_binds)
    named = None if case.only_count else _named(case, groups)
    if not case.only_count:
        want.sizes = case.expect_bind_nums_in_hyper_node
    pending = sum(not pod.node for group in groups for pod in group.pods)
    if case.expect_binds < pending:
        want.waiting = pending - case.expect_binds
    scenario = Scenario(
        scenario=f"{case.id} {case.name}",
        about=" ".join(case.notes),
        world=World(clusters=[cluster], groups=groups),
    )
    if _asks_unknown_tier(case, has_tree=bool(cluster.hyper_nodes)):
        scenario.differs = UNKNOWN_TIER
        want, named = Want(bound=0, waiting=pending, says="tier"), None
    if len(waiting) == 1:
        want.nodes = named and named.get(_key(waiting[0]))
        scenario.expect = {_key(waiting[0]): want}
    else:
        scenario.expect_all = WantAll(bound=want.bound)
        scenario.expect = {
            _key(group): Want(nodes=(named or {}).get(_key(group))) for group in waiting
        }
    return scenario


def _key(group: GroupSpec) -> str:
    return f"{group.namespace}/{group.name}"


def _named(case: volcano.UnitCase, groups: Iterable[GroupSpec]) -> dict[str, dict[str, str]] | None:
    """The nodes of single pods, by PodGroup and pod name. Raises ConversionError."""
    if case.expect_bind_map is None:
        return None
    left = {
        key if "/" in key else f"{NAMESPACE}/{key}": node
        for key, node in case.expect_bind_map.items()
    }
    found: dict[str, dict[str, str]] = {}
    for group in groups:
        for pod in group.pods:
            node = left.pop(f"{group.namespace}/{pod.name}", None)
            if node is not None:
                found.setdefault(_key(group), {})[pod.name] = node
    if left:
        raise ConversionError(f"expectBindMap names {sorted(left)}, which are no pods of the case")
    return found


def _groups(case: volcano.UnitCase) -> list[GroupSpec]:
    """The PodGroups with their pods; pods of others get a PodGroup that asks for nothing.

    Raises:  ConversionError for names that are there twice.
    """
    _check_once("nodes", [node.name for node in case.nodes])
    _check_once("podGroups", [f"{g.namespace}/{g.name}" for g in case.pod_groups])
    found = {
        (group.namespace or NAMESPACE, group.name): GroupSpec(
            name=group.name,
            namespace=group.namespace or NAMESPACE,
            min_member=max(1, group.min_member),
            topology=topology_of(group),
            subgroups=[_subgroup(one) for one in group.sub_group_policy],
            domain=group.annotated_hyper_node,
        )
        for group in case.pod_groups
    }
    for pod in case.pods:
        name = pod.group or f"pod-{pod.name}"
        space = pod.namespace or next((s for s, n in found if n == name), NAMESPACE)
        if pod.phase == "Running" and not pod.node:
            raise ConversionError(f"pods: {pod.name} is Running without a node")
        group = found.setdefault((space, name), GroupSpec(name=name, namespace=space))
        group.pods.append(
            GroupPodSpec(
                name=pod.name,
                requests=pod.req,
                labels=pod.labels or {},
                node_selector=pod.selector or {},
                node=pod.node or "",
            )
        )
    groups = list(found.values())
    _check_once("pods", [f"{one.namespace}/{pod.name}" for one in groups for pod in one.pods])
    return groups


def _check_once(field: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise ConversionError(f"{field}: there twice: {', '.join(twice)}")


def _subgroup(policy: volcano.Subgroup) -> SubgroupSpec:
    return SubgroupSpec(
        name=policy.name,
        keys=policy.match_label_keys,
        selector=policy.label_selector.match_labels if policy.label_selector else {},
        size=max(1, policy.sub_group_size),
        min_groups=policy.min_sub_groups,
        topology=topology_of(policy),
    )


def topology_of(
    said: volcano.Group | volcano.Subgroup | volcano.Topology | None,
) -> TopologySpec | None:
    """The constraint; a mode of "" is none."""
    if said is None or not said.mode:
        return None
    named = bool(said.highest_tier_name)
    soft = said.mode == "soft"
    return TopologySpec(
        mode=said.mode,
        highest_tier_allowed=None if named or soft else said.highest_tier_allowed,
        highest_tier_name="" if soft else said.highest_tier_name,
    )


def _asks_unknown_tier(case: volcano.UnitCase, *, has_tree: bool) -> bool:
    """Whether a hard constraint names a tier that no HyperNode has, or none at all."""
    names = {one.tier_name for one in (case.tree or {}).values() if one.tier_name}
    said: list[volcano.Group | volcano.Subgroup] = list(case.pod_groups)
    said += [one for group in case.pod_groups for one in group.sub_group_policy]
    hard = [one for one in said if one.mode == "hard"]
    if hard and not has_tree:
        return True
    return any(
        one.highest_tier_name not in names
        if one.highest_tier_name
        else one.highest_tier_allowed is None
        for one in hard
    )


# --- the tree ---------------------------------------------------------------------------------


def _tree(case: volcano.UnitCase) -> list[HyperNodeSpec]:
    """The HyperNodes: as they are written, or from tiers and the nodes below each."""
    if case.tree is not None:
        return [_hyper_node(name, one, case.tree) for name, one in case.tree.items()]
    if case.tiers is None or case.real_nodes is None:
        return []
    tier_of: dict[str, int] = {}
    for text, names in case.tiers.items():
        if not text.isdigit():
            raise ConversionError(f"tiers: {text!r} is no tier")
        tier_of |= dict.fromkeys(names, int(text))
    if missing := sorted(set(tier_of) - set(case.real_nodes)):
        raise ConversionError(f"tiers and realNodes differ on {missing}")
    # Node sets of names without a tier are no HyperNodes, and a HyperNode needs members.
    below = {name: frozenset(case.real_nodes[name]) for name in tier_of}
    return [_inferred(name, tier_of, below) for name in sorted(tier_of) if below[name]]


def _hyper_node(
    name: str, one: volcano.TreeNode, tree: dict[str, volcano.TreeNode]
) -> HyperNodeSpec:
    kinds = one.member_type or ["HyperNode" if m in tree else "Node" for m in one.members]
    if len(kinds) != len(one.members):
        raise ConversionError(f"tree: {name} has {len(one.members)} members of {len(kinds)} types")
    typed = list(zip(one.members, kinds, strict=True))
    return HyperNodeSpec(
        name=name,
        tier=one.tier,
        tier_name=one.tier_name or "",
        nodes=[member for member, kind in typed if kind == "Node"],
        children=[member for member, kind in typed if kind == "HyperNode"],
    )


def _inferred(
    name: str, tier_of: dict[str, int], below: dict[str, frozenset[str]]
) -> HyperNodeSpec:
    """A HyperNode whose children are the widest ones of lower tiers within its nodes."""
    lower = {
        other
        for other, nodes in below.items()
        if tier_of[other] < tier_of[name] and nodes and nodes <= below[name]
    }
    children = sorted(
        one
        for one in lower
        if not any(below[one] <= below[o] and tier_of[one] < tier_of[o] for o in lower if o != one)
    )
    covered = {node for child in children for node in below[child]}
    return HyperNodeSpec(
        name=name,
        tier=tier_of[name],
        nodes=sorted(below[name] - covered),
        children=children,
    )
