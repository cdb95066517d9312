"""Deployments: replicas that may be divided over clusters."""

from typing import Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.raw import Obj, drop
from global_sched.shared.api.resource import DEPLOYMENTS, REPLICA_SETS
from global_sched.shared.kinds.parts.acts import Acts, Field, Refused
from global_sched.shared.kinds.parts.interpretation import (
    Interpretation,
    Items,
    keep_replicas,
    spec_replicas,
    template_pods,
)
from global_sched.shared.kinds.parts.kind import (
    QUEUE_LABEL,
    TIER_ANNOTATION,
    FieldNames,
    WorkloadKind,
)
from global_sched.shared.kinds.parts.owner import no_facts
from global_sched.shared.kinds.parts.replicated import (
    ABOUT,
    Deployment,
    read_replicated,
    rolled_out,
)
from global_sched.shared.kinds.parts.statuses import (
    generations,
    never_ends,
    observed_generation,
    old_status,
    some,
    statuses,
    total,
)
from global_sched.shared.kinds.parts.templates import PATH

_REFLECTED: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)
_SUMS: Final = (
    "replicas",
    "readyReplicas",
    "updatedReplicas",
    "availableReplicas",
    "unavailableReplicas",
)


class OwnedDeployment(Wire, frozen=True):
    """Its metadata: nothing of its spec makes a minimum."""

    metadata: Meta = Meta()


def _prune(manifest: Obj) -> None:
    drop(manifest, "metadata", "annotations", "deployment.kubernetes.io/revision")
    drop(manifest, "metadata", "annotations", "deployment.kubernetes.io/revision-history")


def _reflect(obj: Obj, status: Obj) -> Obj:
    return generations(obj) | some(status, _REFLECTED)


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    parts = statuses(items)
    status = {name: count for name in _SUMS if (count := total(parts, name))}
    observed = observed_generation(template, parts)
    rest = {key: value for key, value in old_status(template).items() if key not in _SUMS}
    rest.pop("observedGeneration", None)
    return rest | ({"observedGeneration": observed} if observed else {}) | status


KIND: Final = WorkloadKind(
    resource=DEPLOYMENTS,
    crd=None,
    wire=Deployment,
    read=lambda app: read_replicated(app, "Deployment"),
    runtimes=None,
    notes=(),
    schedulers=(PATH,),
    brings=(),
    ends=never_ends,
    completed=None,
    failed=None,
    owner=OwnedDeployment,
    facts=no_facts,
    pod_set=None,
    index=None,
    makes=(REPLICA_SETS,),
    one_by_one=True,
    groups=False,
    karmada=Interpretation(
        replicas=spec_replicas,
        components=False,
        revised="replicas",
        pods=template_pods,
        prune=_prune,
        retain=keep_replicas,
        reflect=_reflect,
        health=rolled_out,
        aggregate=_aggregate,
    ),
    about=ABOUT,
    fields=FieldNames(
        queue=QUEUE_LABEL,
        priority_class="spec.template.spec.priorityClassName",
        minimum="",
        topology=TIER_ANNOTATION,
    ),
    acts=Acts(
        suspend=Refused(
            "a Deployment has no field for it; scale it to 0 replicas, and back to as many "
            "as it had"
        ),
        priority=Field(("spec", "template", "spec", "priorityClassName")),
    ),
)
