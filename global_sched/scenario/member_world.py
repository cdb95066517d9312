"""One member cluster of a scenario: its nodes, what is bound on them, and the report on it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from global_sched.cache.readers.reports import MemberReport
from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of, used_by
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.world import AgentSpec, ClusterSpec, NodesSpec, ScenarioError
from global_sched.shared.api.base import Quantity
from global_sched.shared.api.core import Node
from global_sched.shared.api.federation import ReportNodes
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.cluster import Capacity
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import (
    BindingId,
    ClusterName,
    DecisionId,
    PodSetName,
    WorkloadKey,
)
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.quantity import parse_quantity
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.workload import Progress, Workload
from global_sched.shared.placement import (
    DomainTree,
    NodeUse,
    NotPlaced,
    Space,
    allocatable,
    assemble,
    axis_of,
    build_tree,
    histogram,
    node_leaf,
    usable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _BoundPod:
    """A pod of a workload, on the node where it stays until it ends."""

    pod_set: PodSetName
    node: str
    requests: Resources


class MemberWorld:
    """Binds whatever is admitted, where it was directed to, with the engine that the agent uses.

    A pod that is bound stays on its node until its job ends, gives it back, or the node is lost.
    """

    def __init__(self, cluster: ClusterSpec, read: Read) -> None:
        self.name = ClusterName(cluster.name)
        self.spec = cluster
        self.agent: AgentSpec | None = cluster.agent
        self._read = read
        self._nodes = [msgspec.convert(one, Node) for one in nodes_of(cluster, read)]
        self._hyper_nodes: list[HyperNode] = []
        self._used = used_by(cluster)
        self._bound: dict[BindingId, list[_BoundPod]] = {}
        self._minimum: dict[BindingId, Amounts] = {}
        self._reasons: dict[BindingId, str] = {}
        self._reached: dict[BindingId, DecisionId] = {}
        """Under which decision the minimum was bound, now or before."""
        self._below: dict[BindingId, Instant] = {}
        self._short: dict[BindingId, Instant] = {}
        """Since when a gang that had its minimum lacks it."""
        self.unproven: set[WorkloadKey] = set()
        """Jobs whose place here, or that there is none, is not certain."""
        self._generation = 0
        self._read_tree()

    # --- what happens to nodes and pods -------------------------------------------------------

    def lose(self, names: Iterable[str]) -> None:
        """These nodes are gone."""
        gone = self._known(names)
        self._nodes = [node for node in self._nodes if node.metadata.name not in gone]

    def set_nodes(
        self, names: Iterable[str], *, ready: bool | None = None, cordoned: bool | None = None
    ) -> None:
        """These nodes are Ready or not, cordoned or not, from now on."""
        chosen = self._known(names)
        for at, node in enumerate(self._nodes):
            if node.metadata.name not in chosen:
                continue
            wire = msgspec.to_builtins(node)
            if ready is not None:
                state = "True" if ready else "False"
                wire["status"]["conditions"] = [{"type": "Ready", "status": state}]
            if cordoned is not None:
                wire.setdefault("spec", {})["unschedulable"] = cordoned
            self._nodes[at] = msgspec.convert(wire, Node)

    def add(self, groups: Sequence[NodesSpec]) -> None:
        """Nodes join the cluster."""
        before = {node.metadata.name for node in self._nodes}
        self.spec.nodes.extend(groups)
        every = [msgspec.convert(one, Node) for one in nodes_of(self.spec, self._read)]
        named = {name for group in groups for name in _names_of(group, self.spec, self._read)}
        self._nodes += [
            one for one in every if one.metadata.name in named and one.metadata.name not in before
        ]
        self._used = used_by(self.spec)
        self._read_tree()

    def kill(self, binding: BindingId, pods: int) -> int:
        """So many pods of a workload are deleted, the first ones; how many there were."""
        bound = self._bound.get(binding, [])
        killed = min(pods, len(bound))
        del bound[:killed]
        return killed

    def _known(self, names: Iterable[str]) -> set[str]:
        chosen = set(names)
        unknown = sorted(chosen - {node.metadata.name for node in self._nodes})
        if unknown:
            raise ScenarioError(f"cluster {self.name} has no node {', '.join(unknown)}")
        return chosen

    def _read_tree(self) -> None:
        self._hyper_nodes = [
            msgspec.convert(one, HyperNode) for one in hyper_nodes_of(self.spec, self._read)
        ]

    # --- what the agent does ------------------------------------------------------------------

    def report(
        self, workloads: Iterable[Workload], keys: Iterable[str], now: Instant
    ) -> MemberReport | None:
        """What the agent reports once everything admitted here is bound; None without an agent."""
        if self.agent is None:
            return None
        here = [one for one in workloads if any(t.cluster == self.name for t in one.targets)]
        progress = self._bind_all(sorted(here, key=_decided), now)
        wanted = set(self.agent.label_keys)
        if self.agent.reports_wanted_keys:
            wanted.update(keys)
        self._generation += 1
        return MemberReport(
            capacity=Capacity(
                topology=histogram(self._topology(), sorted(wanted)),
                total=self._total(),
                largest=self._largest(),
                missing=sum(not _is_open(node) for node in self._nodes),
                observed=Instant(min(now, now - self.agent.report_age_seconds * SECOND)),
                generation=self._generation,
                scheduler_names=tuple(self.agent.scheduler_names),
                volcano_scheduler=self.agent.volcano_scheduler,
                volcano_topology=self.agent.volcano_topology,
            ),
            progress=progress,
            nodes=ReportNodes(total=len(self._nodes)),
        )

    def _bind_all(self, here: Sequence[Workload], now: Instant) -> dict[BindingId, Progress]:
        """Keep what is bound and still wanted, then bind what is missing, in order."""
        alive = {node.metadata.name for node in self._nodes if usable(node)}
        kept: dict[BindingId, list[_BoundPod]] = {}
        for one in here:
            if one.demand.gang is not None:
                self._minimum[one.binding_id] = one.demand.gang.minimum_amounts()
            wanted = _granted(one, self.name)
            left = dict(wanted.entries)
            for pod in self._bound.get(one.binding_id, ()):
                if pod.node in alive and left.get(pod.pod_set, 0) > 0:
                    left[pod.pod_set] -= 1
                    kept.setdefault(one.binding_id, []).append(pod)
        self._bound, self._reasons = kept, {}
        topology = self._topology()
        space = Space(topology)
        found = {one.binding_id: self._bind(space, topology, one, now) for one in here}
        self._below = {
            binding: one.below for binding, one in found.items() if one.below is not None
        }
        self._short = {
            binding: one.short for binding, one in found.items() if one.short is not None
        }
        return found

    def _bind(self, space: Space, topology: Topology, workload: Workload, now: Instant) -> Progress:
        """Take the room of one workload; what does not fit stays unbound."""
        gang, decision = workload.demand.gang, workload.decision
        grant = decision.grant(self.name) if decision else None
        if gang is None or decision is None or grant is None:
            return Progress(cluster=self.name)
        bound = self._bound.setdefault(workload.binding_id, [])
        have = _count(bound)
        missing = grant.amounts.minus(have)
        reason = ""
        if missing.pods():
            leaf_of = {leaf.node: leaf.domain for leaf in topology.leaves}
            around = {leaf_of.get(pod.node) for pod in bound}
            placed = space.place(
                gang,
                amounts=missing,
                minimum=gang.minimum_amounts().minus(have) if bound else None,
                prefer=grant.domain,
                bound=tuple(sorted(around, key=lambda domain: domain or ""))
                if gang.constraint is not None
                else (),
                binding=workload.binding_id,
            )
            if not (placed.proven if isinstance(placed, NotPlaced) else placed.exact):
                self.unproven.add(workload.key)
            if isinstance(placed, NotPlaced):
                reason = placed.verdict.detail
            else:
                space.take(placed)
                shapes = {pod_set.name: pod_set for pod_set in gang.pod_sets}
                bound += [
                    _bound_pod(shapes[take.pod_set], topology.leaves[take.leaf].node)
                    for take in placed.takes
                    for _ in range(take.nodes * take.pods_per_node)
                ]
        self._reasons[workload.binding_id] = reason
        have = _count(bound)
        floor = {n: min(p, grant.amounts.get(n)) for n, p in gang.minimum_amounts().entries}
        whole = bool(bound) and have.covers(Amounts.of(floor))
        if whole:
            self._reached[workload.binding_id] = decision.id
        reached = self._reached.get(workload.binding_id) == decision.id
        below = None if whole or not reached else self._below.get(workload.binding_id, now)
        short: Instant | None = None
        if reached and not have.covers(grant.amounts):
            short = self._short.get(workload.binding_id, now)
        return Progress(
            cluster=self.name,
            bound=have,
            minimum_reached=reached,
            decision=decision.id,
            reason=reason,
            below=below,
            short=short,
        )

    # --- what there is ------------------------------------------------------------------------

    def lies(self, workload: Workload) -> PodLocations:
        """Where the pods of a workload lie."""
        tree, gang = self._tree(), workload.demand.gang
        numbers: dict[str, int] = {}
        nodes: dict[str, str] = {}
        for pod in self._bound.get(workload.binding_id, ()):
            number = numbers[pod.pod_set] = numbers.get(pod.pod_set, -1) + 1
            nodes[f"{workload.name}-{pod.pod_set}-{number}"] = pod.node
        return PodLocations(
            nodes=nodes,
            leaf_of={name: domain for name, domain in tree.leaf_of.items() if domain is not None},
            parents={one.name: one.parent for one in tree.domains if one.parent is not None},
            waiting=(gang.pods() if gang is not None else 0) - len(nodes),
            reason=self._reasons.get(workload.binding_id, ""),
        )

    def _tree(self) -> DomainTree:
        labels = {node.metadata.name: node.metadata.labels or {} for node in self._nodes}
        return build_tree(self._hyper_nodes, labels)

    def _topology(self) -> Topology:
        """One leaf per usable node, with what is used on it, and by whom."""
        nodes = sorted((n for n in self._nodes if usable(n)), key=lambda one: one.metadata.name)
        uses = {node.metadata.name: NodeUse() for node in nodes}
        for name, amount in self._used.items():
            if name in uses:
                uses[name].add("used", _requests(amount))
        for binding, pods in self._bound.items():
            for number, pod in enumerate(pods):
                uses[pod.node].add(f"{binding}-{number}", pod.requests, (binding, pod.pod_set))
        axis = axis_of(allocatable(node) for node in nodes)
        tree = self._tree()
        turns = self._turns()
        leaves = []
        for node in nodes:
            name = node.metadata.name
            leaf = node_leaf(tree, node, uses[name], axis=axis)
            occupants = tuple(
                replace(one, surplus=turns.get((one.binding, one.pod_set, name), ()))
                for one in leaf.occupants
            )
            leaves.append(replace(leaf, occupants=occupants))
        return assemble(tree, axis, leaves)

    def _turns(self) -> dict[tuple[BindingId, PodSetName, str], tuple[int, ...]]:
        """The turns in which pods beyond a gang's minimum may leave: the last one bound first."""
        found: dict[tuple[BindingId, PodSetName, str], tuple[int, ...]] = {}
        for binding, pods in self._bound.items():
            minimum = self._minimum.get(binding, Amounts())
            numbers: dict[PodSetName, int] = {}
            have = _count(pods)
            for pod in reversed(pods):
                turn = numbers[pod.pod_set] = numbers.get(pod.pod_set, 0) + 1
                if turn <= have.get(pod.pod_set) - minimum.get(pod.pod_set):
                    key = (binding, pod.pod_set, pod.node)
                    found[key] = (*found.get(key, ()), turn)
        return found

    def _total(self) -> Resources:
        """Allocatable amounts of the nodes that are Ready and not cordoned."""
        return Resources.total(
            Resources.of(allocatable(node)) for node in self._nodes if _is_open(node)
        )

    def _largest(self) -> Resources:
        """Of each resource the most that any node has."""
        most: dict[str, int] = {}
        for node in self._nodes:
            for name, amount in allocatable(node).items():
                most[name] = max(most.get(name, 0), amount)
        return Resources.of(most)


def _is_open(node: Node) -> bool:
    """Whether it counts in the total."""
    return usable(node) and not node.spec.unschedulable


def _names_of(group: NodesSpec, cluster: ClusterSpec, read: Read) -> list[str]:
    """The node names of one group."""
    alone = ClusterSpec(name=cluster.name, nodes=[group])
    return [msgspec.convert(one, Node).metadata.name for one in nodes_of(alone, read)]


def _bound_pod(pod_set: PodSet, node: str) -> _BoundPod:
    return _BoundPod(pod_set=pod_set.name, node=node, requests=pod_set.shape.requests)


def _count(pods: Iterable[_BoundPod]) -> Amounts:
    counts: dict[PodSetName, int] = {}
    for pod in pods:
        counts[pod.pod_set] = counts.get(pod.pod_set, 0) + 1
    return Amounts.of(counts)


def _granted(workload: Workload, cluster: ClusterName) -> Amounts:
    """What a workload may have in a cluster."""
    grant = workload.decision.grant(cluster) if workload.decision else None
    return grant.amounts if grant is not None else Amounts()


def _decided(workload: Workload) -> tuple[Instant, int, BindingId]:
    """The order in which room was given."""
    decision = workload.decision
    return (
        decision.at if decision else Instant(0),
        decision.order if decision else 0,
        workload.binding_id,
    )


def _requests(used: dict[str, Quantity]) -> Resources:
    """What is used on a node already, as the requests of one pod."""
    amounts = {name: parse_quantity(str(value), name) for name, value in used.items()}
    return Resources.of({"pods": 1} | amounts)
