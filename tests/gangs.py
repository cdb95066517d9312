"""Builders of what pods ask for: amounts, shapes, pod sets, gangs and constraints."""

from collections.abc import Sequence

from global_sched.shared.model.gang import (
    Gang,
    Mode,
    Partition,
    PodSet,
    TopologyConstraint,
)
from global_sched.shared.model.ids import MAIN, PodSetName
from global_sched.shared.model.instant import parse_instant
from global_sched.shared.model.pods import PodShape, Requirement, Toleration
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.resources import PODS, Resources

GPU = "nvidia.com/gpu"
GIB = 2**30
NOW = parse_instant("2026-01-31T12:00:00Z")
POLICY = Policy()
KINDS = (
    "apps/v1/Deployment",
    "apps/v1/StatefulSet",
    "batch.volcano.sh/v1alpha1/Job",
    "batch/v1/Job",
    "kubeflow.org/v1/PyTorchJob",
    "v1/ConfigMap",
)
AXIS = ("cpu", "memory", GPU, PODS)


def resources(
    *,
    gpus: int = 0,
    cpu: int = 0,
    memory: int = 0,
    pods: int = 0,
    others: Sequence[tuple[str, int]] = (),
) -> Resources:
    """Amounts in whole GPUs, CPUs and GiB."""
    amounts = {GPU: gpus, "cpu": cpu * 1000, "memory": memory * GIB, PODS: pods}
    return Resources.of(amounts | dict(others))


def pod(
    *,
    gpus: int = 0,
    cpu: int = 0,
    memory: int = 0,
    others: Sequence[tuple[str, int]] = (),
    selector: Sequence[tuple[str, str]] = (),
    affinity: Sequence[Sequence[Requirement]] = (),
    tolerations: Sequence[Toleration] = (),
    anti_affine: bool = False,
) -> PodShape:
    """What one pod asks of a node."""
    return PodShape(
        requests=resources(gpus=gpus, cpu=cpu, memory=memory, pods=1, others=others),
        selector=tuple(sorted(selector)),
        affinity=tuple(tuple(term) for term in affinity),
        tolerations=tuple(tolerations),
        anti_affine=anti_affine,
    )


def pod_set(
    name: str = MAIN,
    *,
    pods: int = 1,
    minimum: int | None = None,
    partition: Partition | None = None,
    shape: PodShape | None = None,
    gpus: int = 0,
    cpu: int = 0,
    memory: int = 0,
) -> PodSet:
    """Equal pods of a gang; all of them are the minimum unless said otherwise."""
    return PodSet(
        name=PodSetName(name),
        count=pods,
        minimum=pods if minimum is None else minimum,
        shape=shape or pod(gpus=gpus, cpu=cpu, memory=memory),
        partition=partition,
    )


def hard(tier: int | str | None) -> TopologyConstraint:
    """A hard constraint by tier number or tier name."""
    if isinstance(tier, str):
        return TopologyConstraint(mode=Mode.HARD, highest_tier_name=tier)
    return TopologyConstraint(mode=Mode.HARD, highest_tier=tier)


def soft(tier: int | None = None) -> TopologyConstraint:
    """A soft constraint."""
    return TopologyConstraint(mode=Mode.SOFT, highest_tier=tier)


def gang(
    *pod_sets: PodSet, minimum: int | None = None, constraint: TopologyConstraint | None = None
) -> Gang:
    """A gang; its minimum is the sum of the pod sets' minimums unless said otherwise."""
    floor = sum(one.minimum for one in pod_sets)
    return Gang(
        pod_sets=pod_sets, minimum=floor if minimum is None else minimum, constraint=constraint
    )
