"""The CRDs of Karmada's kinds, as the real ones are, without what its webhooks do."""

from typing import Final

from global_sched.shared.api import karmada, propagation, resource
from global_sched.shared.api.crd_kind import AGE, Column, CrdKind
from global_sched.shared.api.crd_rules import BINDING_RULES, OVERRIDE_RULES, POLICY_RULES

_CATEGORY: Final = ("karmada-io",)
_POLICY_COLUMNS: Final[tuple[Column, ...]] = (
    ("CONFLICT-RESOLUTION", ".spec.conflictResolution", "string"),
    ("PRIORITY", ".spec.priority", "string"),
    AGE,
)
_BINDING_COLUMNS: Final[tuple[Column, ...]] = (
    ("SCHEDULED", '.status.conditions[?(@.type=="Scheduled")].status', "string"),
    ("FULLYAPPLIED", '.status.conditions[?(@.type=="FullyApplied")].status', "string"),
    AGE,
)

KARMADA_KINDS: Final = (
    CrdKind(
        resource=resource.CLUSTERS,
        type=karmada.Cluster,
        columns=(
            ("VERSION", ".status.kubernetesVersion", "string"),
            ("MODE", ".spec.syncMode", "string"),
            ("READY", '.status.conditions[?(@.type=="Ready")].status', "string"),
            AGE,
            ("REGION", ".spec.region", "string", 1),
            ("APIENDPOINT", ".spec.apiEndpoint", "string", 1),
        ),
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["syncMode"]},
            "spec.syncMode": {"enum": ["Push", "Pull"]},
            "spec.taints[]": {"required": ["key", "effect"]},
        },
    ),
    CrdKind(
        resource=resource.PROPAGATION_POLICIES,
        type=propagation.PropagationPolicy,
        status=False,
        short_names=("pp",),
        categories=_CATEGORY,
        columns=_POLICY_COLUMNS,
        rules=POLICY_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_PROPAGATION_POLICIES,
        type=propagation.PropagationPolicy,
        status=False,
        short_names=("cpp",),
        categories=_CATEGORY,
        columns=_POLICY_COLUMNS,
        rules=POLICY_RULES,
    ),
    CrdKind(
        resource=resource.OVERRIDE_POLICIES,
        type=karmada.OverridePolicy,
        status=False,
        short_names=("op",),
        categories=_CATEGORY,
        rules=OVERRIDE_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_OVERRIDE_POLICIES,
        type=karmada.OverridePolicy,
        status=False,
        short_names=("cop",),
        categories=_CATEGORY,
        rules=OVERRIDE_RULES,
    ),
    CrdKind(
        resource=resource.RESOURCE_BINDINGS,
        type=karmada.ResourceBinding,
        short_names=("rb",),
        categories=_CATEGORY,
        columns=_BINDING_COLUMNS,
        rules=BINDING_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_RESOURCE_BINDINGS,
        type=karmada.ResourceBinding,
        short_names=("crb",),
        categories=_CATEGORY,
        columns=_BINDING_COLUMNS,
        rules=BINDING_RULES,
    ),
    CrdKind(
        resource=resource.WORKS,
        type=propagation.Work,
        short_names=("wk",),
        categories=_CATEGORY,
        columns=(
            ("WORKLOAD-KIND", ".spec.workload.manifests[*].kind", "string"),
            ("APPLIED", '.status.conditions[?(@.type=="Applied")].status', "string"),
            AGE,
        ),
        rules={
            "": {"required": ["spec"]},
            "spec.workload.manifests[]": {"x-kubernetes-embedded-resource": True},
            "status.manifestStatuses[]": {"required": ["identifier"]},
            "status.manifestStatuses[].health": {"enum": ["Healthy", "Unhealthy", "Unknown"]},
        },
    ),
    CrdKind(
        resource=propagation.WORKLOAD_REBALANCERS,
        type=propagation.WorkloadRebalancer,
        categories=_CATEGORY,
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["workloads"]},
            "spec.workloads": {"minItems": 1},
            "spec.workloads[]": {"required": ["apiVersion", "kind", "name"]},
        },
    ),
)
