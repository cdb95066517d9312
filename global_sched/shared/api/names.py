"""Labels and annotations by name: ours, Karmada's and Volcano's."""

from typing import Final

# Ours. Users set `federation.…`; only we write `decision.…`.
MIN_PARALLELISM: Final = "federation.global-sched.io/min-parallelism"
"""On a batch/v1 Job: how many pods must start together (default: all that run at once)."""
RUN_SECONDS: Final = "federation.global-sched.io/run-seconds"
"""On a pod template: how long an embedded member lets the pod run."""
EXIT_CODE: Final = "federation.global-sched.io/exit-code"
"""On a pod template: with which code an embedded member lets the pod end (default 0)."""
FAIL_ONCE: Final = "federation.global-sched.io/fail-once"
"""On a pod template: `true` lets only the first pod of its owner end so, and the others succeed."""
DECISION: Final = "decision.global-sched.io/decision"
"""On a binding: the decision as JSON (`federation.DecisionRecord`)."""
PLAN: Final = "decision.global-sched.io/plan"
"""On a PodGroup or root owner in a member: the agent's plan, written before the first bind."""
MINIMUM_REACHED: Final = "decision.global-sched.io/minimum-reached"
"""On a PodGroup or root owner in a member: the decision id whose minimum was bound once."""

# Karmada
BINDING_ID: Final = "resourcebinding.karmada.io/permanent-id"
CLUSTER_BINDING_ID: Final = "clusterresourcebinding.karmada.io/permanent-id"
POLICY_ID: Final = "propagationpolicy.karmada.io/permanent-id"
CLUSTER_POLICY_ID: Final = "clusterpropagationpolicy.karmada.io/permanent-id"
POLICY_NAMESPACE: Final = "propagationpolicy.karmada.io/namespace"
POLICY_NAME: Final = "propagationpolicy.karmada.io/name"
CLUSTER_POLICY_NAME: Final = "clusterpropagationpolicy.karmada.io/name"
MANAGED_BY: Final = "binding.karmada.io/managed-by"
APPLIED_PLACEMENT: Final = "policy.karmada.io/applied-placement"
MANAGED: Final = "karmada.io/managed"
WORK_NAMESPACE: Final = "work.karmada.io/namespace"
WORK_NAME: Final = "work.karmada.io/name"
TEMPLATE_UID: Final = "resourcetemplate.karmada.io/uid"
TEMPLATE_GENERATION: Final = "resourcetemplate.karmada.io/generation"
EXECUTION_PREFIX: Final = "karmada-es-"


def execution_namespace(cluster: str) -> str:
    """The control-plane namespace of one member's Works, reports and Directives."""
    return f"{EXECUTION_PREFIX}{cluster}"


# Volcano
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
"""Annotation on a pod: its PodGroup."""
VOLCANO_GROUP_NAME: Final = "scheduling.volcano.sh/group-name"
QUEUE_NAME: Final = "volcano.sh/queue-name"
"""Label (then annotation) on a pod template: its queue."""
OBJECT_QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"
"""Annotation on the object: its queue."""
TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER: Final = "volcano.sh/network-topology-highest-tier"
JOB_NAME: Final = "volcano.sh/job-name"
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"
JOB_VERSION: Final = "volcano.sh/job-version"
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_INDEX: Final = "volcano.sh/task-index"
PARTITION_ID: Final = "volcano.sh/partition-id"
PREEMPTABLE: Final = "volcano.sh/preemptable"
TEMPLATE_UID_VOLCANO: Final = "volcano.sh/template-uid"

# Kubeflow
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
PYTORCH_JOB_NAME: Final = "training.kubeflow.org/job-name"

DEFAULT_SCHEDULER: Final = "default-scheduler"
AGENT_SCHEDULER: Final = "member-agent"
VOLCANO_SCHEDULER: Final = "volcano"
GLOBAL_SCHEDULER: Final = "global-sched"
DEFAULT_QUEUE: Final = "default"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
POLICY_CONFIG_MAP: Final = "global-sched-policy"
SYSTEM_NAMESPACE: Final = "karmada-system"
