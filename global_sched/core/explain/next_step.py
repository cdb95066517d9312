"""The next step for a waiting job, from its verdict alone: no trial, for lists of many jobs.

`explain_workload` tries changes and says which are enough; that costs a cycle each. This says what
the reason lacks, in constant time. It is needed, not always enough: room that comes free may go to
a job before it in the order.
"""

from collections.abc import Mapping
from typing import Final

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import field_names
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload

_ROOM: Final = "{room} comes free"
_SETTLES: Final = "the next cycles settle it: nothing is to be done"
_REPORTS: Final = "the agent of {cluster} reports again"
_SCHEDULER: Final = "the agent or Volcano's scheduler binds its pods in {cluster}"

NEXT_STEPS: Final[Mapping[Reason, str]] = {
    Reason.INVALID_SPEC: "the field that the message names is corrected",
    Reason.TEMPLATE_NOT_SEEN: _SETTLES,
    Reason.RUNTIME_MISSING: "its runtime is on the control plane",
    Reason.PRIORITY_CLASS_MISSING: "{class_field} names a PriorityClass that exists",
    Reason.SUSPENDED: "it is resumed: `gsched job resume`, or the field that the message names",
    Reason.GROUP_INCOMPLETE: "all objects of its group are there",
    Reason.GROUP_DOES_NOT_FIT: "every object of its group has room at once",
    Reason.QUEUE_MISSING: "{queue_field} names a queue that exists",
    Reason.QUEUE_CLOSED: "queue {queue} and all above it are open, or {queue_field} names another",
    Reason.QUEUE_INVALID: "queue {queue} is put right, or {queue_field} names another",
    Reason.QUEUE_CAPABILITY: "jobs of queue {queue} end, or a capability above it is raised",
    Reason.QUEUE_NOT_LEAF: "{queue_field} names a queue without queues below it",
    Reason.GUARANTEE_RESERVED: "jobs of queue {queue} end, or unused guarantees are lent",
    Reason.TENANT_INVALID: "its Tenant is put right by the platform",
    Reason.TENANT_LIMIT: "jobs of its own tenant end, or the limits of the Tenant are raised",
    Reason.TENANT_PENDING_LIMIT: "waiting jobs of its own tenant start or are deleted",
    Reason.QUEUE_NOT_ALLOWED: "{queue_field} names a queue that its Tenant may use",
    Reason.PRIORITY_CLASS_NOT_ALLOWED: "{class_field} names a class that its Tenant may use",
    Reason.NO_CLUSTER: "a cluster can take it: `gsched explain` has the answer of each",
    Reason.CLUSTER_NOT_READY: "cluster {cluster} is Ready",
    Reason.CLUSTER_TERMINATING: "the policy selects a cluster that stays",
    Reason.CLUSTER_TAINT: "the policy tolerates the taint of {cluster} (spec.placement)",
    Reason.CLUSTER_AFFINITY: "the policy selects a cluster with room (spec.placement)",
    Reason.CLUSTER_SPREAD: "the spread constraints of the policy can be met (spec.placement)",
    Reason.KIND_NOT_ENABLED: "cluster {cluster} serves its kind",
    Reason.KIND_NOT_COUNTED: "its kind has an interpreter on the control plane",
    Reason.BEING_EVICTED: "its pods in {cluster} are gone",
    Reason.BACKING_OFF: "the pause for {cluster} is over",
    Reason.NO_REPORT: _REPORTS,
    Reason.REPORT_STALE: _REPORTS,
    Reason.REPORT_INVALID: _REPORTS,
    Reason.LABEL_NOT_REPORTED: _REPORTS,
    Reason.NOBODY_BINDS: _SCHEDULER,
    Reason.SCHEDULER_UNKNOWN: "the override policy sets one schedulerName",
    Reason.CONSTRAINT_NOT_HONOURED: _SCHEDULER,
    Reason.DEVICES_NOT_HONOURED: _SCHEDULER,
    Reason.TIER_UNKNOWN: "{tier_field} names a tier that {cluster} has",
    Reason.TOPOLOGY_DOES_NOT_FIT: _ROOM,
    Reason.CAPACITY_DOES_NOT_FIT: _ROOM,
    Reason.NO_NODE_MATCHES: "its pods select nodes that exist, or such nodes join",
    Reason.ROOM_BEING_MADE: "the pods that leave for it are gone: its room is kept",
    Reason.ROOM_RESERVED: "the room that drains for it is free",
    Reason.SEARCH_DEFERRED: _SETTLES,
    Reason.CANNOT_BE_WHOLE: "its old pods are gone, and another cluster has room",
    Reason.PREEMPTED: _ROOM,
    Reason.RECLAIMED: _ROOM,
    Reason.PLACEMENT_TIMEOUT: "a cluster places its pods in time",
    Reason.LATE_DECISION: _SETTLES,
    Reason.GROWTH_PENDING: _ROOM,
    Reason.CYCLE_LIMIT: _SETTLES,
}
"""What lets a job run that waits for each reason; names in braces are filled in."""

_NEVER: Final = "the job is changed: no room of the federation is enough as it is"
_TOO_SMALL: Final = "the policy selects a cluster that is large enough (spec.placement)"


def next_step(workload: Workload, outcome: Outcome) -> str:
    """What would let it run, after the words "runs when"; empty for one that does not wait."""
    verdict, demand = outcome.verdict, workload.demand
    if verdict.code == Code.FIT or verdict.reason not in NEXT_STEPS:
        return ""
    text = NEXT_STEPS[verdict.reason]
    if verdict.code == Code.NEVER and text == _ROOM:
        return _NEVER
    if verdict.too_small and text == _ROOM:
        return _TOO_SMALL
    names = field_names(demand.api_version, demand.kind)
    return text.format(
        room=verdict.asks or "enough room",
        queue=outcome.queue,
        cluster=outcome.nearest or "a cluster",
        queue_field=names.queue,
        class_field=names.priority_class or "the job",
        tier_field=names.topology or "the job",
    )


def place_text(outcome: Outcome) -> str:
    """`place 3 in queue research`; what has no place of its own is in the queue."""
    if outcome.position:
        return f"place {outcome.position} in queue {outcome.queue}"
    return f"no place in queue {outcome.queue}"
