"""Every metric of both programs, in one table; docs/reference is generated from it.

Names here are without prefix: global-sched exports `gsched_…`, the member agent `magent_…`.
To add one, add a constant; `SPECS` collects them.
"""

from typing import Final

from global_sched.shared.telemetry.spec import (
    AGENT,
    BOTH,
    SLOW,
    MetricSpec,
    counter,
    gauge,
    histogram,
)

# --- scheduling (global-sched) --------------------------------------------------------------

CYCLE_DURATION: Final = histogram(
    "cycle_duration_seconds",
    "Time of one scheduling cycle by phase: snapshot, decide, dispatch, total.",
    "phase",
)
CYCLES: Final = counter(
    "cycles_total", "Scheduling cycles by outcome: planned, empty, skipped, failed.", "outcome"
)
VERDICTS: Final = counter(
    "verdicts_total",
    "Verdicts of scheduling cycles by code: fit, wait, no_fit, never.",
    "code",
)
PENDING: Final = gauge(
    "pending_workloads",
    "Workloads that wait, by queue and verdict code.",
    "queue",
    "code",
)
PENDING_REASONS: Final = gauge(
    "pending_reasons", "Workloads that wait, by the reason of their verdict.", "reason"
)
OLDEST_PENDING: Final = gauge(
    "oldest_pending_seconds", "Age of the oldest waiting workload of a queue.", "queue"
)
ADMITTED: Final = gauge("admitted_workloads", "Workloads admitted and not finished.", "queue")
COPIED_OBJECTS: Final = gauge(
    "copied_objects",
    "Objects without demand that are copied to clusters, which no queue or quota counts, by kind. "
    "A kind that makes pods belongs in the Policy's pod_kinds.",
    "kind",
)
ADMISSION_WAIT: Final = histogram(
    "admission_wait_seconds",
    "Time from a binding's creation to its first committed decision.",
    "queue",
    buckets=SLOW,
)
DECISIONS: Final = counter(
    "decisions_total",
    "Decisions by kind (admit, claim, withdraw) and outcome (committed, conflict, fenced, failed).",
    "kind",
    "outcome",
)
DISPATCH_WRITES: Final = counter(
    "dispatch_writes_total",
    "Writes of the leader by object (binding, binding_status, directive, queue_status, "
    "waiting_list), verb and outcome (ok, conflict, gone, invalid, failed, in_doubt).",
    "object",
    "verb",
    "outcome",
)
DISPATCH_CONFLICTS: Final = counter(
    "dispatch_conflicts_total", "Decisions dropped because the binding changed meanwhile."
)
DISPATCH_IN_FLIGHT: Final = gauge("dispatch_in_flight", "Writes that wait for their answer.")
STATUS_DEFERRED: Final = gauge(
    "status_writes_deferred", "Condition writes that wait for the write budget of a later cycle."
)
ASSUMED_PODS: Final = gauge(
    "assumed_pods", "Admitted pods that no report has counted yet, by cluster.", "cluster"
)
WITHDRAWN: Final = counter(
    "withdrawn_total", "Workloads taken back from a member that could not place them.", "cluster"
)
MOVES: Final = counter(
    "moves_total",
    "Gangs that left a member that could not hold them: moved to another one, or released.",
    "cluster",
    "outcome",
)
MOVE_DURATION: Final = histogram(
    "move_seconds",
    "Time of a move: below its minimum before it is withdrawn (`below`); from then until the old "
    "copy is gone (`gone`), and until it is placed again (`placed`).",
    "phase",
    buckets=SLOW,
)
GANGS_NOT_WHOLE: Final = gauge(
    "gangs_not_whole",
    "Gangs below their minimum that asked to move or to give their place back, and stay, by why.",
    "stays",
)
INVALID_OBJECTS: Final = gauge(
    "invalid_objects", "Objects set aside because they cannot be used, by kind.", "kind"
)
FORGED_DECISIONS: Final = counter(
    "forged_decisions_total", "Decision annotations that did not match what was recomputed."
)

# --- queues, tenants, clusters (global-sched) -----------------------------------------------

QUEUE_USAGE: Final = gauge(
    "queue_usage",
    "What the admitted workloads of a queue use: cores, bytes or pieces.",
    "queue",
    "resource",
)
QUEUE_CAPABILITY: Final = gauge(
    "queue_capability", "Limit of a queue: cores, bytes or pieces.", "queue", "resource"
)
QUEUE_SHARE: Final = gauge("queue_share_ratio", "Weighted dominant share of a queue.", "queue")
QUEUE_OPEN: Final = gauge("queue_open", "1 while the queue admits workloads.", "queue")
TENANT_SHARE: Final = gauge("tenant_share_ratio", "Weighted dominant share of a tenant.", "tenant")
CLUSTER_REPORT_AGE: Final = gauge(
    "cluster_report_age_seconds",
    "Time since the last capacity report of a cluster arrived here.",
    "cluster",
)
CLUSTER_FREE: Final = gauge(
    "cluster_free",
    "What a cluster's report says is free, minus what is assumed: cores, bytes or pieces.",
    "cluster",
    "resource",
)
CLUSTER_CAPACITY: Final = gauge(
    "cluster_capacity", "What a cluster's nodes hold in all.", "cluster", "resource"
)
DIRECTIVE_BYTES: Final = gauge(
    "directive_bytes", "Size of the Directive of a cluster, all slices.", "cluster"
)

# --- leadership (global-sched) --------------------------------------------------------------

LEADER: Final = gauge("leader", "1 while this process leads.", programs=BOTH)
EPOCH: Final = gauge("epoch", "Number of the leader's term; 0 while following.", programs=BOTH)
ELECTION_BLOCKED: Final = gauge(
    "election_blocked",
    "1 while this process cannot be elected: the Lease can be neither read nor written.",
    programs=BOTH,
)
LEADER_TRANSITIONS: Final = counter(
    "leader_transitions_total", "Times this process became or ceased to be leader.", programs=BOTH
)

# --- member agent ---------------------------------------------------------------------------

GANGS: Final = gauge(
    "gangs", "Gangs by state: waiting, binding, bound, failed.", "state", programs=AGENT
)
GANGS_PLACED: Final = counter(
    "gangs_placed_total",
    "Gangs whose minimum was bound, by where: directed, elsewhere, free.",
    "where",
    programs=AGENT,
)
GANG_TIER: Final = counter(
    "gang_tier_total", "Gangs placed, by the tier of their domain.", "tier", programs=AGENT
)
NODE_TROUBLE: Final = gauge(
    "node_trouble",
    "Nodes by state: trouble (they take no new pods), probation (a last resort for gangs).",
    "state",
    programs=AGENT,
)
PODS_LOST: Final = counter(
    "pods_lost_total",
    "Pods of workloads that ran and were lost, by cause.",
    "cause",
    programs=AGENT,
)
PODS_DISTURBED: Final = counter(
    "recovery_pods_disturbed_total",
    "Running pods that a recovery ladder restarted for the sake of others.",
    programs=AGENT,
)
RECOVERY_DURATION: Final = histogram(
    "recovery_seconds",
    "Time from a loss until its place was Ready again, of jobs with a recovery ladder.",
    "scope",
    "cause",
    buckets=SLOW,
    programs=AGENT,
)
NAMES_FREED: Final = counter(
    "names_freed_total",
    "Pods deleted without grace, since their machine is off, by cause.",
    "cause",
    programs=AGENT,
)
PLACEMENTS_UNPROVEN: Final = counter(
    "placements_unproven_total",
    "Answers that the search limit ended before they were certain: closer, or a fit, may exist.",
    programs=BOTH,
)
BINDS: Final = counter(
    "binds_total",
    "Binds of pods by result: bound, conflict, gone, failed.",
    "result",
    programs=AGENT,
)
ROLLBACKS: Final = counter(
    "rollbacks_total", "Gangs whose bound pods were deleted to start anew.", programs=AGENT
)
PLACE_DURATION: Final = histogram(
    "place_duration_seconds", "Time to choose nodes for one gang.", programs=AGENT
)
REPORTS: Final = counter(
    "reports_total",
    "Capacity reports by outcome: written, unchanged, conflict, failed.",
    "outcome",
    programs=AGENT,
)
REPORT_BYTES: Final = gauge(
    "report_bytes", "Size of the last capacity report, all slices.", programs=AGENT
)
REPORT_SLICES: Final = gauge(
    "report_slices", "Objects of the last capacity report.", programs=AGENT
)
REPORT_GENERATION: Final = gauge(
    "report_generation", "Generation of the last capacity report.", programs=AGENT
)
REPORT_BUILD_DURATION: Final = histogram(
    "report_build_duration_seconds", "Time to build one capacity report.", programs=AGENT
)
REPORT_ROUNDED: Final = gauge(
    "report_rounded",
    "1 while free amounts are rounded down to keep the report small.",
    programs=AGENT,
)
REPORT_AGE: Final = gauge(
    "report_age_seconds", "Time since the last capacity report was written.", programs=AGENT
)
DIRECTIVE_ENTRIES: Final = gauge(
    "directive_entries", "Admitted workloads in the Directive.", programs=AGENT
)
NODES: Final = gauge(
    "nodes", "Nodes by state: schedulable, unschedulable, not_ready.", "state", programs=AGENT
)
HYPERNODES: Final = gauge("hypernodes", "HyperNodes in use by tier.", "tier", programs=AGENT)
HYPERNODES_INVALID: Final = gauge(
    "hypernodes_invalid", "HyperNodes left out because their tree is not one.", programs=AGENT
)
JOBS: Final = gauge("jobs", "Volcano Jobs run by the agent, by phase.", "phase", programs=AGENT)

# --- both programs --------------------------------------------------------------------------

API_REQUESTS: Final = counter(
    "api_requests_total",
    "Requests to API servers; code 0 means that no answer came.",
    "server",
    "verb",
    "resource",
    "code",
    programs=BOTH,
)
API_REQUEST_DURATION: Final = histogram(
    "api_request_duration_seconds",
    "Time of one request, watches left out.",
    "server",
    "verb",
    programs=BOTH,
)
INFORMER_OBJECTS: Final = gauge(
    "informer_objects", "Objects known of a watched resource.", "server", "resource", programs=BOTH
)
INFORMER_MALFORMED: Final = gauge(
    "informer_malformed_objects",
    "Objects of a watched resource that cannot be read.",
    "server",
    "resource",
    programs=BOTH,
)
INFORMER_SYNCED: Final = gauge(
    "informer_synced", "1 once the first list is complete.", "server", "resource", programs=BOTH
)
INFORMER_LISTS: Final = counter(
    "informer_lists_total",
    "Lists of a watched resource by reason: first, gone, resync, unreadable.",
    "server",
    "resource",
    "reason",
    programs=BOTH,
)
INFORMER_EVENTS: Final = counter(
    "informer_events_total", "Watch events received.", "server", "resource", programs=BOTH
)
INFORMER_FAILURES: Final = counter(
    "informer_failures_total",
    "Lists and watches that failed.",
    "server",
    "resource",
    programs=BOTH,
)
WATCH_STALENESS: Final = gauge(
    "watch_staleness_seconds",
    "Time since the server last proved that a watched resource is up to date.",
    "server",
    "resource",
    programs=BOTH,
)
QUEUE_DEPTH: Final = gauge(
    "work_queue_depth",
    "Keys of a work queue by state: ready, delayed, processing, failing.",
    "queue",
    "state",
    programs=AGENT,
)
EVENTS: Final = counter(
    "events_total", "Events by outcome: written, dropped, failed.", "outcome", programs=BOTH
)
LOOP_FAILURES: Final = counter(
    "loop_failures_total", "Failures that a loop's guard caught, by loop.", "loop", programs=BOTH
)
LOOP_LAG: Final = gauge(
    "event_loop_lag_seconds", "How late the event loop last woke up.", programs=BOTH
)
TASKS: Final = gauge("event_loop_tasks", "Tasks of the event loop.", programs=BOTH)
READY: Final = gauge("ready", "1 while the process reports ready.", programs=BOTH)
BUILD_INFO: Final = gauge(
    "build_info", "Always 1; the label says what runs.", "version", programs=BOTH
)

SPECS: Final[tuple[MetricSpec, ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, MetricSpec)
)
"""All rows, in the order of this file."""
