"""Workload kinds, one file each: every question that a program asks of a kind, answered once.

The cache asks what a template needs, the agent what its pods belong to, the binding's builder how
many replicas it has, the embedded federation how Karmada interprets it. All of them get the answer
from the kind's file, so that two programs cannot read one kind in two ways, and a question that a
kind does not answer is an error when the file is imported, not a job that is never seen to end.

Pure: no I/O, clock, randomness or logging, and no decision. No defaults of ours may change what a
job means: what is filled in is what the kind's own API server or webhook would fill in.

Read `parts.kind.WorkloadKind` first: its fields are the questions. Then the shortest kind,
`batch_job`.
"""

from global_sched.shared.kinds.parts.kind import About, FieldNames, WorkloadKind
from global_sched.shared.kinds.parts.owner import (
    CountError,
    GroupsRecord,
    OwnerFacts,
    TaskRecord,
)
from global_sched.shared.kinds.registry import (
    GROUPED,
    KINDS,
    ONE_BY_ONE,
    RUNTIMES,
    field_names,
    index_of,
    kind_of,
    namesakes,
    owners,
    pod_set_of,
)

__all__ = [
    "GROUPED",
    "KINDS",
    "ONE_BY_ONE",
    "RUNTIMES",
    "About",
    "CountError",
    "FieldNames",
    "GroupsRecord",
    "OwnerFacts",
    "TaskRecord",
    "WorkloadKind",
    "field_names",
    "index_of",
    "kind_of",
    "namesakes",
    "owners",
    "pod_set_of",
]
