"""One sample of every workload kind, as a user would write it."""

from collections.abc import Mapping
from typing import Any, Final

from tests.wire_templates import (
    batch_job,
    deployment,
    job_set,
    leader_worker_set,
    mpi_job,
    pod_template,
    pytorch_job,
    ray_cluster,
    ray_job,
    replicated_job,
    task,
    train_job,
    trainer_part,
    training_runtime,
    vcjob,
    worker_group,
)

Object = dict[str, Any]

_POD: Final = pod_template(gpus=1, schedulerName="member-agent")

SAMPLES: Final[Mapping[str, Object]] = {
    "Job.batch.volcano.sh": vcjob(
        "train",
        task("launcher", 1, template=_POD, minAvailable=1),
        task("worker", 4, template=_POD, minAvailable=2),
    ),
    "Job.batch": batch_job("sweep", template=_POD, spec={"parallelism": 3}),
    "Deployment.apps": deployment("web", replicas=3, template=_POD),
    "StatefulSet.apps": deployment("db", kind="StatefulSet", replicas=3, template=_POD),
    "PyTorchJob.kubeflow.org": pytorch_job(
        "fit",
        {"Master": 1, "Worker": 4},
        template=_POD,
        spec={"elasticPolicy": {"minReplicas": 2}},
    ),
    "LeaderWorkerSet.leaderworkerset.x-k8s.io": leader_worker_set(
        "serve", groups=2, size=3, worker=_POD
    ),
    "JobSet.jobset.x-k8s.io": job_set(
        "steps",
        replicated_job("prepare", 1, template=_POD),
        replicated_job(
            "train",
            2,
            pods=2,
            template=_POD,
            dependsOn=[{"name": "prepare", "status": "Complete"}],
        ),
    ),
    "TrainJob.trainer.kubeflow.org": train_job("align", 3),
    "MPIJob.kubeflow.org": mpi_job("solve", 3, template=_POD, launcher=_POD),
    "RayCluster.ray.io": ray_cluster(
        "ray", worker_group("gpu", 4, 2, hosts=2, template=_POD), head=_POD
    ),
    "RayJob.ray.io": ray_job(
        "tune", worker_group("gpu", 3, 1, template=_POD), head=_POD, submitter=_POD
    ),
}
"""By `Kind.group`; each has surplus, where its kind can have some."""

RUNTIMES: Final[Mapping[str, Object]] = {
    "TrainJob.trainer.kubeflow.org": training_runtime("torch", trainer_part(template=_POD)),
}
"""What of a sample stands in another object, by `Kind.group` of the sample."""
