"""The unit that is scheduled: one binding with what its template asks for."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.api.pod_kinds import KNOWN, group_kind
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Decision, Grant, Left
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import (
    BindingId,
    ClusterName,
    DecisionId,
    QueueName,
    TenantName,
    WorkloadKey,
)
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.lifetime import KeepsAnswers
from global_sched.shared.model.placement_rule import PlacementRule
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.verdict import Code, Verdict


class Division(StrEnum):
    """How a workload uses the chosen clusters."""

    WHOLE = "Whole"
    """A gang: all of it in one cluster, whatever `replicaScheduling` says."""
    DUPLICATED = "Duplicated"
    """All replicas in every chosen cluster, counted once per cluster."""
    DIVIDED = "Divided"
    """Replicas split over clusters, in all at most the template's."""
    COPIED = "Copied"
    """No demand: a copy goes to every cluster that passes the filters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """All that decides where a workload fits. Equal demands get equal verdicts from a cluster.

    The cache shares one object between equal demands, so identity may serve as a key.
    """

    api_version: str
    kind: str
    gang: Gang | None = None
    """What it needs in one cluster; None for `COPIED`."""
    division: Division = Division.WHOLE
    rule: PlacementRule = PlacementRule()
    scheduler_name: str = ""
    """Who binds the pods, as the template says; empty means Kubernetes' default."""
    scheduler_overrides: tuple[tuple[ClusterName, str | None], ...] = ()
    """The name after overrides, where a policy changes it; None = an overrider is unreadable."""
    carries_replicas: bool = True
    """Whether entries of `spec.clusters` carry replicas (the binding has some)."""

    def uncounted(self, policy: Policy) -> bool:
        """Whether copies of it would run pods that no queue and no quota counts."""
        if self.division != Division.COPIED:
            return False
        kind = group_kind(self.api_version, self.kind)
        return (kind in KNOWN or kind in policy.pod_kinds) and kind not in policy.copied_kinds

    def scheduler_in(self, cluster: ClusterName) -> str | None:
        """The scheduler name that counts in a cluster; None when it cannot be known."""
        for name, scheduler in self.scheduler_overrides:
            if name == cluster:
                return scheduler
        return self.scheduler_name or "default-scheduler"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Target:
    """One entry of `spec.clusters`."""

    cluster: ClusterName
    replicas: int | None = None


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PodLoss:
    """A pod that ran and was lost, in the words of the cluster's report."""

    at: str
    pod: str
    node: str
    cause: str
    detail: str


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Progress:
    """What a cluster's report says of this workload.

    `decision` is the one under which the agent saw it. `since` is when that was first reported.
    """

    cluster: ClusterName
    bound: Amounts = Amounts()
    minimum_reached: bool = False
    decision: DecisionId = DecisionId("")
    reason: str = ""
    """Why the agent has not placed it, in its words."""
    below: Instant | None = None
    """Since when it is below its minimum there, after it had it under that decision."""
    short: Instant | None = None
    """Since when fewer pods than admitted are bound there, after its minimum was."""
    losses: tuple[PodLoss, ...] = ()
    """Its last losses within a day, the latest one last."""
    answered: Instant | None = None
    """The call for a checkpoint that its program has answered."""
    waits_at: str = ""
    """The step of ours to which its recovery ladder has come: `shrink`, `cluster`, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """What the Scheduled condition says now, for comparison: write only what changed."""

    code: Code | None = None
    reason: Reason | None = None
    nearest: ClusterName | None = None
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(KeepsAnswers):
    """One binding that is ours, at one resourceVersion.

    `problem` is a verdict that already stands: the spec was refused, or its template has not
    been seen. `settled` is False when anything about an admitted workload needs a look.
    """

    key: WorkloadKey
    binding_id: BindingId
    uid: str
    resource_version: str
    namespace: str
    name: str
    """The template's name."""
    created: Instant
    generation: int = 1
    demand: Demand
    queue: QueueName = QueueName("default")
    priority: int = 0
    """The job priority; while it is admitted, the one that it was admitted with (cache.resolve)."""
    priority_class: str = ""
    tenant: TenantName
    group: str = ""
    """Bindings of one group are admitted all or none; empty for none."""
    group_size: int = 1
    problem: Verdict | None = None
    preemptable: bool = True
    """Whether it may have to leave for another workload."""
    run_limit: int | None = None
    """After so many seconds its pods end, whatever they do; None: no limit is known."""
    checkpoint: Instant | None = None
    """When it last saved its work; what came after is lost when it has to leave."""
    below_minimum: BelowMinimum | None = None
    """What it asks for when its member cannot hold it; None: it stays there."""
    checkpoint_grace: int = 0
    """For so many seconds it is waited for before it has to leave; 0: it leaves at once."""

    decision: Decision | None = None
    forged: str = ""
    """Why the decision annotation was not believed; the decision is then recomputed."""
    shrunk: bool = False
    """Whether the template has fewer pods than the decision annotation: `decision` is cut to it,
    and has to be written."""
    late: bool = False
    """Whether its decision is of an earlier leader and was written after the present one began: it
    was not made on what has been decided since."""
    targets: tuple[Target, ...] = ()
    leaving: tuple[ClusterName, ...] = ()
    """Clusters in `gracefulEvictionTasks` and in `left`: never chosen while they are there."""
    left: tuple[Left, ...] = ()
    """Clusters that we withdrew it from, where something of it may still run. A gang goes nowhere
    before it has left."""
    placement_json: str = ""
    """`spec.placement` as stored, compact: the text for the applied-placement annotation."""
    placement_applied: bool = False
    """Whether the applied-placement annotation equals the placement."""
    observed_generation: int = 0
    observed_affinity: str = ""
    last_scheduled: Instant | None = None
    reschedule_at: Instant | None = None
    scheduled: bool = False
    """Whether the Scheduled condition is True."""
    reported: Reported = Reported()
    progress: tuple[Progress, ...] = ()
    finished: bool = False

    def admitted(self) -> bool:
        """Whether it holds room: it has clusters and is not finished."""
        return bool(self.targets) and not self.finished

    def paused(self) -> bool:
        """Whether its template says that nothing is to run now."""
        return self.problem is not None and self.problem.reason == Reason.SUSPENDED

    def to_pause(self) -> bool:
        """Whether it is paused, and its decision still grants, asks for or claims pods.

        What is granted anew when it goes on has to fit then, like any growth.
        """
        decision = self.decision
        if decision is None or not self.paused():
            return False
        asks = bool(decision.pending.entries) or decision.claim is not None
        return asks or any(grant.amounts.entries for grant in decision.grants)

    def progress_in(self, cluster: ClusterName) -> Progress | None:
        """The report of one cluster on this workload."""
        return next((p for p in self.progress if p.cluster == cluster), None)

    def minimum_reached(self, grant: Grant) -> bool:
        """Whether that cluster's minimum was bound at some time under the present decision.

        What its pods did later does not matter: losses belong to the job's own policies.
        """
        progress, gang = self.progress_in(grant.cluster), self.demand.gang
        if gang is None:
            return True
        if progress is None or self.decision is None:
            return False
        if progress.minimum_reached and progress.decision == self.decision.id:
            return True
        minimum = gang.minimum_amounts()
        floor = {name: min(pods, grant.amounts.get(name)) for name, pods in minimum.entries}
        return progress.bound.covers(Amounts.of(floor))

    def fell_below_minimum(self, grant: Grant) -> bool:
        """Whether its minimum was bound under the present decision, and is not now."""
        progress, gang = self.progress_in(grant.cluster), self.demand.gang
        if progress is None or gang is None or not self.minimum_reached(grant):
            return False
        floor = {n: min(pods, grant.amounts.get(n)) for n, pods in gang.minimum_amounts().entries}
        return not progress.bound.covers(Amounts.of(floor))

    def held(self, grant: Grant) -> Amounts:
        """The pods that it is charged for in that cluster: those admitted, or more while they run.

        A template that shrank leaves pods behind that end later than the decision is written; they
        count until a report shows that they ended. Pods beyond the admitted ones while the template
        asks for more are not the queue's: nothing admitted them.
        """
        progress, gang = self.progress_in(grant.cluster), self.demand.gang
        if progress is None or not progress.decision or gang is None:
            return grant.amounts
        beyond = progress.bound.minus(grant.amounts)
        if not beyond.entries:
            return grant.amounts
        wanted = self.lacking()
        left = {name: pods for name, pods in beyond.entries if not wanted.get(name)}
        return grant.amounts.plus(Amounts.of(left))

    def giving_up(self, grant: Grant) -> Amounts:
        """The surplus pods that it had to give up in that cluster and that run there still."""
        progress = self.progress_in(grant.cluster)
        give_up = () if self.decision is None else self.decision.give_up
        leaves = next((amounts for at, amounts in give_up if at == grant.cluster), None)
        if progress is None or leaves is None:
            return Amounts()
        return progress.bound.minus(grant.amounts).within(leaves)

    def lacking(self) -> Amounts:
        """What its template asks for and no grant gives: growth that is not admitted.

        For `DUPLICATED` it is what the cluster lacks that lacks most.
        """
        return Amounts() if self.decision is None else lacking(self.demand, self.decision.grants)

    def granted(self) -> Amounts:
        """The pods that it was admitted with, in all clusters."""
        found = Amounts()
        for grant in () if self.decision is None else self.decision.grants:
            found = found.plus(grant.amounts)
        return found

    def surplus(self) -> bool:
        """Whether it was granted more than its template asks for now."""
        if self.demand.gang is None or self.decision is None:
            return False
        wanted, given = self.demand.gang.all_amounts(), Amounts()
        for grant in self.decision.grants:
            if self.demand.division == Division.DUPLICATED:
                given = Amounts()
            given = given.plus(grant.amounts)
            if not wanted.covers(given):
                return True
        return False

    def reschedule_due(self) -> bool:
        """Whether a reschedule was asked for since the last scheduling.

        In the very second of the last scheduling counts, too: answers are stamped later than what
        they answer (`answered_at`). Karmada's scheduler never answers such a request.
        """
        asked, last = self.reschedule_at, self.last_scheduled
        return asked is not None and last is not None and asked >= last

    def _waits_for_us(self, progress: Progress) -> bool:
        """Whether its member cannot hold it there, and it asked for what we do then."""
        asked = self.below_minimum
        if asked is None:
            return False
        short = asked.shrinks and progress.short is not None
        return short or ((asked.moves or asked.releases) and progress.below is not None)

    def settled(self) -> bool:
        """Whether a cycle has nothing to do for this admitted workload.

        As far as the workload alone can tell: its clusters may be gone, and who knows the
        clusters has to ask that too. Copies and duplicates never settle, because any cluster that
        becomes usable may take them.
        """
        decision = self.decision
        if decision is None or not self.scheduled or not self.placement_applied:
            return False
        if self.forged or self.shrunk or self.late or self.to_pause():
            return False
        if self.last_scheduled is None or self.observed_generation != self.generation:
            return False
        if self.reschedule_due():
            return False
        if self.demand.division in (Division.COPIED, Division.DUPLICATED):
            return False
        if self.surplus() or self.lacking().entries or decision.pending.entries:
            return False
        if decision.claim is not None or decision.called is not None:
            return False
        if any(self._waits_for_us(one) for one in self.progress):
            return False
        return all(self.minimum_reached(grant) for grant in decision.grants)


def lacking(demand: Demand, grants: tuple[Grant, ...]) -> Amounts:
    """What a demand asks for and these grants do not give; see `Workload.lacking`."""
    if demand.gang is None:
        return Amounts()
    wanted = demand.gang.all_amounts()
    if demand.division == Division.DUPLICATED:
        lacks = [wanted.minus(grant.amounts) for grant in grants]
        return max(lacks, key=lambda lack: (lack.pods(), lack), default=Amounts())
    for grant in grants:
        if grant.amounts == wanted:
            return Amounts()
        wanted = wanted.minus(grant.amounts)
    return wanted
