"""Kinds without a reader: what Karmada's interpreter put on the binding is all there is."""

from global_sched.shared.api.core import (
    Affinity,
    Container,
    NodeAffinity,
    PodSpec,
    ResourceRequirements,
)
from global_sched.shared.api.karmada import BindingSpec, Component, NodeClaim, ReplicaRequirements
from global_sched.shared.kinds.parts.reading import (
    Reading,
    RefusedError,
    pods_total,
    whole_number,
)
from global_sched.shared.model.gang import PodSet
from global_sched.shared.model.ids import MAIN, PodSetName
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.quantity import QuantityError
from global_sched.shared.placement import SpecError, shape_of


def read_binding(spec: BindingSpec) -> Reading | None:
    """The demand that a binding itself carries, None when it carries none.

    Raises:  RefusedError.
    """
    api_version, kind = spec.resource.api_version, spec.resource.kind
    if spec.components:
        return _components(spec.components, api_version, kind)
    if not spec.replicas and spec.replica_requirements is None:
        return None
    replicas = whole_number(spec.replicas, "spec.replicas", default=0)
    needs = spec.replica_requirements
    pod_set = PodSet(
        name=MAIN,
        count=replicas,
        minimum=replicas,
        shape=_shape(needs, "spec.replicaRequirements"),
    )
    return Reading(
        api_version=api_version,
        kind=kind,
        pod_sets=(pod_set,),
        minimum=replicas,
        divisible=True,
        priority_class=needs.priority_class_name if needs is not None else "",
    )


def _components(components: list[Component], api_version: str, kind: str) -> Reading:
    """Several templates in one job: a gang, never divided."""
    pod_sets = []
    for i, component in enumerate(components):
        field = f"spec.components[{i}]"
        count = whole_number(component.replicas, f"{field}.replicas", default=0)
        shape = _shape(component.replica_requirements, f"{field}.replicaRequirements")
        name = PodSetName(component.name or str(i))
        pod_sets.append(PodSet(name=name, count=count, minimum=count, shape=shape))
    if len({pod_set.name for pod_set in pod_sets}) < len(pod_sets):
        raise RefusedError("spec.components", "has a name twice", "names must be unique")
    pods = sum(pod_set.count for pod_set in pod_sets)
    pods_total(pods, "spec.components[*].replicas")
    classes = (
        c.replica_requirements.priority_class_name
        for c in components
        if c.replica_requirements is not None
    )
    return Reading(
        api_version=api_version,
        kind=kind,
        pod_sets=tuple(pod_sets),
        minimum=pods,
        carries_replicas=False,
        priority_class=next(filter(None, classes), ""),
    )


def _shape(needs: ReplicaRequirements | None, field: str) -> PodShape:
    """The shape of one replica: its request as one container of a pod."""
    claim = needs.node_claim if needs is not None and needs.node_claim else NodeClaim()
    request = needs.resource_request if needs is not None else None
    affinity = None
    if claim.hard_node_affinity is not None:
        required = NodeAffinity(
            required_during_scheduling_ignored_during_execution=claim.hard_node_affinity
        )
        affinity = Affinity(node_affinity=required)
    spec = PodSpec(
        containers=[Container(name="main", resources=ResourceRequirements(requests=request))],
        node_selector=claim.node_selector,
        tolerations=claim.tolerations,
        affinity=affinity,
    )
    try:
        return shape_of(spec)
    except (SpecError, QuantityError) as error:
        raise RefusedError(field, str(error), "correct what the interpreter returns") from error
