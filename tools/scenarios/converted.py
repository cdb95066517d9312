"""Volcano's allocation cycles as scenarios of the project's own format."""

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
    if not case.only_count:
        want.nodes = _named(case)
        want.sizes = case.expect_bind_nums_in_hyper_node
    pending = sum(not pod.node for group in groups for pod in group.pods)
    if case.expect_binds < pending:
        want.waiting = pending - case.expect_binds
    scenario = Scenario(
        scenario=f"{case.id} {case.name}",
        about=" ".join(case.notes),
        world=World(clusters=[cluster], groups=groups),
    )
    if _asks_unknown_tier(case):
        scenario.differs = UNKNOWN_TIER
        want = Want(bound=0, waiting=pending, says="tier")
    if len(waiting) == 1:
        scenario.expect = {f"{NAMESPACE}/{waiting[0].name}": want}
    else:
        scenario.expect_all = WantAll(bound=want.bound)
        scenario.expect = _several(waiting, want)
    return scenario


def _several(waiting: Iterable[GroupSpec], want: Want) -> dict[str, Want]:
    """What is said of single pods, by the PodGroup that has them."""
    nodes = want.nodes or {}
    found: dict[str, Want] = {}
    for group in waiting:
        own = {pod.name: nodes[pod.name] for pod in group.pods if pod.name in nodes}
        found[f"{NAMESPACE}/{group.name}"] = Want(nodes=own or None)
    return found


def _named(case: volcano.UnitCase) -> dict[str, str] | None:
    """The nodes of single pods, by pod name. Raises ConversionError."""
    if case.expect_bind_map is None:
        return None
    pods = {pod.name for pod in case.pods}
    found = {key.rpartition("/")[2]: node for key, node in case.expect_bind_map.items()}
    if unknown := sorted(set(found) - pods):
        raise ConversionError(f"expectBindMap names {unknown}, which are no pods of the case")
    return found


def _groups(case: volcano.UnitCase) -> list[GroupSpec]:
    """The PodGroups with their pods; pods of others get a PodGroup that asks for nothing."""
    found = {
        group.name: GroupSpec(
            name=group.name,
            namespace=NAMESPACE,
            min_member=max(1, group.min_member),
            topology=topology_of(group),
            subgroups=[_subgroup(one) for one in group.sub_group_policy],
            domain=group.annotated_hyper_node,
        )
        for group in case.pod_groups
    }
    for pod in case.pods:
        name = pod.group or f"pod-{pod.name}"
        if pod.phase == "Running" and not pod.node:
            raise ConversionError(f"pods: {pod.name} is Running without a node")
        if name not in found:
            found[name] = GroupSpec(name=name, namespace=NAMESPACE)
        found[name].pods.append(
            GroupPodSpec(
                name=pod.name,
                requests=pod.req,
                labels=pod.labels or {},
                node_selector=pod.selector or {},
                node=pod.node or "",
            )
        )
    return list(found.values())


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


def _asks_unknown_tier(case: volcano.UnitCase) -> bool:
    """Whether a hard constraint names a tier that no HyperNode has, or none at all."""
    names = {one.tier_name for one in (case.tree or {}).values() if one.tier_name}
    said: list[volcano.Group | volcano.Subgroup] = list(case.pod_groups)
    said += [one for group in case.pod_groups for one in group.sub_group_policy]
    hard = [one for one in said if one.mode == "hard"]
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
    if missing := sorted(set(case.real_nodes) ^ set(tier_of)):
        raise ConversionError(f"tiers and realNodes differ on {missing}")
    below = {name: frozenset(nodes) for name, nodes in case.real_nodes.items()}
    return [_inferred(name, tier_of, below) for name in sorted(tier_of)]


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
