"""One member cluster of a scenario: its nodes, what is bound on them, and the report on it."""

from collections.abc import Iterable

import msgspec

from global_sched.cache.reports import MemberReport
from global_sched.scenario.format import AgentSpec, Amount, ClusterSpec
from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of, used_by
from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import Container, Node, Pod, PodSpec, ResourceRequirements
from global_sched.shared.api.federation import ReportNodes
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.cluster import Capacity
from global_sched.shared.model.ids import BindingId, ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Progress, Workload
from global_sched.shared.placement import (
    Placed,
    Space,
    allocatable,
    build_tree,
    histogram,
    node_topology,
    usable,
)


class MemberWorld:
    """Binds whatever is admitted, where it was directed to, with the engine that the agent uses."""

    def __init__(self, cluster: ClusterSpec, read: Read) -> None:
        self.name = ClusterName(cluster.name)
        self.agent: AgentSpec | None = cluster.agent
        self._nodes = [msgspec.convert(one, Node) for one in nodes_of(cluster, read)]
        self._hyper_nodes = [
            msgspec.convert(one, HyperNode) for one in hyper_nodes_of(cluster, read)
        ]
        self._pods = [_filler(node, used) for node, used in used_by(cluster).items()]
        self._generation = 0

    def lose(self, names: Iterable[str]) -> None:
        """These nodes are gone."""
        gone = set(names)
        self._nodes = [node for node in self._nodes if node.metadata.name not in gone]

    def report(
        self, workloads: Iterable[Workload], keys: Iterable[str], now: Instant
    ) -> MemberReport | None:
        """What the agent reports once everything admitted here is bound; None without an agent."""
        if self.agent is None:
            return None
        labels = {node.metadata.name: node.metadata.labels or {} for node in self._nodes}
        tree = build_tree(self._hyper_nodes, labels)
        space = Space(node_topology(tree, self._nodes, self._pods))
        progress = {}
        here = [one for one in workloads if any(t.cluster == self.name for t in one.targets)]
        for one in sorted(here, key=_decided):
            progress[one.binding_id] = self._bind(space, one)
        wanted = set(self.agent.label_keys)
        if self.agent.reports_wanted_keys:
            wanted.update(keys)
        self._generation += 1
        return MemberReport(
            capacity=Capacity(
                topology=histogram(space.remaining(), sorted(wanted)),
                total=self._total(),
                observed=Instant(min(now, now - self.agent.report_age_seconds * SECOND)),
                generation=self._generation,
                scheduler_names=tuple(self.agent.scheduler_names),
                volcano_scheduler=self.agent.volcano_scheduler,
                volcano_topology=self.agent.volcano_topology,
            ),
            progress=progress,
            nodes=ReportNodes(total=len(self._nodes)),
        )

    def _bind(self, space: Space, workload: Workload) -> Progress:
        """Take the room of one workload; what does not fit stays unbound."""
        gang, decision = workload.demand.gang, workload.decision
        grant = decision.grant(self.name) if decision else None
        if gang is None or decision is None or grant is None:
            return Progress(cluster=self.name)
        placed = space.place(gang, amounts=grant.amounts, prefer=grant.domain)
        if not isinstance(placed, Placed):
            return Progress(cluster=self.name, decision=decision.id, reason=placed.verdict.detail)
        space.take(placed)
        return Progress(
            cluster=self.name, bound=placed.amounts, minimum_reached=True, decision=decision.id
        )

    def _total(self) -> Resources:
        """Allocatable amounts of the nodes that are Ready and not cordoned."""
        return Resources.total(
            Resources.of(allocatable(node))
            for node in self._nodes
            if usable(node) and not node.spec.unschedulable
        )


def _decided(workload: Workload) -> tuple[Instant, int, BindingId]:
    """The order in which room was given."""
    decision = workload.decision
    return (
        decision.at if decision else Instant(0),
        decision.order if decision else 0,
        workload.binding_id,
    )


def _filler(node: str, used: Amount) -> Pod:
    """A pod that holds what is used on a node already."""
    container = Container(name="used", resources=ResourceRequirements(requests=used))
    return Pod(
        metadata=Meta(name=f"used-{node}", namespace="kube-system", uid=f"used-{node}"),
        spec=PodSpec(node_name=node, containers=[container]),
    )
