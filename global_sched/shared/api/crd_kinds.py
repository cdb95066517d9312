"""CRDs of kinds that are no workloads, beyond the wire type's fields.

Columns, short names, categories, enums, bounds and CRD defaults, as the real Karmada and Volcano
have them. What their webhooks set or refuse is not here.
"""

from typing import Final

from global_sched.shared.api import federation, resource
from global_sched.shared.api.crd_gang import GANG_RULE, SHAPE_RULE
from global_sched.shared.api.crd_karmada import KARMADA_KINDS
from global_sched.shared.api.crd_kind import AGE, CrdKind
from global_sched.shared.api.crd_volcano import VOLCANO_KINDS

_OURS: Final = (
    CrdKind(
        resource=resource.TENANTS,
        type=federation.Tenant,
        strict=True,
        columns=(
            ("READY", '.status.conditions[?(@.type=="Ready")].status', "string"),
            ("ADMITTED", ".status.admitted", "integer"),
            ("PENDING", ".status.pending", "integer"),
            ("SHARE", ".status.dominantShare", "string"),
            AGE,
        ),
    ),
    CrdKind(
        resource=resource.CAPACITY_REPORTS,
        type=federation.CapacityReport,
        strict=True,
        short_names=("capr",),
        columns=(
            ("ACCEPTED", '.status.conditions[?(@.type=="Accepted")].status', "string"),
            ("NODES", ".spec.nodes.total", "integer"),
            ("READY", ".spec.nodes.ready", "integer"),
            ("OBSERVED", ".spec.observedAt", "date"),
            ("AGENT", ".spec.agentVersion", "string", 1),
            AGE,
        ),
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["cluster"]},
            "spec.demand[].shape": SHAPE_RULE,
        },
    ),
    CrdKind(
        resource=resource.DIRECTIVES,
        type=federation.Directive,
        strict=True,
        status=False,
        columns=(
            ("CLUSTER", ".spec.cluster", "string"),
            ("ENTRIES", ".spec.size", "integer"),
            ("EPOCH", ".spec.epoch", "integer"),
            AGE,
        ),
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["cluster"]},
            "spec.entries[].gang": GANG_RULE,
            "spec.demand[].shape": SHAPE_RULE,
        },
    ),
    CrdKind(
        resource=resource.WAITING_LISTS,
        type=federation.WaitingList,
        strict=True,
        status=False,
        short_names=("waiting",),
        columns=(
            ("WAITING", ".total", "integer"),
            ("FIRST", ".jobs[0].name", "string"),
            ("QUEUE", ".jobs[0].queue", "string"),
            ("POSITION", ".jobs[0].position", "integer"),
            ("REASON", ".jobs[0].reason", "string"),
            ("RUNS WHEN", ".jobs[0].runsWhen", "string"),
            ("THEN", ".then", "string", 1),
            ("SINCE", ".jobs[0].since", "string", 1),
        ),
    ),
)

PLATFORM: Final = (*_OURS, *KARMADA_KINDS, *VOLCANO_KINDS)
"""Every kind that is served through a CRD and is no workload, ours first."""
