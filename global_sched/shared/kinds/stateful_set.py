"""StatefulSets: replicas in order, which may be divided over clusters."""

from typing import Final

from global_sched.shared.api.base import Meta, Wire
from global_sched.shared.api.raw import Obj
from global_sched.shared.api.resource import STATEFUL_SETS
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
from global_sched.shared.kinds.parts.pod_labels import index_by
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

_SOMETIMES: Final = ("currentReplicas", "readyReplicas", "updatedReplicas")
_ALWAYS: Final = ("availableReplicas", "replicas")


class OwnedStatefulSet(Wire, frozen=True):
    """Its metadata: nothing of its spec makes a minimum."""

    metadata: Meta = Meta()


def _reflect(obj: Obj, status: Obj) -> Obj:
    always = {name: status.get(name) or 0 for name in _ALWAYS}
    return generations(obj) | always | some(status, _SOMETIMES)


def _aggregate(template: Obj, items: Items, _now: str) -> Obj:
    parts = statuses(items)
    status: Obj = {name: total(parts, name) for name in _ALWAYS}
    status |= {name: count for name in _SOMETIMES if (count := total(parts, name))}
    rest = {
        key: value
        for key, value in old_status(template).items()
        if key not in (*_ALWAYS, *_SOMETIMES)
    }
    observed = observed_generation(template, parts)
    return rest | ({"observedGeneration": observed} if observed else {}) | status


KIND: Final = WorkloadKind(
    resource=STATEFUL_SETS,
    crd=None,
    wire=Deployment,
    read=lambda app: read_replicated(app, "StatefulSet"),
    runtimes=None,
    notes=(),
    schedulers=(PATH,),
    brings=(),
    ends=never_ends,
    completed=None,
    failed=None,
    owner=OwnedStatefulSet,
    facts=no_facts,
    pod_set=None,
    index=index_by("apps.kubernetes.io/pod-index"),
    makes=(),
    one_by_one=True,
    groups=False,
    karmada=Interpretation(
        replicas=spec_replicas,
        components=False,
        revised="replicas",
        pods=template_pods,
        prune=None,
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
            "a StatefulSet has no field for it; scale it to 0 replicas, and back to as many"
            " as it had"
        ),
        priority=Field(("spec", "template", "spec", "priorityClassName")),
    ),
)
