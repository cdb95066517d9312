"""Labels and annotations by name: ours, Karmada's and Volcano's."""

from typing import Final

# Ours. Users set `federation.…`; only we write `decision.…`.
MIN_PARALLELISM: Final = "federation.global-sched.io/min-parallelism"
"""On a batch/v1 Job: how many pods must start together (default: all that run at once)."""
RUN_SECONDS: Final = "federation.global-sched.io/run-seconds"
"""On a pod template: how long an embedded member lets the pod run."""
EXIT_CODE: Final = "federation.global-sched.io/exit-code"
"""On a pod template: with which code an embedded member lets the pod end (default 0)."""
OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""Key of the taint by which an administrator says that a node's machine is off."""
FAIL_ONCE: Final = "federation.global-sched.io/fail-once"
"""On a pod template: `true` lets only the first pod of its owner end so, and the others succeed."""
OWN_PREEMPTABLE: Final = "federation.global-sched.io/preemptable"
"""On a template or its pod templates: `false` keeps it from having to leave for another one."""
RUN_TIME_LIMIT: Final = "federation.global-sched.io/run-time-limit"
"""On a template: seconds (or 90m, 2h) after which its pods end, where the kind has no field."""
MIN_RUNTIME_RECLAIM: Final = "federation.global-sched.io/min-runtime-before-reclaim"
"""On a Queue: how long a workload of it, or of one below it without its own, runs before other
queues may reclaim its place (0 to 7d, as 90m or 2h)."""
MIN_RUNTIME_PREEMPTION: Final = "federation.global-sched.io/min-runtime-before-preemption"
"""On a Queue: the same, before a higher priority of the same queue may take its place."""
LAST_CHECKPOINT: Final = "federation.global-sched.io/last-checkpoint"
"""On a template: when it last saved its work (RFC 3339); what came after is lost by leaving."""
DECISION: Final = "decision.global-sched.io/decision"
"""On a binding: the decision as JSON (`federation.DecisionRecord`)."""
QUEUE_USAGE: Final = "decision.global-sched.io/queue-usage"
"""On a Queue: what it deserves, holds over that and holds in each cluster, and what is wrong with
it (JSON); Volcano's status has no fields for these."""
PAST_USAGE: Final = "decision.global-sched.io/past-usage"
"""On a Queue: what its tenants held in the past (JSON), where the Policy lets that count."""
PLAN: Final = "decision.global-sched.io/plan"
"""On a PodGroup or root owner in a member: the agent's plan, written before the first bind."""
MEMORY: Final = "decision.global-sched.io/placement-memory"
"""On a root owner in a member: where its gang was last, and nodes that failed under it (JSON)."""
PARTITIONS_TOGETHER: Final = "federation.global-sched.io/partitions-together"
"""On a Volcano Job or PodGroup: tasks whose partitions of equal number lie in one domain, such as
`prefill,decode`; several such sets are separated by semicolons."""
MIN_GROUPS: Final = "federation.global-sched.io/min-groups"
"""On a LeaderWorkerSet: how many groups must be whole before any pod starts (default: all)."""
MINIMUM_REACHED: Final = "decision.global-sched.io/minimum-reached"
"""On a PodGroup or root owner in a member: the decision id whose minimum was bound once; where the
root owner has a memory, that says it instead."""

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
KUBEFLOW_OPERATOR: Final = "training.kubeflow.org/operator-name"
KUBEFLOW_ROLE: Final = "training.kubeflow.org/job-role"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
PYTORCH_JOB_NAME: Final = "training.kubeflow.org/job-name"

# LeaderWorkerSet
LWS_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
LWS_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"
LWS_WORKER_INDEX: Final = "leaderworkerset.sigs.k8s.io/worker-index"
"""Label on a pod: its place in its group; 0 is the leader."""
LWS_GROUP_KEY: Final = "leaderworkerset.sigs.k8s.io/group-key"
LWS_REVISION: Final = "leaderworkerset.sigs.k8s.io/template-revision-hash"
LWS_SIZE: Final = "leaderworkerset.sigs.k8s.io/size"
"""Annotation on a pod: how many pods its group has."""
LWS_LEADER_NAME: Final = "leaderworkerset.sigs.k8s.io/leader-name"
LWS_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/exclusive-topology"
LWS_SUBGROUP_EXCLUSIVE: Final = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"

# Kubeflow Trainer
TRAINER_STEP: Final = "trainer.kubeflow.org/trainjob-ancestor-step"

# JobSet
JOB_SET_NAME: Final = "jobset.sigs.k8s.io/jobset-name"
JOB_SET_REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_SET_JOB_INDEX: Final = "jobset.sigs.k8s.io/job-index"
JOB_SET_EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"

# KubeRay
RAY_CLUSTER: Final = "ray.io/cluster"
RAY_GROUP: Final = "ray.io/group"
"""Label on a pod: `headgroup`, or the name of its worker group."""
RAY_NODE_TYPE: Final = "ray.io/node-type"
RAY_REPLICA_INDEX: Final = "ray.io/worker-group-replica-index"
RAY_PRIORITY: Final = "ray.io/priority-class-name"
"""Label on the object: the PriorityClass of its pods."""
RAY_TOPOLOGY_TIER: Final = "volcano.sh/network-topology-highest-tier-allowed"
"""Label on the object: the tier, beside the mode in `volcano.sh/network-topology-mode`."""

DEFAULT_SCHEDULER: Final = "default-scheduler"
AGENT_SCHEDULER: Final = "member-agent"
VOLCANO_SCHEDULER: Final = "volcano"
GLOBAL_SCHEDULER: Final = "global-sched"
DEFAULT_QUEUE: Final = "default"
HOSTNAME_LABEL: Final = "kubernetes.io/hostname"
POLICY_CONFIG_MAP: Final = "global-sched-policy"
SYSTEM_NAMESPACE: Final = "karmada-system"
