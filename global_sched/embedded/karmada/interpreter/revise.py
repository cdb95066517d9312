"""Replicas of a template for one member."""

from collections.abc import Sequence
from typing import Final

from global_sched.propagation.fields import Obj, get, kind_of, put
from global_sched.shared.kinds import KINDS, batch_job

BATCH_JOB: Final = batch_job.KIND.key
_OTHERS: Final = {("apps/v1", "ReplicaSet"): "replicas"}


def revise(manifest: Obj, replicas: int) -> None:
    """Set a manifest's replicas; kinds without a hook stay whole."""
    kind = KINDS.get(kind_of(manifest))
    if name := _OTHERS.get(kind_of(manifest)) if kind is None else kind.karmada.revised:
        put(manifest, "spec", name, value=replicas)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """A total divided by weights, rounded down; the rest goes to the first ones, one each."""
    whole = sum(weights)
    if whole == 0:
        return [0 for _ in weights]
    shares = [total * weight // whole for weight in weights]
    for index in range(total - sum(shares)):
        shares[index] += 1
    return shares


def completions_of(template: Obj) -> int | None:
    """A batch Job's completions, None for other kinds and for work queues."""
    if kind_of(template) != BATCH_JOB:
        return None
    completions = get(template, "spec", "completions")
    return None if completions is None else int(completions)
