"""The pods and Services of a PyTorchJob. Pure.

Source:  Kubeflow training operator v1: names, labels and variables of PyTorchJob replicas.
"""

from typing import Final

from global_sched.embedded.members.cluster import owner_reference, template_pod
from global_sched.propagation.fields import Obj, get, name_of
from global_sched.shared.api.names import (
    KUBEFLOW_OPERATOR,
    KUBEFLOW_ROLE,
    PYTORCH_JOB_NAME,
    REPLICA_INDEX,
    REPLICA_TYPE,
)

PORT: Final = 23456
PORT_NAME: Final = "pytorchjob-port"
CONTROLLER: Final = "pytorchjob-controller"
MASTER: Final = "Master"
WORKER: Final = "Worker"


def replica_specs(job: Obj) -> dict[str, Obj]:
    """The replica specs by type, master first; types in other spelling are taken as these two."""
    given = get(job, "spec", "pytorchReplicaSpecs") or {}
    found = {str(name).capitalize(): spec for name, spec in given.items()}
    return {kind: found[kind] for kind in (MASTER, WORKER) if kind in found}


def replicas_of(spec: Obj) -> int:
    """How many replicas a replica spec asks for."""
    found = spec.get("replicas")
    return 1 if found is None else int(found)


def replica_name(job: Obj, kind: str, index: int) -> str:
    """The name of a replica's pod, and of its Service."""
    return f"{name_of(job)}-{kind.lower()}-{index}"


def replica_labels(job: Obj, kind: str, index: int) -> dict[str, str]:
    """The labels by which replicas are found."""
    labels = {
        KUBEFLOW_OPERATOR: CONTROLLER,
        PYTORCH_JOB_NAME: name_of(job),
        REPLICA_INDEX: str(index),
        REPLICA_TYPE: kind.lower(),
    }
    return labels | ({KUBEFLOW_ROLE: "master"} if kind == MASTER else {})


def make_pod(job: Obj, kind: str, index: int) -> Obj:
    """One replica's pod."""
    spec = replica_specs(job)[kind]
    pod = template_pod(spec["template"], owner=job, name=replica_name(job, kind, index))
    pod["metadata"]["labels"] |= replica_labels(job, kind, index)
    policy = spec.get("restartPolicy") or "OnFailure"
    # The operator itself restarts what ends with a retryable code.
    pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    variables = _variables(job, kind, index)
    pod["spec"]["containers"] = [
        {**one, "env": [*(one.get("env") or ()), *variables]}
        for one in pod["spec"].get("containers") or ()
    ]
    return pod


def make_service(job: Obj, kind: str, index: int) -> Obj:
    """The headless Service under which the others find a replica."""
    labels = replica_labels(job, kind, index)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": replica_name(job, kind, index),
            "namespace": get(job, "metadata", "namespace"),
            "labels": labels,
            "ownerReferences": [owner_reference(job)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": labels,
            "ports": [{"name": PORT_NAME, "port": PORT, "targetPort": PORT, "protocol": "TCP"}],
        },
    }


def needs_service(job: Obj, kind: str) -> bool:
    """The master is called by all; without one, or in elastic jobs, the first worker is."""
    return kind == MASTER or MASTER not in replica_specs(job) or _elastic(job) is not None


def _elastic(job: Obj) -> Obj | None:
    found = get(job, "spec", "elasticPolicy")
    return found if isinstance(found, dict) else None


def _variables(job: Obj, kind: str, index: int) -> list[Obj]:
    specs = replica_specs(job)
    first = MASTER if MASTER in specs else WORKER
    world = sum(replicas_of(spec) for spec in specs.values())
    masters = replicas_of(specs[MASTER]) if MASTER in specs else 0
    rank = index if kind == MASTER else masters + index
    per_node = str(get(job, "spec", "nprocPerNode") or "auto")
    values = {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": str(PORT),
        "MASTER_ADDR": replica_name(job, first, 0),
        "WORLD_SIZE": str(world),
        "RANK": str(rank),
        "PET_NPROC_PER_NODE": per_node,
    }
    elastic = _elastic(job)
    if elastic is None:
        values |= {
            "PET_MASTER_PORT": str(PORT),
            "PET_MASTER_ADDR": replica_name(job, first, 0),
            "PET_NNODES": str(world),
            "PET_NODE_RANK": str(rank),
        }
    else:
        least = elastic.get("minReplicas") or world
        most = elastic.get("maxReplicas") or world
        endpoint = elastic.get("rdzvHost") or replica_name(job, first, 0)
        values |= {
            "PET_RDZV_ENDPOINT": f"{endpoint}:{elastic.get('rdzvPort') or PORT}",
            "PET_RDZV_BACKEND": str(elastic.get("rdzvBackend") or "c10d"),
            "PET_RDZV_ID": str(elastic.get("rdzvId") or name_of(job)),
            "PET_NNODES": f"{least}:{most}",
        }
        if elastic.get("maxRestarts") is not None:
            values["PET_MAX_RESTARTS"] = str(elastic["maxRestarts"])
    return [{"name": name, "value": value} for name, value in values.items()]
