"""Kinds that make pods: docs/kinds.md is generated from this table.

A kind of it without a reader here goes to clusters only where Karmada says how many pods it has and
what they ask for. Kinds go by their group, whatever the version.
"""

from collections.abc import Mapping
from typing import Final

POD_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "Kubernetes": (
        "Pod",
        "ReplicationController",
        "DaemonSet.apps",
        "Deployment.apps",
        "ReplicaSet.apps",
        "StatefulSet.apps",
        "CronJob.batch",
        "Job.batch",
    ),
    "Volcano": ("CronJob.batch.volcano.sh", "Job.batch.volcano.sh", "JobFlow.flow.volcano.sh"),
    "JobSet and LeaderWorkerSet": (
        "JobSet.jobset.x-k8s.io",
        "LeaderWorkerSet.leaderworkerset.x-k8s.io",
    ),
    "Kubeflow": (
        "JAXJob.kubeflow.org",
        "MPIJob.kubeflow.org",
        "MXJob.kubeflow.org",
        "Notebook.kubeflow.org",
        "PaddleJob.kubeflow.org",
        "PyTorchJob.kubeflow.org",
        "TFJob.kubeflow.org",
        "XGBoostJob.kubeflow.org",
        "TrainJob.trainer.kubeflow.org",
    ),
    "Ray": ("RayCluster.ray.io", "RayCronJob.ray.io", "RayJob.ray.io", "RayService.ray.io"),
    "Spark": (
        "ScheduledSparkApplication.sparkoperator.k8s.io",
        "SparkApplication.sparkoperator.k8s.io",
        "SparkConnect.sparkoperator.k8s.io",
    ),
    "Flink": ("FlinkDeployment.flink.apache.org",),
    "Dask": ("DaskCluster.kubernetes.dask.org", "DaskJob.kubernetes.dask.org"),
    "Argo": ("CronWorkflow.argoproj.io", "Rollout.argoproj.io", "Workflow.argoproj.io"),
    "Tekton": ("PipelineRun.tekton.dev", "TaskRun.tekton.dev"),
    "Kruise": (
        "AdvancedCronJob.apps.kruise.io",
        "BroadcastJob.apps.kruise.io",
        "CloneSet.apps.kruise.io",
        "DaemonSet.apps.kruise.io",
        "StatefulSet.apps.kruise.io",
        "UnitedDeployment.apps.kruise.io",
    ),
    "KServe": (
        "InferenceGraph.serving.kserve.io",
        "InferenceService.serving.kserve.io",
        "LLMInferenceService.serving.kserve.io",
    ),
    "Knative": ("Configuration.serving.knative.dev", "Service.serving.knative.dev"),
    "KubeVirt": (
        "VirtualMachine.kubevirt.io",
        "VirtualMachineInstance.kubevirt.io",
        "VirtualMachineInstanceReplicaSet.kubevirt.io",
    ),
    "Others": (
        "AppWrapper.workload.codeflare.dev",
        "DynamoGraphDeployment.nvidia.com",
        "PodCliqueSet.grove.io",
        "RoleBasedGroup.workloads.x-k8s.io",
        "SeldonDeployment.machinelearning.seldon.io",
    ),
}
"""By the project that they belong to, each as `Kind.group`; the core group has no name."""

KNOWN: Final = frozenset(kind for kinds in POD_KINDS.values() for kind in kinds)


def group_kind(api_version: str, kind: str) -> str:
    """`Kind.group`, or `Kind` alone in the core group."""
    group = api_version.rpartition("/")[0]
    return f"{kind}.{group}" if group else kind
