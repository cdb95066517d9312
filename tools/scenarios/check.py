"""PodGroups held against the rules by themselves: written anew, from the scenario's own fields.

`Watching` looks at what an agent bound: room, selectors, domains of the group and of its
subgroups, minimums. `reachable` says by plain search whether a minimum can be bound at all.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import msgspec

from global_sched.scenario.format import Scenario, Want
from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of, used_by
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.run import Agents
from global_sched.scenario.world import (
    Amount,
    ClusterSpec,
    GroupPodSpec,
    GroupSpec,
    SubgroupSpec,
    TopologySpec,
)
from global_sched.shared.api.core import Node
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.quantity import parse_quantity
from tools.scenarios.converted import MINIMUM_FIRST

_MOST_TRIES: Final = 200_000
"""Search steps; a case that needs more is not judged by search."""

Placement = Mapping[str, str]
"""Node by pod."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster as sets: its domains with tier and nodes, and what each node has."""

    domains: Mapping[str, tuple[int, frozenset[str]]]
    rooms: Mapping[str, Mapping[str, int]]
    labels: Mapping[str, Mapping[str, str]]
    names: Mapping[str, int]
    """Tier by tier name."""

    def allowed(self, topology: TopologySpec | None) -> list[frozenset[str]]:
        """The node sets in which all pods may lie; the cluster itself is above every tier."""
        everything = frozenset(self.rooms)
        if topology is None or topology.mode == "soft":
            return [everything]
        tier = topology.highest_tier_allowed
        if topology.highest_tier_name:
            tier = self.names.get(topology.highest_tier_name)
        if tier is None:
            return []
        found = [nodes for at, nodes in self.domains.values() if at <= tier]
        top = max((at for at, _ in self.domains.values()), default=0) + 1
        return [*found, everything] if tier >= top else found


def ground_of(cluster: ClusterSpec, read: Read) -> Ground:
    """The sets of a cluster whose HyperNodes name their members exactly."""
    members: dict[str, tuple[list[str], list[str]]] = {}
    tiers: dict[str, int] = {}
    names: dict[str, int] = {}
    for one in hyper_nodes_of(cluster, read):
        wire = msgspec.convert(one, HyperNode)
        name, spec = wire.metadata.name, wire.spec
        tiers[name] = spec.tier
        if spec.tier_name:
            names[spec.tier_name] = spec.tier
        own: tuple[list[str], list[str]] = ([], [])
        for member in spec.members or ():
            if member.selector.exact_match is not None:
                own[member.type == "HyperNode"].append(member.selector.exact_match.name)
        members[name] = own

    def below(name: str) -> frozenset[str]:
        found, nodes, left = {name}, set[str](), [name]
        while left:
            own, children = members.get(left.pop(), ([], []))
            nodes.update(own)
            left += [child for child in children if child not in found]
            found.update(children)
        return frozenset(nodes)

    rooms, labels, used = {}, {}, used_by(cluster)
    for one in nodes_of(cluster, read):
        node = msgspec.convert(one, Node)
        name = node.metadata.name
        left = _amounts(dict(node.status.allocatable or {}))
        for resource, amount in _amounts(used.get(name, {})).items():
            left[resource] = left.get(resource, 0) - amount
        rooms[name], labels[name] = left, dict(node.metadata.labels or {})
    return Ground(
        domains={name: (tier, below(name) & frozenset(rooms)) for name, tier in tiers.items()},
        rooms=rooms,
        labels=labels,
        names=names,
    )


def _amounts(amount: Amount) -> dict[str, int]:
    return {name: parse_quantity(str(value), name) for name, value in amount.items()}


# --- what was bound -----------------------------------------------------------------------------


class Watching:
    """Agents whose work is checked, and shown in one line."""

    def __init__(self, agents: Agents) -> None:
        self._agents = agents
        self.violations: list[str] = []
        self._bound: dict[str, str] = {}
        self._reasons: list[str] = []

    def bind(
        self, cluster: ClusterSpec, groups: Sequence[GroupSpec], read: Read
    ) -> Mapping[str, PodLocations]:
        """What the agents bound, once checked."""
        found = self._agents.bind(cluster, groups, read)
        ground = ground_of(cluster, read)
        after: dict[str, str] = {}
        for group in groups:
            lies = found[f"{group.namespace}/{group.name}"]
            here = {pod.name: pod.node for pod in group.pods if pod.node} | dict(lies.nodes)
            after |= {f"{group.name}/{pod}": node for pod, node in here.items()}
            self._bound |= lies.nodes
            self._reasons += [lies.reason] if lies.reason else []
            if lies.nodes:
                self.violations += broken(ground, group, here)
        self.violations += overfull(ground, groups, after)
        return found

    def said(self) -> str:
        """Which pods were bound where, and why the others wait."""
        if not self._bound and not self._reasons:
            return ""
        pods = ", ".join(f"{pod}→{node}" for pod, node in sorted(self._bound.items()))
        bound = f"{len(self._bound)} bound" + (f" ({pods})" if pods else "")
        return "; ".join([bound, *dict.fromkeys(self._reasons)])


def broken(ground: Ground, group: GroupSpec, after: Placement) -> Iterator[str]:
    """Rules of a group that a placement of its pods, the running ones included, breaks."""
    known = {pod: node for pod, node in after.items() if node in ground.rooms}
    if not _together(ground, group.topology, known.values()):
        yield f"{group.name}: its pods are in no domain that it allows"
    if len(after) < group.min_member:
        yield f"{group.name}: {len(after)} pods run, and its minimum is {group.min_member}"
    for policy in group.subgroups:
        lots = _lots(group, policy)
        for key, pods in lots.items():
            nodes = [known[pod.name] for pod in pods if pod.name in known]
            if not _together(ground, policy.topology, nodes):
                yield f"{group.name}: subgroup {policy.name}-{'-'.join(key)} is in no such domain"
        ready = sum(sum(p.name in after for p in pods) >= policy.size for pods in lots.values())
        if ready < policy.min_groups:
            yield f"{group.name}: {ready} subgroups of {policy.name}, wanted {policy.min_groups}"


def overfull(ground: Ground, groups: Sequence[GroupSpec], after: Placement) -> Iterator[str]:
    """Nodes that hold more than they have, and pods where their selector does not let them."""
    use: dict[str, Counter[str]] = {}
    for group in groups:
        for pod in group.pods:
            node = after.get(f"{group.name}/{pod.name}", "")
            if node not in ground.rooms:
                continue
            use.setdefault(node, Counter()).update({"pods": 1} | _amounts(pod.requests))
            if not _selected(ground, pod, node):
                yield f"pod {pod.name} is on {node}, which its selector does not allow"
    for node, used in use.items():
        for name, amount in used.items():
            if amount > ground.rooms[node].get(name, 0):
                yield f"node {node} holds {name} {amount} of {ground.rooms[node].get(name, 0)}"


def _together(ground: Ground, topology: TopologySpec | None, nodes: Iterable[str]) -> bool:
    there = frozenset(nodes)
    return not there or any(there <= domain for domain in ground.allowed(topology))


def _selected(ground: Ground, pod: GroupPodSpec, node: str) -> bool:
    return all(ground.labels[node].get(key) == value for key, value in pod.node_selector.items())


def _lots(group: GroupSpec, policy: SubgroupSpec) -> dict[tuple[str, ...], list[GroupPodSpec]]:
    """The subgroups of a policy by their label values; the first policy that matches has a pod."""
    found: dict[tuple[str, ...], list[GroupPodSpec]] = {}
    for pod in group.pods:
        first = next((one for one in group.subgroups if _matches(one, pod)), None)
        if first is policy:
            found.setdefault(tuple(pod.labels[key] for key in policy.keys), []).append(pod)
    return found


def _matches(policy: SubgroupSpec, pod: GroupPodSpec) -> bool:
    selected = all(pod.labels.get(key) == value for key, value in policy.selector.items())
    return selected and bool(policy.keys) and all(key in pod.labels for key in policy.keys)


# --- what could be bound ------------------------------------------------------------------------


def unit(scenario: Scenario) -> Scenario:
    """The scenario, read by our rule where Volcano refuses a group whose minimum fits.

    Only for a group with more pods than its minimum needs, of which the file wants none bound:
    Volcano asks whether all pending pods of a subgroup fit a domain, here the minimum decides.
    """
    groups = [group for group in scenario.world.groups if any(not p.node for p in group.pods)]
    if len(groups) != 1 or scenario.differs:
        return scenario
    [group] = groups
    [name] = scenario.expect
    want = scenario.expect[name]
    pending = sum(not pod.node for pod in group.pods)
    running = len(group.pods) - pending
    if want.bound or running >= group.min_member or not _elastic(group):
        return scenario
    ground = ground_of(scenario.world.clusters[0], lambda _: "")
    most = reachable(ground, scenario.world.groups, group)
    if most is None or most == 0:
        return scenario
    scenario.differs = MINIMUM_FIRST
    scenario.expect[name] = Want(bound=most, waiting=pending - most)
    return scenario


def _elastic(group: GroupSpec) -> bool:
    """Whether it has more pods than its minimum, in the group or in a subgroup."""
    lots = [
        (policy.size, pods) for policy in group.subgroups for pods in _lots(group, policy).values()
    ]
    return len(group.pods) > group.min_member or any(len(pods) > size for size, pods in lots)


def reachable(ground: Ground, groups: Sequence[GroupSpec], group: GroupSpec) -> int | None:
    """The most waiting pods of a group that can be bound; 0 when its minimum cannot be.

    None when the search would take too long.
    """
    search = _Search(ground, groups, group)
    try:
        return search.best()
    except _TooLongError:
        return None


class _TooLongError(Exception):
    """The search was given up."""


class _Search:
    """Every choice of domains, and within it every choice of nodes."""

    def __init__(self, ground: Ground, groups: Sequence[GroupSpec], group: GroupSpec) -> None:
        self.ground, self.group = ground, group
        self.left = {node: dict(room) for node, room in ground.rooms.items()}
        self.here: dict[str, str] = {}
        self.tries = 0
        for one in groups:
            for pod in one.pods:
                if pod.node in self.left:
                    self._use(pod, pod.node, 1)
        self.here = {pod.name: pod.node for pod in group.pods if pod.node}
        self.waiting = sorted(
            (pod for pod in group.pods if not pod.node),
            key=lambda pod: (sorted(pod.labels.items()), str(sorted(pod.requests.items()))),
        )

    def best(self) -> int:
        """The most pods over all choices of domains."""
        lots = [
            (policy, pods)
            for policy in self.group.subgroups
            for pods in _lots(self.group, policy).values()
        ]
        best = 0
        for whole in self._maximal(self.group.topology):
            inner = [[d & whole for d in self._maximal(policy.topology)] for policy, _ in lots]
            for chosen in product(*inner):
                allowed = {pod.name: whole for pod in self.waiting}
                for (_, pods), domain in zip(lots, chosen, strict=True):
                    allowed |= {pod.name: domain for pod in pods}
                best = max(best, self._most(0, allowed, best))
        return best

    def _maximal(self, topology: TopologySpec | None) -> list[frozenset[str]]:
        """The allowed domains that are in no other allowed one."""
        allowed = self.ground.allowed(topology)
        return [one for one in set(allowed) if not any(one < other for other in allowed)]

    def _most(self, at: int, allowed: Mapping[str, frozenset[str]], best: int) -> int:
        self.tries += 1
        if self.tries > _MOST_TRIES:
            raise _TooLongError
        new = len(self.here) - (len(self.group.pods) - len(self.waiting))
        if new + len(self.waiting) - at <= best:
            return 0
        if at == len(self.waiting):
            return 0 if list(broken(self.ground, self.group, self.here)) else new
        pod = self.waiting[at]
        for node in sorted(allowed[pod.name]):
            if self._fits(pod, node):
                self._use(pod, node, 1)
                self.here[pod.name] = node
                best = max(best, found := self._most(at + 1, allowed, best))
                del self.here[pod.name]
                self._use(pod, node, -1)
                if found == len(self.waiting):
                    return found
        return max(best, self._most(at + 1, allowed, best))

    def _fits(self, pod: GroupPodSpec, node: str) -> bool:
        wants = {"pods": 1} | _amounts(pod.requests)
        room = self.left[node]
        return _selected(self.ground, pod, node) and all(
            room.get(name, 0) >= amount for name, amount in wants.items()
        )

    def _use(self, pod: GroupPodSpec, node: str, sign: int) -> None:
        for name, amount in ({"pods": 1} | _amounts(pod.requests)).items():
            self.left[node][name] = self.left[node].get(name, 0) - sign * amount
