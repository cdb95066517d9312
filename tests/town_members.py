"""A member cluster of a `Town`: its objects, and what the real agent makes of them.

The agent's own cache, rounds and reports, without an API server: pods are bound as soon as a round
places them, and go when they are evicted, or linger until `leave`.
"""

from collections import Counter
from collections.abc import Iterable

from global_sched.cache.directives import directive_specs
from global_sched.shared.api import names
from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import Pod
from global_sched.shared.api.federation import Directive
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.gang import Amounts, PodSet
from global_sched.shared.model.ids import BindingId, ClusterName, PodSetName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.workload import Demand, Division, Progress, Workload
from member_agent.cache import ClusterCache, PodUnit, units_of
from member_agent.report.build import Observation
from member_agent.report.observe import Facts, Placing, observe
from member_agent.scheduler.plan.outcome import Round, Situation
from member_agent.scheduler.plan.round import plan_round
from tests.builders import KINDS
from tests.member_agent.member import AGENT, feed, hyper_node, node, owner, pod, pod_group
from tests.wire import Object, decode

MOST_ROUNDS = 20
"""After so many rounds the agent has to be quiet."""


class Member:
    """One cluster: racks of equal nodes, and who sits on them."""

    def __init__(self, name: str, racks: Iterable[int], cpu: int = 1) -> None:
        self.name = ClusterName(name)
        self._built = (list(racks), cpu)
        self._cache = ClusterCache(name)
        self._demands: dict[BindingId, Demand] = {}
        """What the workloads that are here ask for."""
        self._pods: dict[str, tuple[BindingId, Object]] = {}
        """Their pods by name."""
        self._round = Round()
        self._seen: Observation | None = None
        for rack, count in enumerate(self._built[0]):
            own = [f"{name}-r{rack}-n{at}" for at in range(count)]
            feed(self._cache, [node(one, cpu=str(cpu), memory="64Gi", gpus=0) for one in own])
            feed(self._cache, [hyper_node(f"r{rack}", 1, nodes=own)])
        children = [f"r{rack}" for rack in range(len(self._built[0]))]
        feed(self._cache, [hyper_node("spine", 2, children=children)])

    def copy(self) -> "Member":
        """The same cluster once more, with the same pods on the same nodes."""
        other = Member(self.name, *self._built)
        for binding, asked in self._demands.items():
            other._demands[binding] = asked
            feed(other._cache, _above(binding, asked))
        for binding, obj in self._pods.values():
            other._write(binding, obj)
        other._round = self._round
        return other

    # --- what the agent tells -------------------------------------------------------------

    def cluster(self, now: Instant) -> Cluster:
        """The cluster as the report of this moment tells of it."""
        seen = self._observe(now)
        return Cluster(
            name=self.name,
            kinds=KINDS,
            capacity=Capacity(
                topology=seen.topology,
                total=Resources.of(seen.nodes.allocatable or {}),
                observed=Instant(now - SECOND),
                scheduler_names=("volcano",),
            ),
        )

    def progress(self, one: Workload, now: Instant) -> Progress | None:
        """What the report says of a workload that was admitted here."""
        for told in self._observe(now).workloads:
            if told.binding == one.binding_id:
                return Progress(
                    cluster=self.name,
                    bound=Amounts.of(told.bound or {}),
                    minimum_reached=told.minimum_reached,
                    decision=told.decision,
                )
        return None

    def bound(self, binding: BindingId) -> Amounts:
        """The pods of a workload that sit on nodes here and are not about to go."""
        counts = Counter(
            PodSetName(obj["metadata"]["labels"][names.TASK_SPEC])
            for of, obj in self._pods.values()
            if of == binding
            and "nodeName" in obj["spec"]
            and "deletionTimestamp" not in obj["metadata"]
        )
        return Amounts.of(counts)

    def shown(self) -> str:
        """Who sits where, what is kept for whom, and why pods wait, for messages."""
        there: dict[str, list[str]] = {name: [] for name in sorted(self._cache.nodes)}
        for name, (_, obj) in self._pods.items():
            if "nodeName" in obj["spec"]:
                going = "deletionTimestamp" in obj["metadata"]
                cpus = obj["spec"]["containers"][0]["resources"]["requests"]["cpu"]
                there[obj["spec"]["nodeName"]].append(
                    f"{name} ({cpus}{', leaving' if going else ''})"
                )
        for binding, kept in self._round.reservations.items():
            for slot in kept.slots:
                there[slot.node].append(f"kept for {binding}")
        lines = [
            f"{name} ({self._built[1]} CPUs): {', '.join(pods)}" for name, pods in there.items()
        ]
        lines += [f"{wait.unit.name} waits: {wait.reason}" for wait in self._round.waits]
        return "\n".join(lines)

    def _observe(self, now: Instant) -> Observation:
        if self._seen is None or self._seen.observed != now:
            placing = Placing(reached=self._round.reached, reasons=self._round.reasons)
            self._seen = observe(
                self._cache, self._units(), facts=Facts(), placing=placing, generation=1, now=now
            )
        return self._seen

    def _units(self) -> list[PodUnit]:
        return units_of(self._cache, frozenset({AGENT}))

    # --- what happens here ----------------------------------------------------------------

    def obey(self, workloads: Iterable[Workload], now: Instant, *, linger: bool = False) -> None:
        """Karmada brings and takes objects, the Directive comes, and the agent does its rounds."""
        found = [one for one in workloads if one.decision is not None]
        holders = [one for one in found if one.targets and one.decision.grant(self.name)]
        claimants = [
            one for one in found if one.decision.claim and self.name in one.decision.claim.clusters
        ]
        there = {one.binding_id for one in holders}
        for binding in [binding for binding in self._demands if binding not in there]:
            self._take_away(binding, linger=linger)
        for one in holders:
            self._bring(one, linger=linger)
        demand = self._observe(now).topology.demand
        (spec,) = directive_specs(
            self.name, holders, claimants, label_keys=(), epoch=1, demand=demand
        )
        meta = Meta(name=self.name, namespace=names.execution_namespace(self.name))
        self._cache.upsert_directive(Directive(metadata=meta, spec=spec))
        self._work(now, linger=linger)

    def _work(self, now: Instant, *, linger: bool) -> None:
        """Rounds until nothing changes any more."""
        for _ in range(MOST_ROUNDS):
            before, last = self._cache.changes, self._round
            situation = Situation(reservations=last.reservations, reached=last.reached, now=now)
            self._round = plan_round(self._cache, self._units(), situation)
            assert not self._round.rollbacks
            for placement in self._round.placements:
                for record, place in placement.nodes:
                    self._bind(record.name, place)
            for giving in self._round.given:
                for record in giving.pods:
                    self._go(record.name, linger=linger)
            if self._cache.changes == before and self._round == last:
                break
        else:
            raise AssertionError("the agent finds no end")
        self._seen = None

    def leave(self) -> None:
        """Pods that lingered are gone now."""
        for name, (_, obj) in list(self._pods.items()):
            if "deletionTimestamp" in obj["metadata"]:
                self._go(name, linger=False)

    def remove(self, binding: BindingId) -> None:
        """All pods of a workload end."""
        self._take_away(binding, linger=False)
        self._seen = None

    def lose(self, binding: BindingId) -> None:
        """One of its pods on a node ends."""
        bound = [name for name in self._names(binding) if "nodeName" in self._pods[name][1]["spec"]]
        self._go(bound[-1], linger=False)
        self._seen = None

    def _bring(self, one: Workload, *, linger: bool) -> None:
        """Its objects, and the pods that its controller makes."""
        if self._demands.get(one.binding_id) is not one.demand:
            self._demands[one.binding_id] = one.demand
            feed(self._cache, _above(one.binding_id, one.demand))
        there = self._names(one.binding_id)
        grant = one.decision.grant(self.name)
        wanted = {obj["metadata"]["name"]: obj for obj in _pods(one, grant.amounts)}
        for name in there:
            if name not in wanted:
                self._go(name, linger=linger)
        for name, obj in wanted.items():
            if name not in there:
                self._write(one.binding_id, obj)

    def _take_away(self, binding: BindingId, *, linger: bool) -> None:
        for name in self._names(binding):
            self._go(name, linger=linger)
        self._demands.pop(binding, None)

    # --- pods -----------------------------------------------------------------------------

    def _names(self, binding: BindingId) -> list[str]:
        return [name for name, (of, _) in self._pods.items() if of == binding]

    def _write(self, binding: BindingId, obj: Object) -> None:
        self._pods[obj["metadata"]["name"]] = binding, obj
        self._cache.upsert_pod(decode(obj, Pod))

    def _bind(self, name: str, place: str) -> None:
        binding, obj = self._pods[name]
        spec = obj["spec"] | {"nodeName": place}
        self._write(binding, obj | {"spec": spec, "status": {"phase": "Running"}})

    def _go(self, name: str, *, linger: bool) -> None:
        """A pod is deleted: at once, or it is about to be."""
        binding, obj = self._pods[name]
        if linger and "nodeName" in obj["spec"]:
            meta = obj["metadata"]
            gone = meta | {"deletionTimestamp": meta["creationTimestamp"]}
            self._write(binding, obj | {"metadata": gone})
            return
        del self._pods[name]
        self._cache.delete_pod((obj["metadata"]["namespace"], name))


def _owner(binding: BindingId, asked: Demand) -> Object:
    return owner(asked.kind, binding, api_version=asked.api_version, binding=binding)


def _above(binding: BindingId, asked: Demand) -> list[Object]:
    """What stands above the pods: their controller, and of a gang the PodGroup."""
    above, gang = _owner(binding, asked), asked.gang
    if asked.division != Division.WHOLE:
        return [above]
    tier = None if gang.constraint is None else gang.constraint.highest_tier
    tasks = {one.name: one.minimum for one in gang.pod_sets}
    group = pod_group(binding, minimum=gang.minimum, tasks=tasks, controller=above, tier=tier)
    return [above, group]


def _pods(one: Workload, admitted: Amounts) -> Iterable[Object]:
    """All pods that the controller makes: of a gang those that are not admitted, too."""
    whole = one.demand.division == Division.WHOLE
    above = _owner(one.binding_id, one.demand)
    for pod_set in one.demand.gang.pod_sets:
        for at in range(pod_set.count if whole else admitted.get(pod_set.name)):
            yield pod(
                f"{one.binding_id}-{pod_set.name}-{at}",
                owner=above,
                group=one.binding_id if whole else "",
                task=pod_set.name,
                index=at,
                spec=_asks(pod_set),
            )


def _asks(pod_set: PodSet) -> Object:
    amounts = {
        name: f"{amount}m" if name == "cpu" else str(amount)
        for name, amount in pod_set.shape.requests
        if name != PODS
    }
    resources = {"requests": amounts}
    return {"containers": [{"name": "c", "image": "registry.example/c:1", "resources": resources}]}
