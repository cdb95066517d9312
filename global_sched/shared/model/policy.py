"""The choices of a federation's operators, in one value that every decision takes."""

from dataclasses import dataclass, field

from global_sched.shared.model.recovery_spec import RecoveryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreWeights:
    """Weights of the scores (each 0..100) that rank the clusters which fit."""

    topology: int = 400
    """Lowest tier of the enclosing domain first, for gangs with a topology constraint. A tier is 11
    of the 100: by default more than tightness, packing and balance together."""
    tightness: int = 10
    """Tightest domain first, for gangs with a topology constraint."""
    shape: int = 40
    """Clusters whose resources go with what a job asks for about as well as those of the best
    first, for jobs that are nowhere yet and have no topology constraint: balanced clusters for
    balanced jobs, much memory for those that need it, devices for those that ask for them."""
    packing: int = 20
    """Fuller clusters first, so that large gangs keep room elsewhere."""
    balance: int = 10
    """Clusters where the tenant holds less first."""
    locality: int = 40
    """Clusters where the workload already is first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Published by the leader in the ConfigMap `global-sched-policy`, with its hash."""

    score_weights: ScoreWeights = field(default_factory=ScoreWeights)
    report_trust_seconds: int = 30
    """A capacity report older than this, or than three of its periods if that is longer, is
    stale: its cluster takes no new work."""
    placement_timeout_seconds: int = 120
    """A gang whose minimum is not bound this long after its admission is withdrawn."""
    backoff_seconds: int = 60
    """How long a cluster that could not place a workload is left out; doubles per failure."""
    backoff_limit_seconds: int = 3600
    """The longest such back-off."""
    allow_summary: bool = False
    """Whether a cluster without an agent may take workloads without a topology constraint, by
    Karmada's resource summary."""
    reason_interval_seconds: int = 60
    """After this long a pending workload's condition is written again if only its text changed. A
    reason counts as text, unless the code is NEVER: that is written at once."""
    reason_writes_per_cycle: int = 500
    """At most so many conditions of pending workloads are written per cycle."""
    label_keys_limit: int = 64
    """At most so many node label keys are asked of the agents."""
    admissions_per_cycle: int = 5000
    """A cycle ends after so many admissions; the next one follows at once."""
    searches_per_cycle: int = 16
    """At most so many searches for victims per cycle, in the order of the line and one for each
    equal shape; the others wait for a later cycle."""
    hold_seconds: int = 300
    """How long room is kept for a claim. Also the hold: for so long, doubled with each eviction of
    a workload up to eight times, a victim claims nothing itself, and a workload that was admitted
    by a claim, or came back after it had to leave, is no victim of reclaim."""
    min_runtime_before_reclaim_seconds: int = 0
    """So long a workload runs before other queues may reclaim its place, where neither its queue
    nor one above it says otherwise. Surplus, gangs below their minimum and claims that a guarantee
    covers are not bound."""
    min_runtime_before_preemption_seconds: int = 0
    """The same, before a higher priority of its queue may take its place."""
    reclaim_loss_limit_gpu_hours: int = 0
    """The most work of a gang that reclaim may undo: its GPUs (of the device that it has most of)
    times the time since its start or its last checkpoint. One with more to lose is no victim of
    other queues; 0: any may be. Surplus, gangs below their minimum and claims that a guarantee
    covers are not bound."""
    min_runtime_limit_seconds: int = 604_800
    """The longest minimum run time that a queue may ask for; more counts as this."""
    patience_seconds: int = 7200
    """A gang without room for so long gets a domain reserved that drains for it; 0: none does."""
    reservations: int = 4
    """At most so many such reservations at a time in the federation, one in each queue."""
    lend_guarantees: bool = False
    """Whether others may use what a queue has guaranteed and does not use. They give it back by
    reclaim, as far as that is possible; without it, it stays free."""
    ageing_period_seconds: int = 0
    """After each so many seconds of waiting a job ranks `ageing_step` higher within its queue;
    0: never. Ageing orders the queue only: it evicts nothing."""
    ageing_step: int = 1
    """By how much the priority rises with each period, in units of PriorityClass values."""
    ageing_limit: int = 1000
    """The most by which waiting raises a priority: a job that is more than this above another in
    PriorityClass stays before it, however long that one waits."""
    usage_half_life_seconds: int = 0
    """After each so many seconds half of what a tenant held is forgotten: until then it counts in
    the tenants' order beside what they hold now; 0: the past counts for nothing."""
    usage_weight_percent: int = 100
    """How much the average of what a tenant held counts, beside 100 for what it holds now."""
    recovery_heal_seconds: int = 60
    """A lost pod of a job with a recovery ladder that is Ready again within so many seconds costs
    nothing else (docs/recovery.md)."""
    recovery_step_seconds: int = 600
    """When a step of a job's recovery ladder has not made it whole for so many seconds, the next
    wider one follows."""
    elastic_cooldown_limit_seconds: int = 3600
    """The longest cooldown of an elastic gang that counts: while it lasts the gang leaves for no
    other job, but for one that a guarantee covers. 0 lets none count."""
    recovery_hold_limit_seconds: int = 3600
    """The longest `hold` that a job's recovery annotation may ask for."""
    recovery_node_exit_codes: tuple[int, ...] = ()
    """Exit codes, at most 32, that blame the node whichever job ends with them: the node is on
    probation for six hours, never closed. Any job may choose its codes: list those only that your
    images use for broken devices."""
    moves_per_cycle: int = 4
    """At most so many gangs leave members that cannot hold them in one cycle; 0: none moves."""
    moves_per_hour: int = 20
    """At most so many within an hour, in the federation; each at most once."""
    checkpoint_grace_limit_seconds: int = 300
    """The longest time for which a gang that has to leave is waited for, so that it writes a
    checkpoint; more counts as this, and 0 lets all leave at once (docs/recovery.md)."""
    copied_kinds: tuple[str, ...] = ()
    """Kinds (`DaemonSet.apps`) that make pods and are copied to every cluster that a policy selects
    all the same, without queue and quota: kinds without a reader for which Karmada's interpreter
    gives no demand. Others of the table in docs/kinds.md are refused."""
    pod_kinds: tuple[str, ...] = ()
    """More kinds (`Kind.group`) that make pods, beside those of docs/kinds.md."""
    placement_search_limit: int = 20_000_000
    """Additions that the exact search for one gang of several shapes or with partitions may take
    (20 million: a tenth of a second); a fortieth of them to bring a placement that is known closer
    together. Beyond it the best placement that was found is used, and a gang for which none was
    found waits as not proven."""

    def recovery(self) -> RecoveryPolicy:
        """What the agents need of it for recovery."""
        return RecoveryPolicy(
            heal_seconds=self.recovery_heal_seconds,
            step_seconds=self.recovery_step_seconds,
            hold_limit_seconds=self.recovery_hold_limit_seconds,
            node_exit_codes=self.recovery_node_exit_codes,
        )
