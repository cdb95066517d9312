"""The product as an arm: `run_cycle` on snapshots that the cache's own index builds.

What the leader's writes and the agents' reports would do to a workload is done to its value at
once: no write takes time, an agent binds at once and its report is always fresh. The pods are bound
by the placement engine of the agents, and a decision for which a member has no room is counted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from global_sched.cache.stores.demands import Demands
from global_sched.cache.stores.usage_index import Position, UsageIndex
from global_sched.controllers.scheduling_timer import next_due
from global_sched.core import claims_in_order, run_cycle
from global_sched.shared.model.cluster import Capacity, Cluster
from global_sched.shared.model.decision import Claim
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import (
    MAIN,
    BindingId,
    ClusterName,
    QueueName,
    TenantName,
    WorkloadKey,
    workload_key,
)
from global_sched.shared.model.instant import Instant, parse_instant
from global_sched.shared.model.placement_rule import AffinityGroup, ClusterSelector, PlacementRule
from global_sched.shared.model.plan import Admission, Plan, Withdrawal
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.values import InvariantError
from global_sched.shared.model.workload import Demand, Progress, Workload
from global_sched.sim.engine import Stage, binding_of
from global_sched.sim.jobs import Job
from global_sched.sim.member import Member

BEGIN: Final = parse_instant("2026-01-01T00:00:00Z")
"""The instant at which a trace begins."""
_KIND: Final = ("batch.volcano.sh/v1alpha1", "Job")
_SCHEDULER: Final = "member-agent"
_FRESH: Final = 10**9
"""Seconds between two reports of an agent: none of them ever goes stale."""
_CYCLES: Final = 1000
"""A world that has not settled after so many cycles never will: a burst that reclaims what its
queue is owed, gang after gang, takes some sixty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """What the federation has beside its members."""

    policy: Policy = Policy()
    queues: tuple[Queue, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    early: bool = False
    """Whether a job may only go where most was free when it came: late binding off."""


class Ours:
    """The leader, and the agents of all members."""

    def __init__(self, stage: Stage, sharing: Sharing) -> None:
        self._stage = stage
        self._policy = sharing.policy
        self._early = sharing.early
        self._queues = tuple(sorted(sharing.queues, key=lambda one: one.name))
        self._tenants = tuple(sorted(sharing.tenants, key=lambda one: one.name))
        self._index = UsageIndex(Demands())
        self._positions: dict[WorkloadKey, Position] = {}
        self._workloads: dict[WorkloadKey, Workload] = {}
        self._jobs: dict[WorkloadKey, Job] = {}
        self._claims: dict[WorkloadKey, Claim] = {}
        self._demands: dict[tuple[int, ClusterName | None], Demand] = {}
        self._at = {member.name: at for at, member in enumerate(stage.members)}
        self._order = sorted(range(len(stage.members)), key=lambda at: stage.members[at].name)
        self._clusters = [_cluster(member) for member in stage.members]
        self.cycles = 0

    # --- what happens -------------------------------------------------------------------------

    def arrive(self, job: Job) -> None:
        """Its binding is there."""
        key = _key(job)
        self._jobs[key] = job
        self._set(
            Workload(
                key=key,
                binding_id=binding_of(job),
                uid=f"{job.number:09d}",
                resource_version="1",
                namespace="jobs",
                name=job.name,
                created=Instant(BEGIN + job.submit),
                demand=self._demand(job),
                queue=QueueName(job.queue),
                tenant=TenantName(job.tenant),
                priority=job.priority,
            )
        )

    def ended(self, job: Job) -> None:
        """Its binding is finished: it holds nothing any more."""
        key = _key(job)
        self._index.replace(key, self._positions.pop(key), None, look=False)
        self._claims.pop(key, None)
        del self._workloads[key], self._jobs[key]

    def decide(self, now: int) -> int | None:
        """Cycle until nothing is left to decide at this instant."""
        if not self._index.pending() and not self._index.unsettled():
            return None  # a cycle would have nothing to say
        for turn in range(_CYCLES):
            self._read_reports()
            plan = run_cycle(self.snapshot(), self._policy, Instant(BEGIN + now + turn))
            self.cycles += 1
            if not self._execute(plan, Instant(BEGIN + now + turn)):
                break
        else:
            raise InvariantError(f"the world has not settled after {_CYCLES} cycles at {now} µs")
        due = next_due(self.snapshot(), self._policy, Instant(BEGIN + now))
        return None if due is None else due - BEGIN

    # --- the snapshot -------------------------------------------------------------------------

    def _read_reports(self) -> None:
        """What the agents say; a cycle needs it, and the time of the next one does not."""
        for at, member in enumerate(self._stage.members):
            report, known = member.report(), self._clusters[at]
            capacity = known.capacity
            if capacity is not None and capacity.topology is not report:
                self._clusters[at] = replace(known, capacity=replace(capacity, topology=report))

    def snapshot(self) -> Snapshot:
        """What is known, with the room as of the last reports that were read.

        Parts that did not change are the same objects.
        """
        usage = self._index.usage()
        return Snapshot(
            clusters=tuple(self._clusters[at] for at in self._order),
            queues=self._queues,
            tenants=self._tenants,
            usage=usage,
            usage_sums=self._index.sums(),
            leaving=self._index.leaving(),
            pending=self._index.pending(),
            unsettled=self._index.unsettled(),
            running=self._index.running(),
            epoch=1,
        )

    def _demand(self, job: Job) -> Demand:
        gang = self._stage.gang(job)
        pinned = self._most_free() if self._early else None
        known = self._demands.get((id(gang), pinned))
        if known is None:
            rule = PlacementRule()
            if pinned is not None:
                selector = ClusterSelector(names=(pinned,))
                rule = PlacementRule(affinities=(AffinityGroup(selector=selector),))
            api_version, kind = _KIND
            known = self._demands[id(gang), pinned] = Demand(
                api_version=api_version,
                kind=kind,
                gang=gang,
                rule=rule,
                scheduler_name=_SCHEDULER,
            )
        return known

    def _most_free(self) -> ClusterName:
        return max(self._stage.members, key=lambda one: one.free).name

    def _set(self, workload: Workload) -> None:
        key = workload.key
        self._workloads[key] = workload
        if workload.decision is not None and workload.decision.claim is not None:
            self._claims[key] = workload.decision.claim
        else:
            self._claims.pop(key, None)
        look = workload.admitted() and not workload.settled()
        before = self._positions.get(key) or Position()
        self._positions[key] = self._index.replace(key, before, workload, look=look)

    # --- the plan -----------------------------------------------------------------------------

    def _execute(self, plan: Plan, now: Instant) -> bool:
        """Do what the plan says; whether the next cycle may find more to do."""
        for claiming in plan.claims:
            self._set(replace(self._workloads[claiming.workload], decision=claiming.decision))
        for withdrawal in plan.withdrawals:
            self._withdraw(withdrawal)
        gives_up = [one for one in plan.admissions if self._shrinks(one)]
        for admission in gives_up:
            self._admit(admission, now)
        self._bind([one for one in plan.admissions if one not in gives_up], now)
        for confirmation in plan.confirmations:
            old = self._workloads[confirmation.workload]
            self._set(replace(old, scheduled=True, observed_generation=confirmation.generation))
        limited = len(plan.admissions) >= self._policy.admissions_per_cycle
        return bool(plan.claims or plan.withdrawals or gives_up or limited)

    def _shrinks(self, admission: Admission) -> bool:
        grant = admission.decision.grants[0] if admission.decision.grants else None
        binding = self._workloads[admission.workload].binding_id
        if grant is None:
            return False
        return grant.amounts.pods() < self._pods(grant.cluster, binding)

    def _pods(self, cluster: ClusterName, binding: BindingId) -> int:
        return self._stage.members[self._at[cluster]].pods(binding)

    def _bind(self, admissions: Sequence[Admission], now: Instant) -> None:
        """As agents do: in the order in which room was given, beside what claims keep."""
        if not admissions:
            return
        claims = [(self._workloads[key], claim) for key, claim in self._claims.items()]
        before = [one for one in claims if one[1].since < now]
        kept = [one for known in claims_in_order(before) for one in self._keep(*known)]
        turns: list[tuple[int, Workload, Admission | Claim]] = [
            (claim.order, one, claim) for one, claim in claims if claim.since == now
        ]
        turns += [(one.decision.order, self._workloads[one.workload], one) for one in admissions]
        for _, workload, step in sorted(turns, key=lambda turn: (turn[0], turn[1].key)):
            if isinstance(step, Claim):
                kept += self._keep(workload, step)
                continue
            for member, binding in kept:
                if binding == workload.binding_id:
                    member.let_go(binding)
            self._admit(step, now)
        for member, binding in kept:
            member.let_go(binding)

    def _keep(self, one: Workload, claim: Claim) -> Iterator[tuple[Member, BindingId]]:
        """Keep the room of a claim where its parts are."""
        gang = self._stage.gang(self._jobs[one.key])
        for part in claim.parts:
            member, pods = self._stage.members[self._at[part.cluster]], part.amounts.pods()
            member.keep(one.binding_id, gang, pods, part.domain, drains=not claim.victims)
            yield member, one.binding_id

    def _admit(self, admission: Admission, now: Instant) -> None:
        old, job = self._workloads[admission.workload], self._jobs[admission.workload]
        (grant,) = admission.decision.grants
        bound, pods = self._pods(grant.cluster, old.binding_id), grant.amounts.pods()
        if not bound:
            if not self._stage.start(job, self._at[grant.cluster], pods, grant.domain):
                return  # the workload waits as before; `misplaced` has counted it
        elif pods != bound:
            self._stage.resize(job, pods, grant.domain)
        bound = self._pods(grant.cluster, old.binding_id)
        progress = Progress(
            cluster=grant.cluster,
            bound=Amounts.of({MAIN: bound}),
            minimum_reached=bound >= job.least,
            decision=admission.decision.id,
        )
        self._set(
            replace(
                old,
                decision=admission.decision,
                targets=admission.targets,
                placement_applied=True,
                observed_generation=old.generation,
                observed_affinity=admission.affinity,
                last_scheduled=now,
                scheduled=True,
                progress=(progress,),
            )
        )

    def _withdraw(self, withdrawal: Withdrawal) -> None:
        """The pods leave at once, and so does what says that they might still run."""
        old, job = self._workloads[withdrawal.workload], self._jobs[withdrawal.workload]
        self._stage.evict(job)
        decision = replace(withdrawal.decision, left=())
        self._set(replace(old, decision=decision, targets=(), progress=(), leaving=(), left=()))


def _key(job: Job) -> WorkloadKey:
    return workload_key("jobs", f"{job.number:09d}")


def _cluster(member: Member) -> Cluster:
    return Cluster(
        name=member.name,
        kinds=("/".join(_KIND),),
        capacity=Capacity(
            topology=member.report(),
            total=member.total,
            observed=BEGIN,
            largest=member.largest,
            period_seconds=_FRESH,
            scheduler_names=(_SCHEDULER,),
        ),
    )


def queue_names(queues: Sequence[Queue]) -> frozenset[str]:
    """The names of queues that jobs may be in."""
    return frozenset(str(one.name) for one in queues)
