"""Volcano's job plugins `env` and `svc`: what pods get, and the objects beside them.

`env` gives each pod its index. `svc` gives it a host name under a headless Service and the host
lists of all tasks, as files in /etc/volcano and as variables. Both names of the index are set,
since images use either.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from global_sched.shared.api.names import JOB_NAME, JOB_NAMESPACE
from member_agent.jobs.spec import JobSpec, TaskSpec
from member_agent.jobs.wire import RunJob

HOSTS_PATH: Final = "/etc/volcano"

Json = dict[str, Any]


def pod_name(job: str, task: str, index: int) -> str:
    """The name of a task's pod."""
    return f"{job}-{task}-{index}"


def hosts_name(job: RunJob) -> str:
    """The name of the ConfigMap with the host lists."""
    return f"{job.metadata.name}-svc"


def owner_reference(job: RunJob) -> Json:
    """What every object of a Job carries: it goes when the Job goes."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def decorate(pod: Json, *, job: RunJob, spec: JobSpec, index: int) -> None:
    """Add to a pod, in place, what the Job's plugins promise."""
    for name, arguments in spec.plugins:
        if name == "env":
            _add_env(pod, [_variable(v, str(index)) for v in ("VK_TASK_INDEX", "VC_TASK_INDEX")])
        else:
            _add_hosts(pod, job, spec, inject=_flag(arguments, "inject-hosts-env", default=True))


def companions(job: RunJob, spec: JobSpec) -> tuple[Json | None, Json | None]:
    """The (ConfigMap, Service) of the `svc` plugin; None without it."""
    arguments = dict(spec.plugins).get("svc")
    if arguments is None:
        return None, None
    meta = {"namespace": job.metadata.namespace, "ownerReferences": [owner_reference(job)]}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": hosts_name(job), **meta},
        "data": host_lists(job, spec),
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": job.metadata.name, **meta},
        "spec": {
            "clusterIP": "None",
            "selector": {
                JOB_NAME: job.metadata.name,
                JOB_NAMESPACE: job.metadata.namespace,
            },
            # A Service needs a port; nothing listens on this one.
            "ports": [
                {"name": "placeholder-volcano", "port": 1, "protocol": "TCP", "targetPort": 1}
            ],
            "publishNotReadyAddresses": _flag(
                arguments, "publish-not-ready-addresses", default=False
            ),
        },
    }
    return config_map, service


def host_lists(job: RunJob, spec: JobSpec) -> dict[str, str]:
    """The ConfigMap's data: per task a file of host names, and the same as variables."""
    data: dict[str, str] = {}
    for task in spec.tasks:
        hosts = _hosts(job, task)
        word = _word(task)
        data[f"{task.name}.host"] = "\n".join(hosts)
        data[f"VC_{word}_HOSTS"] = ",".join(hosts)
        data[f"VC_{word}_NUM"] = str(len(hosts))
    return data


def _hosts(job: RunJob, task: TaskSpec) -> list[str]:
    pod = task.template.get("spec")
    pod = pod if isinstance(pod, Mapping) else {}
    domain = pod.get("subdomain") or job.metadata.name
    if host := pod.get("hostname"):
        return [f"{host}.{domain}"]
    return [f"{pod_name(job.metadata.name, task.name, i)}.{domain}" for i in range(task.replicas)]


def _add_hosts(pod: Json, job: RunJob, spec: JobSpec, *, inject: bool) -> None:
    pod_spec = pod["spec"]
    pod_spec["hostname"] = pod_spec.get("hostname") or pod["metadata"]["name"]
    pod_spec["subdomain"] = pod_spec.get("subdomain") or job.metadata.name
    name = hosts_name(job)
    if inject:
        keys = [f"VC_{_word(task)}_{what}" for task in spec.tasks for what in ("HOSTS", "NUM")]
        _add_env(
            pod,
            [{"name": k, "valueFrom": {"configMapKeyRef": {"key": k, "name": name}}} for k in keys],
        )
    pod_spec.setdefault("volumes", []).append({"name": name, "configMap": {"name": name}})
    for container in _containers(pod):
        container.setdefault("volumeMounts", []).append({"mountPath": HOSTS_PATH, "name": name})


def set_variables(pod: Json, variables: Mapping[str, str]) -> None:
    """Environment variables of every container, but for names that it sets itself."""
    for container in _containers(pod):
        env = container.setdefault("env", [])
        own = {one.get("name") for one in env}
        env.extend(_variable(n, v) for n, v in sorted(variables.items()) if n not in own)


def _add_env(pod: Json, variables: Sequence[Json]) -> None:
    for container in _containers(pod):
        container.setdefault("env", []).extend(dict(variable) for variable in variables)


def _containers(pod: Json) -> list[Json]:
    spec = pod["spec"]
    return [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]


def _variable(name: str, value: str) -> Json:
    return {"name": name, "value": value}


def _word(task: TaskSpec) -> str:
    return task.name.replace("-", "_").upper()


def _flag(arguments: Sequence[str], name: str, *, default: bool) -> bool:
    """The value of `--name` or `--name=true|false` among a plugin's arguments."""
    for argument in arguments:
        key, _, value = argument.lstrip("-").partition("=")
        if key == name:
            return value.lower() not in ("false", "0", "f")
    return default
