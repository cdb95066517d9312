"""The JobSet that Kubeflow's Trainer makes of a TrainJob and its runtime.

Source:  Kubeflow Trainer v2.1.0, in its order: labels and annotations, `podTemplateOverrides` (a
         strategic merge), the number of nodes, the resources of a node, suspension. What only
         containers see (image, command, environment of PyTorch and MPI) is left out.
"""

from collections.abc import Mapping
from typing import Any, Final

from global_sched.shared.api.names import TRAINER_STEP
from global_sched.shared.api.raw import Obj, get, labels, name_of, namespace_of
from global_sched.shared.api.resource import JOB_SETS

TRAINER: Final = "trainer"
NODE: Final = "node"
"""The replicated job of an MPI runtime's workers, and the container that trains."""
_STEPS: Final = (TRAINER, "dataset-initializer", "model-initializer")
_MERGED_BY: Final[Mapping[str, str]] = {
    "containers": "name",
    "initContainers": "name",
    "env": "name",
    "volumes": "name",
    "volumeMounts": "mountPath",
    "schedulingGates": "name",
    "imagePullSecrets": "name",
}
"""Lists of a pod template that are merged item by item; all others are replaced."""


def job_set_of(job: Obj, runtime: Obj) -> Obj:
    """The JobSet of a TrainJob, as raw objects. Fields that are null count as absent."""
    spec, template = get(job, "spec") or {}, get(runtime, "spec", "template") or {}
    policy = get(runtime, "spec", "mlPolicy")
    inner = get(template, "spec") or {}
    parts = [_part(one, spec, policy) for one in inner.get("replicatedJobs") or ()]
    found = {**inner, "replicatedJobs": parts} | {"suspend": spec.get("suspend") or False}
    return {
        "apiVersion": JOB_SETS.api_version,
        "kind": JOB_SETS.kind,
        "metadata": {
            "name": name_of(job),
            "namespace": namespace_of(job),
            "labels": {**(labels(template)), **(spec.get("labels") or {})},
            "annotations": {
                **(get(template, "metadata", "annotations") or {}),
                **(spec.get("annotations") or {}),
            },
        },
        "spec": found,
    }


def _part(part: Obj, spec: Obj, policy: Obj | None) -> Obj:
    """One replicated job: all pods of each of its Jobs run at once."""
    template = part.get("template") or {}
    jobs, name = template.get("spec") or {}, str(part.get("name"))
    step = labels(template).get(TRAINER_STEP)
    pod = jobs.get("template") or {}
    for one in spec.get("podTemplateOverrides") or ():
        if name in [target.get("name") for target in one.get("targetJobs") or ()]:
            pod = _overridden(pod, one)
    own = get(spec, "trainer", "resourcesPerNode") or {}
    as_node = bool(get(policy, "mpi", "runLauncherAsNode"))
    if (step == TRAINER or (as_node and name == NODE)) and own:
        pod = {**pod, "spec": _with_resources(pod.get("spec") or {}, own)}
    pods = _nodes(name, step, spec, policy, jobs)
    found = {**jobs, "template": pod, "parallelism": pods, "completions": pods}
    replicas = {"replicas": 1} if step in _STEPS else {}
    return {**part, "template": {**template, "spec": found}} | replicas


def _nodes(name: str, step: str | None, spec: Obj, policy: Obj | None, jobs: Obj) -> int:
    """How many pods a Job of it has: the TrainJob's number counts for what trains."""
    asked, mpi = get(spec, "trainer", "numNodes"), get(policy, "mpi")
    if mpi is None:
        if step == TRAINER and asked is not None:
            return int(asked)
    elif name == NODE and asked is not None:
        return max(int(asked) - 1, 1) if mpi.get("runLauncherAsNode") else int(asked)
    if step == TRAINER and policy is not None:
        return _or_one(policy.get("numNodes"))
    return _or_one(jobs.get("parallelism"))


def _or_one(value: Any) -> int:
    return 1 if value is None else int(value)


def _with_resources(pod: Obj, own: Obj) -> Obj:
    """The TrainJob's resources in place of the runtime's, in the container that trains."""
    resources = {key: own[key] for key in ("limits", "requests") if own.get(key) is not None}
    if not resources:
        return pod
    containers = [
        {**one, "resources": resources} if one.get("name") == NODE else one
        for one in pod.get("containers") or ()
    ]
    return {**pod, "containers": containers}


def _overridden(pod: Obj, override: Obj) -> Obj:
    meta = override.get("metadata") or {}
    patch = {
        "metadata": {key: meta.get(key) for key in ("labels", "annotations")},
        "spec": override.get("spec"),
    }
    found: Obj = _merged(pod, patch)
    return found


def _merged(base: Any, patch: Any, field: str = "") -> Any:
    """A strategic merge patch, of which null says nothing."""
    if isinstance(patch, dict) and isinstance(base, dict | None):
        found = dict(base or {})
        for key, value in patch.items():
            if value is not None:
                found[key] = _merged(found.get(key), value, key)
        return found
    by = _MERGED_BY.get(field)
    if by is None or not isinstance(patch, list) or not base:
        return patch
    mine = {item.get(by): item for item in patch}
    kept = [_merged(item, mine.pop(item.get(by), {})) for item in base]
    return [*kept, *mine.values()]
