"""Resources of an API server: group, version, plural, scope."""

from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource: enough to build every URL of it, and to name it in a message."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The `apiVersion` of its objects: `v1` or `group/version`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_kind(self) -> str:
        """`Kind` or `Kind.group`, as messages and reports spell it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind

    @property
    def prefix(self) -> str:
        """The URL prefix of its group and version, without the plural."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The URL path of the collection (all namespaces when None), an object or a subresource."""
        parts = [self.prefix]
        if namespace and self.namespaced:
            parts.append(f"namespaces/{quote(namespace, safe='')}")
        parts.append(self.plural)
        if name is not None:
            parts.append(quote(name, safe=""))
        if subresource is not None:
            parts.append(subresource)
        return "/".join(parts)


NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS = Resource("", "v1", "pods", "Pod")
SERVICES = Resource("", "v1", "services", "Service")
CONFIGMAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
CORE_EVENTS = Resource("", "v1", "events", "Event")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
PRIORITY_CLASSES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
BATCH_JOBS = Resource("batch", "v1", "jobs", "Job")
PYTORCH_JOBS = Resource("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob")
MPI_JOBS = Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob")
LEADER_WORKER_SETS = Resource(
    "leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet"
)
RAY_CLUSTERS = Resource("ray.io", "v1", "rayclusters", "RayCluster")
RAY_JOBS = Resource("ray.io", "v1", "rayjobs", "RayJob")
JOB_SETS = Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")
TRAIN_JOBS = Resource("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob")
TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"
)
CLUSTER_TRAINING_RUNTIMES = Resource(
    "trainer.kubeflow.org",
    "v1alpha1",
    "clustertrainingruntimes",
    "ClusterTrainingRuntime",
    namespaced=False,
)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)

VOLCANO_JOBS = Resource("batch.volcano.sh", "v1alpha1", "jobs", "Job")
POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
QUEUES = Resource("scheduling.volcano.sh", "v1beta1", "queues", "Queue", namespaced=False)
HYPER_NODES = Resource(
    "topology.volcano.sh", "v1alpha1", "hypernodes", "HyperNode", namespaced=False
)

RESOURCE_BINDINGS = Resource("work.karmada.io", "v1alpha2", "resourcebindings", "ResourceBinding")
CLUSTER_RESOURCE_BINDINGS = Resource(
    "work.karmada.io",
    "v1alpha2",
    "clusterresourcebindings",
    "ClusterResourceBinding",
    namespaced=False,
)
WORKS = Resource("work.karmada.io", "v1alpha1", "works", "Work")
CLUSTERS = Resource("cluster.karmada.io", "v1alpha1", "clusters", "Cluster", namespaced=False)
PROPAGATION_POLICIES = Resource(
    "policy.karmada.io", "v1alpha1", "propagationpolicies", "PropagationPolicy"
)
CLUSTER_PROPAGATION_POLICIES = Resource(
    "policy.karmada.io",
    "v1alpha1",
    "clusterpropagationpolicies",
    "ClusterPropagationPolicy",
    namespaced=False,
)
OVERRIDE_POLICIES = Resource("policy.karmada.io", "v1alpha1", "overridepolicies", "OverridePolicy")
CLUSTER_OVERRIDE_POLICIES = Resource(
    "policy.karmada.io",
    "v1alpha1",
    "clusteroverridepolicies",
    "ClusterOverridePolicy",
    namespaced=False,
)

TENANTS = Resource("federation.global-sched.io", "v1alpha1", "tenants", "Tenant", namespaced=False)
CAPACITY_REPORTS = Resource(
    "federation.global-sched.io", "v1alpha1", "capacityreports", "CapacityReport"
)
DIRECTIVES = Resource("federation.global-sched.io", "v1alpha1", "directives", "Directive")
WAITING_LISTS = Resource("federation.global-sched.io", "v1alpha1", "waitinglists", "WaitingList")
