"""Worlds in which pods keep their nodes, for everything about victims.

A `Town` is a few clusters of named nodes, queues in a tree, and workloads. It carries plans out,
and agents follow their Directives: they place the pods and report who sits where (`town_members`).
Victims' pods may linger.
"""

from collections.abc import Iterable
from dataclasses import replace

from global_sched.core import run_cycle
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Usage
from global_sched.shared.model.snapshot import Bucket, Running, Snapshot
from global_sched.shared.model.workload import Workload
from tests.builders import NOW, tenant
from tests.town_members import Member

__all__ = ["Member", "Town"]


class Town:
    """Members, queues and workloads."""

    def __init__(self, members: Iterable[Member], queues: Iterable[Queue]) -> None:
        self.members = {one.name: one for one in members}
        self.queues = tuple(sorted(queues, key=lambda one: one.name))
        self.workloads: dict[WorkloadKey, Workload] = {}
        self.now = NOW

    def copy(self) -> "Town":
        """Another one just like it, which goes its own way."""
        found = Town([one.copy() for one in self.members.values()], self.queues)
        found.workloads = dict(self.workloads)
        found.now = self.now
        return found

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
            clusters=tuple(one.cluster(self.now) for _, one in sorted(self.members.items())),
            queues=self.queues,
            tenants=tuple(tenant(n) for n in sorted({one.tenant for one in all_of_them})),
            usage=tuple(sorted(usage)),
            leaving=tuple(
                Usage(queue=one.queue, tenant=one.tenant, cluster=left.cluster, amount=left.held)
                for one in all_of_them
                for left in one.left
            ),
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

    def _progress(self, one: Workload) -> Workload:
        told = [
            self.members[grant.cluster].progress(one, self.now) for grant in one.decision.grants
        ]
        return replace(one, progress=tuple(found for found in told if found is not None))

    def execute(self, plan: Plan, *, linger: bool = False) -> None:
        """Carry a plan out. `linger`: pods that have to leave are still there."""
        for claiming in plan.claims:
            self._change(claiming.workload, decision=claiming.decision)
        for withdrawal in plan.withdrawals:
            left = (withdrawal.cluster, *(target.cluster for target in withdrawal.others))
            self._change(
                withdrawal.workload,
                decision=replace(withdrawal.decision, left=()),
                targets=withdrawal.targets,
                progress=(),
                leaving=left if linger else (),
                left=withdrawal.decision.left if linger else (),
            )
        for admission in plan.admissions:
            self._change(
                admission.workload,
                decision=admission.decision,
                targets=admission.targets,
                placement_applied=True,
                observed_generation=1,
                scheduled=True,
                last_scheduled=admission.decision.at,
            )
        self._obey(linger=linger)
        for admission in plan.admissions:
            self._check(self.workloads[admission.workload])

    def _obey(self, *, linger: bool = False) -> None:
        for member in self.members.values():
            member.obey(self.workloads.values(), self.now, linger=linger)

    def _check(self, one: Workload) -> None:
        """All of its pods found a node."""
        for grant in one.decision.grants:
            member = self.members[grant.cluster]
            bound = member.bound(one.binding_id)
            assert bound.covers(grant.amounts), (
                f"{one.key} has {bound} of {grant}\n{member.shown()}"
            )

    def leave(self) -> None:
        """Lingering workloads are gone now, and their eviction task with it."""
        for key, one in self.workloads.items():
            if one.leaving:
                self.workloads[key] = replace(one, leaving=(), left=())
        for member in self.members.values():
            member.leave()
        self._obey()

    def _change(self, key: WorkloadKey, **changes: object) -> Workload:
        one = self.workloads[key]
        version = str(int(one.resource_version) + 1)
        self.workloads[key] = one = replace(one, resource_version=version, **changes)  # type: ignore[arg-type]
        return one
