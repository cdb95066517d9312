"""Worlds in which pods keep their nodes, for everything about victims.

A `Town` is a few clusters of named nodes, queues in a tree, and workloads. It reports who sits
where as agents do, with the turns of surplus pods, and carries plans out: victims' pods may linger.
"""

from collections.abc import Iterable
from dataclasses import replace

from global_sched.core import run_cycle
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId, PodSetName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Bucket, Running, Snapshot
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Occupant, Topology
from global_sched.shared.model.workload import Progress, Workload
from global_sched.shared.placement import Placed, Space, histogram
from tests.builders import KINDS, NOW, tenant

AXIS = ("cpu", "memory", "pods")
Seat = tuple[str, PodSetName, Resources]
"""The node, the pod set, and what the pod asks for."""


class Member:
    """One cluster: racks of equal nodes, and who sits on them in the order of their indices."""

    def __init__(self, name: str, racks: Iterable[int], cpu: int = 1) -> None:
        self.name = ClusterName(name)
        self.nodes = {
            f"{name}-r{rack}-n{at}": DomainId(f"r{rack}")
            for rack, count in enumerate(racks)
            for at in range(count)
        }
        self.size = (cpu * 1000, 64 << 30, 110)
        self.seats: dict[BindingId, list[Seat]] = {}
        self.domains = (
            *(
                Domain(name=d, tier=1, parent=DomainId("spine"))
                for d in sorted(set(self.nodes.values()))
            ),
            Domain(name=DomainId("spine"), tier=2),
        )

    def topology(self, minimums: dict[BindingId, Amounts]) -> Topology:
        """One leaf for each node."""
        used = {node: [0, 0, 0] for node in self.nodes}
        sitting: dict[str, dict[tuple[BindingId, PodSetName], list[int]]] = {n: {} for n in used}
        for binding, seats in self.seats.items():
            left: dict[PodSetName, int] = {}
            for _, pod_set, _ in seats:
                left[pod_set] = left.get(pod_set, 0) + 1
            total = dict(left)
            for node, pod_set, requests in seats:
                for at, name in enumerate(AXIS):
                    used[node][at] += requests.get(name)
                turn, left[pod_set] = left[pod_set], left[pod_set] - 1
                spare = total[pod_set] - minimums.get(binding, Amounts()).get(pod_set)
                found = sitting[node].setdefault((binding, pod_set), [0])
                found[0] += 1
                if turn <= spare:
                    found.append(turn)
        leaves = tuple(
            Leaf(
                domain=domain,
                node_class=NodeClass(),
                free=tuple(h - u for h, u in zip(self.size, used[node], strict=True)),
                count=1,
                occupants=tuple(
                    sorted(
                        Occupant(binding=b, pod_set=p, pods=one[0], surplus=tuple(sorted(one[1:])))
                        for (b, p), one in sitting[node].items()
                    )
                ),
                node=node,
            )
            for node, domain in sorted(self.nodes.items())
        )
        return Topology(axis=AXIS, domains=self.domains, leaves=leaves, label_keys=())

    def seat(self, one: Workload, amounts: Amounts, domain: DomainId | None) -> bool:
        """Put more pods of a workload on nodes; whether all found one."""
        gang = one.demand.gang
        topology = self.topology({})
        placed = Space(topology).place(gang, amounts=amounts, minimum=amounts, prefer=domain)
        if not isinstance(placed, Placed):
            return False
        for take in placed.takes:
            node = topology.leaves[take.leaf].node
            pods = [(node, take.pod_set, take.requests)] * (take.nodes * take.pods_per_node)
            self.seats.setdefault(one.binding_id, []).extend(pods)
        return True

    def cut(self, binding: BindingId, amounts: Amounts) -> None:
        """Keep so many pods of each pod set, the first ones."""
        left = dict(amounts.entries)
        kept = []
        for seat in self.seats.get(binding, []):
            if left.get(seat[1], 0) > 0:
                left[seat[1]] -= 1
                kept.append(seat)
        self.seats[binding] = kept
        if not kept:
            del self.seats[binding]


class Town:
    """Members, queues and workloads."""

    def __init__(self, members: Iterable[Member], queues: Iterable[Queue]) -> None:
        self.members = {one.name: one for one in members}
        self.queues = tuple(sorted(queues, key=lambda one: one.name))
        self.workloads: dict[WorkloadKey, Workload] = {}
        self.now = NOW

    def add(self, *workloads: Workload) -> None:
        """They wait."""
        self.workloads.update((one.key, one) for one in workloads)

    def run(self, *workloads: Workload, policy: Policy) -> None:
        """They are admitted one after the other, a second apart."""
        for one in workloads:
            self.add(one)
            self.execute(run_cycle(self.snapshot(), policy, self.now))
            assert self.workloads[one.key].targets
            self.now = Instant(self.now + SECOND)

    def snapshot(self) -> Snapshot:
        """What the cache would show of it."""
        all_of_them = sorted(self.workloads.values(), key=lambda one: one.key)
        admitted = [self._progress(one) for one in all_of_them if one.targets]
        waiting: dict[tuple[str, str], list[Workload]] = {}
        for one in all_of_them:
            if not one.targets:
                waiting.setdefault((one.queue, one.tenant), []).append(one)
        running: dict[ClusterName, list[Workload]] = {}
        usage = []
        for one in admitted:
            for grant in one.decision.grants:
                running.setdefault(grant.cluster, []).append(one)
                amount = one.demand.gang.requests(grant.amounts)
                usage.append(
                    Usage(queue=one.queue, tenant=one.tenant, cluster=grant.cluster, amount=amount)
                )
        return Snapshot(
            clusters=tuple(self._cluster(one) for _, one in sorted(self.members.items())),
            queues=self.queues,
            tenants=tuple(tenant(n) for n in sorted({one.tenant for one in all_of_them})),
            usage=tuple(sorted(usage)),
            pending=tuple(
                Bucket(
                    queue=queue,
                    tenant=name,
                    workloads=tuple(sorted(found, key=lambda w: (-w.priority, w.created, w.uid))),
                )
                for (queue, name), found in sorted(waiting.items())
            ),
            unsettled=tuple(one for one in admitted if not one.settled()),
            running=tuple(
                Running(cluster=name, workloads=tuple(found))
                for name, found in sorted(running.items())
            ),
            epoch=1,
        )

    def _cluster(self, member: Member) -> Cluster:
        minimums = {
            one.binding_id: one.demand.gang.minimum_amounts() for one in self.workloads.values()
        }
        total = dict(zip(AXIS, (s * len(member.nodes) for s in member.size), strict=True))
        return Cluster(
            name=member.name,
            kinds=KINDS,
            capacity=Capacity(
                topology=histogram(member.topology(minimums), ()),
                total=Resources.of(total),
                observed=Instant(self.now - SECOND),
                scheduler_names=("volcano",),
            ),
        )

    def _progress(self, one: Workload) -> Workload:
        found = []
        for grant in one.decision.grants:
            counts: dict[PodSetName, int] = {}
            for _, pod_set, _ in self.members[grant.cluster].seats.get(one.binding_id, []):
                counts[pod_set] = counts.get(pod_set, 0) + 1
            bound = Amounts.of(counts)
            found.append(
                Progress(
                    cluster=grant.cluster,
                    bound=bound,
                    minimum_reached=bound.covers(one.demand.gang.minimum_amounts()),
                    decision=one.decision.id,
                )
            )
        return replace(one, progress=tuple(found))

    def execute(self, plan: Plan, *, linger: bool = False) -> None:
        """Carry a plan out. `linger`: pods that have to leave are still there."""
        for claiming in plan.claims:
            self._change(claiming.workload, decision=claiming.decision)
        for withdrawal in plan.withdrawals:
            left = (withdrawal.cluster, *(target.cluster for target in withdrawal.others))
            one = self._change(
                withdrawal.workload,
                decision=withdrawal.decision,
                targets=withdrawal.targets,
                progress=(),
                leaving=left if linger else (),
            )
            for cluster in () if linger else left:
                self.members[cluster].cut(one.binding_id, Amounts())
        changed: list[tuple[bool, Workload]] = []
        for admission in plan.admissions:
            before = self.workloads[admission.workload].decision
            one = self._change(
                admission.workload,
                decision=admission.decision,
                targets=admission.targets,
                placement_applied=True,
                observed_generation=1,
                scheduled=True,
                last_scheduled=admission.decision.at,
            )
            changed.append((before is None or before.claim is None, one))
        # As agents do, who keep the places of claims, each its own: those first, narrow domains
        # before wide ones and large pods before small ones.
        grants = [(new, one, grant) for new, one in changed for grant in one.decision.grants]
        for _, one, grant in sorted(
            grants, key=lambda item: (item[0], _width(item[2]), 0 if item[0] else -_size(item[1]))
        ):
            self._fill(one, grant, linger=linger)

    def _fill(self, one: Workload, grant: Grant, *, linger: bool) -> None:
        amounts, member = grant.amounts, self.members[grant.cluster]
        if not linger:
            member.cut(one.binding_id, amounts)
        counts: dict[PodSetName, int] = {}
        for _, pod_set, _ in member.seats.get(one.binding_id, []):
            counts[pod_set] = counts.get(pod_set, 0) + 1
        missing = amounts.minus(Amounts.of(counts))
        if missing.entries:
            found = member.seat(one, missing, grant.domain)
            assert found, f"{one.key} finds no nodes in {grant.cluster}"

    def leave(self) -> None:
        """Whoever lingers is gone now, and its eviction task with it."""
        for key, one in self.workloads.items():
            if one.leaving:
                self.workloads[key] = replace(one, leaving=())
        for member in self.members.values():
            for one in self.workloads.values():
                grant = one.decision.grant(member.name) if one.decision and one.targets else None
                member.cut(one.binding_id, grant.amounts if grant is not None else Amounts())

    def _change(self, key: WorkloadKey, **changes: object) -> Workload:
        one = self.workloads[key]
        version = str(int(one.resource_version) + 1)
        self.workloads[key] = one = replace(one, resource_version=version, **changes)  # type: ignore[arg-type]
        return one


def _size(one: Workload) -> int:
    gang = one.demand.gang
    return max((pod_set.shape.requests.get("cpu") for pod_set in gang.pod_sets), default=0)


def _width(grant: Grant) -> int:
    return 2**31 if grant.tier is None else grant.tier
