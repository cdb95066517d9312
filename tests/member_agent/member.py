"""A member cluster's objects as its API server holds them, and a cache fed with them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from global_sched.shared.api import names
from global_sched.shared.api.core import Node, Pod
from global_sched.shared.api.federation import Directive
from global_sched.shared.api.volcano import HyperNode, PodGroup
from member_agent.cache import ClusterCache, owner_type
from tests.wire import GPU, Object, decode, meta

CLUSTER = "member1"
AGENT = names.AGENT_SCHEDULER


def node(
    name: str,
    *,
    cpu: str = "64",
    memory: str = "256Gi",
    gpus: int = 8,
    pods: int = 110,
    extra: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Object] = (),
    ready: bool = True,
    cordoned: bool = False,
    version: str = "1",
) -> Object:
    """A node with room; Ready unless said otherwise."""
    allocatable = {"cpu": cpu, "memory": memory, "pods": str(pods), **(extra or {})}
    if gpus:
        allocatable[GPU] = str(gpus)
    spec: Object = {}
    if cordoned:
        spec["unschedulable"] = True
    if taints:
        spec["taints"] = list(taints)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels=labels, version=version),
        "spec": spec,
        "status": {
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def hyper_node(
    name: str, tier: int, *, nodes: Sequence[str] = (), children: Sequence[str] = (), **spec: Any
) -> Object:
    """A HyperNode that names its members exactly."""
    members = [("Node", member) for member in nodes] + [("HyperNode", one) for one in children]
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": meta(name),
        "spec": {
            "tier": tier,
            "members": [
                {"type": kind, "selector": {"exactMatch": {"name": member}}}
                for kind, member in members
            ],
        }
        | spec,
    }


def racks(count: int, size: int, **fields: Any) -> list[Object]:
    """`count` racks r0, r1, … (tier 1) of `size` nodes r0-0, r0-1, … under one spine (tier 2)."""
    objects: list[Object] = []
    for rack in range(count):
        own = [f"r{rack}-{at}" for at in range(size)]
        objects += [node(name, **fields) for name in own]
        objects.append(hyper_node(f"r{rack}", 1, nodes=own))
    objects.append(hyper_node("spine", 2, children=[f"r{rack}" for rack in range(count)]))
    return objects


def pod(
    name: str,
    *,
    namespace: str = "team",
    gpus: int = 0,
    cpu: str = "1",
    node: str = "",
    phase: str = "",
    reason: str = "",
    scheduler: str = AGENT,
    owner: Object | None = None,
    group: str = "",
    task: str = "",
    index: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: int = 0,
    version: str = "1",
    deleted: bool = False,
    spec: Object | None = None,
) -> Object:
    """A pod with one container; of a Volcano task when `task` is given."""
    devices = {GPU: str(gpus)} if gpus else {}
    amounts = {"requests": {"cpu": cpu, **devices}, "limits": devices}
    found = meta(
        name,
        namespace=namespace,
        uid=f"uid-{name}",
        version=version,
        created=created,
        deleted=deleted,
        labels={
            **({names.TASK_SPEC: task} if task else {}),
            **({names.TASK_INDEX: str(index)} if task and index is not None else {}),
            **(labels or {}),
        },
        annotations={**({names.GROUP_NAME: group} if group else {}), **(annotations or {})},
    )
    if owner is not None:
        found["ownerReferences"] = [owner_of(owner)]
    status: Object = {"phase": phase or ("Running" if node else "Pending")}
    if reason:
        status["reason"] = reason
    body: Object = {
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "registry.example/c:1", "resources": amounts}],
    }
    if node:
        body["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": found,
        "spec": body | (spec or {}),
        "status": status,
    }


def owner_of(obj: Object) -> Object:
    """The controller reference to an object."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "uid": obj["metadata"]["uid"],
        "controller": True,
    }


def owner(
    kind: str,
    name: str,
    *,
    api_version: str = "batch/v1",
    namespace: str = "team",
    binding: str = "",
    controller: Object | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Object | None = None,
    version: str = "1",
) -> Object:
    """An object that controls pods; `binding` is the permanent id that Karmada gave it."""
    found = meta(
        name,
        namespace=namespace,
        uid=f"uid-{kind}-{name}",
        version=version,
        labels={names.BINDING_ID: binding} if binding else None,
        annotations=annotations,
    )
    if controller is not None:
        found["ownerReferences"] = [owner_of(controller)]
    return {"apiVersion": api_version, "kind": kind, "metadata": found, "spec": spec or {}}


def volcano_job(name: str, *, binding: str = "", tasks: Sequence[Object] = ()) -> Object:
    """A Volcano Job, as far as the agent reads it."""
    return owner(
        "Job",
        name,
        api_version="batch.volcano.sh/v1alpha1",
        binding=binding,
        spec={"tasks": list(tasks)},
    )


def pod_group(
    name: str,
    *,
    minimum: int,
    tasks: Mapping[str, int] | None = None,
    controller: Object | None = None,
    namespace: str = "team",
    annotations: Mapping[str, str] | None = None,
    tier: int | None = None,
    version: str = "1",
    created: int = 0,
    **spec: Any,
) -> Object:
    """A PodGroup; `tier` is a hard topology constraint."""
    found = meta(
        name,
        namespace=namespace,
        uid=f"uid-group-{name}",
        version=version,
        annotations=annotations,
        created=created,
    )
    if controller is not None:
        found["ownerReferences"] = [owner_of(controller)]
    body: Object = {"minMember": minimum, **spec}
    if tasks:
        body["minTaskMember"] = dict(tasks)
    if tier is not None:
        body["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": found,
        "spec": body,
    }


def gang_objects(
    name: str,
    *,
    pods: int,
    gpus: int = 8,
    cpu: str = "1",
    minimum: int | None = None,
    tier: int | None = None,
    binding: str = "",
    scheduler: str = AGENT,
    created: int = 0,
    nodes: Sequence[str] = (),
) -> list[Object]:
    """A Volcano Job with one task `worker`: Job, PodGroup and pods, the first ones on `nodes`."""
    job = volcano_job(name, binding=binding, tasks=[{"name": "worker", "replicas": pods}])
    floor = pods if minimum is None else minimum
    group = pod_group(
        f"{name}-pg",
        minimum=floor,
        tasks={"worker": floor},
        controller=job,
        tier=tier,
        created=created,
    )
    own = [
        pod(
            f"{name}-worker-{at}",
            gpus=gpus,
            cpu=cpu,
            owner=job,
            group=f"{name}-pg",
            task="worker",
            index=at,
            scheduler=scheduler,
            created=created,
            node=nodes[at] if at < len(nodes) else "",
        )
        for at in range(pods)
    ]
    return [job, group, *own]


def feed(cache: ClusterCache, objects: Iterable[Object]) -> ClusterCache:
    """Give a cache these objects as informers would."""
    for obj in objects:
        match obj["kind"]:
            case "Node":
                cache.upsert_node(decode(obj, Node))
            case "Pod":
                cache.upsert_pod(decode(obj, Pod))
            case "HyperNode":
                cache.upsert_hyper_node(decode(obj, HyperNode))
            case "PodGroup":
                cache.upsert_group(decode(obj, PodGroup))
            case "Directive":
                cache.upsert_directive(decode(obj, Directive))
            case kind:
                cache.upsert_owner(
                    decode(obj, owner_type(obj["apiVersion"], kind)), obj["apiVersion"], kind
                )
    return cache


def member(*objects: Object | Sequence[Object]) -> ClusterCache:
    """A cache that holds these objects; lists of them are flattened."""
    flat: list[Object] = []
    for obj in objects:
        if isinstance(obj, dict):
            flat.append(obj)
        else:
            flat.extend(obj)
    return feed(ClusterCache(CLUSTER), flat)
