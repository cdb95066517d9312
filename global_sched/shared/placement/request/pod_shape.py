"""A pod's spec, reduced to what decides where it fits."""

from collections.abc import Iterable, Mapping

from global_sched.shared.api.base import Quantity
from global_sched.shared.api.core import (
    Container,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    ResourceRequirements,
    TolerationWire,
)
from global_sched.shared.api.names import HOSTNAME_LABEL
from global_sched.shared.model.pods import Effect, PodShape, Requirement, Toleration
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.placement.requirements import SpecError, node_requirement, selector_text
from global_sched.shared.placement.sentinels import LARGEST_AMOUNT

_UNUSABLE_NODES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def pod_requests(spec: PodSpec) -> Resources:
    """The effective requests of a pod: what its node must have free for it.

    Per resource the larger of the containers' sum and the highest point of the init sequence, plus
    overhead; a sidecar (an init container that restarts always) counts in both from its start on. A
    limit stands in for a missing request. What the pod says for all of its containers counts in
    place of what they say. `pods: 1` is added.

    Raises:  SpecError naming the field, for a quantity that cannot be read or summed.
    Source:  Kubernetes KEP-753 (sidecar containers), "Resources calculation"; KEP-2837 (resources
             of the pod).
    """
    main: dict[str, int] = {}
    for position, container in enumerate(spec.containers or ()):
        _add(main, _container_requests(container, f"containers[{position}]"))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for position, container in enumerate(spec.init_containers or ()):
        requests = _container_requests(container, f"initContainers[{position}]")
        if container.restart_policy == "Always":
            _add(sidecars, requests)
            _raise_to(peak, sidecars)
        else:
            _raise_to(peak, _sum(sidecars, requests))
    _add(main, sidecars)
    _raise_to(main, peak)
    main.update(_of_the_whole_pod(spec.resources, main))
    _add(main, _quantities(spec.overhead, "overhead"))
    main[PODS] = 1
    for name, amount in main.items():
        if amount > LARGEST_AMOUNT:
            raise SpecError("containers", f"the sum of {name} is beyond what any node can have")
    return Resources.of(main)


def shape_of(spec: PodSpec) -> PodShape:
    """All that decides on which nodes the pod fits. Equal needs give equal shapes.

    Tolerations of nodes that are not ready are left out: such nodes take no pods from us, and the
    API server adds these to every pod but not to templates. A host port, or any required pod
    anti-affinity on the host name, means one pod of the pod set per node; spread over host names
    (`DoNotSchedule`) means at most `maxSkew`, which keeps the skew whatever else happens. What
    cannot be honoured (`matchFields`, required anti-affinity on other keys) is refused rather than
    ignored.

    Raises:  SpecError naming the field, the reason and what would help.
    """
    if not spec.containers:
        raise SpecError("containers", "is empty: a pod needs at least one container")
    anti_affine, ports, spread = _anti_affine(spec), host_ports(spec), _spread(spec)
    return PodShape(
        requests=pod_requests(spec),
        selector=tuple(sorted((spec.node_selector or {}).items())),
        affinity=_affinity(spec),
        tolerations=_tolerations(spec.tolerations or ()),
        anti_affine=anti_affine or bool(ports) or spread == 1,
        per_node=spread if spread > 1 and not anti_affine and not ports else 0,
        apart=_apart(spec) if anti_affine else "",
        ports=ports,
    )


def _of_the_whole_pod(
    resources: ResourceRequirements, containers: Mapping[str, int]
) -> dict[str, int]:
    """The pod's own requests; a limit stands in where neither it nor a container has a request."""
    limits = _quantities(resources.limits, "resources.limits")
    requests = {name: limit for name, limit in limits.items() if name not in containers}
    requests.update(_quantities(resources.requests, "resources.requests"))
    return requests


def _container_requests(container: Container, field: str) -> dict[str, int]:
    resources = container.resources
    requests = _quantities(resources.limits, f"{field}.resources.limits")
    requests.update(_quantities(resources.requests, f"{field}.resources.requests"))
    return requests


def _quantities(amounts: Mapping[str, Quantity] | None, field: str) -> dict[str, int]:
    result: dict[str, int] = {}
    for name, quantity in (amounts or {}).items():
        try:
            result[name] = parse_quantity(str(quantity), name)
        except QuantityError as error:
            raise SpecError(f"{field}.{name}", str(error)) from error
    return result


def _sum(left: Mapping[str, int], right: Mapping[str, int]) -> dict[str, int]:
    result = dict(left)
    _add(result, right)
    return result


def _add(total: dict[str, int], part: Mapping[str, int]) -> None:
    for name, amount in part.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(total: dict[str, int], floor: Mapping[str, int]) -> None:
    for name, amount in floor.items():
        total[name] = max(total.get(name, 0), amount)


def _affinity(spec: PodSpec) -> tuple[tuple[Requirement, ...], ...]:
    node_affinity = spec.affinity.node_affinity if spec.affinity else None
    required: NodeSelector | None = (
        node_affinity.required_during_scheduling_ignored_during_execution if node_affinity else None
    )
    if required is None:
        return ()
    field = "affinity.nodeAffinity.required.nodeSelectorTerms"
    terms = {
        _term(term, f"{field}[{position}]")
        for position, term in enumerate(required.node_selector_terms or ())
    }
    terms.discard(())  # a term without expressions matches no node (Kubernetes' rule)
    if not terms:
        raise SpecError(field, "matches no node: give at least one term with an expression")
    return tuple(sorted(terms))


def _term(term: NodeSelectorTerm, field: str) -> tuple[Requirement, ...]:
    if term.match_fields:
        raise SpecError(
            f"{field}.matchFields",
            f"is not supported; select on the label {HOSTNAME_LABEL} in matchExpressions instead",
        )
    expressions = term.match_expressions or ()
    return tuple(
        sorted(
            {
                node_requirement(expression, f"{field}.matchExpressions[{position}]")
                for position, expression in enumerate(expressions)
            }
        )
    )


def _tolerations(wires: Iterable[TolerationWire]) -> tuple[Toleration, ...]:
    result: set[Toleration] = set()
    for position, wire in enumerate(wires):
        toleration = _toleration(wire, f"tolerations[{position}]")
        if wire.effect == Effect.NO_EXECUTE and wire.key in _UNUSABLE_NODES:
            continue
        result.add(toleration)
    return tuple(
        sorted(result, key=lambda item: (item.key, item.exists, item.value, item.effect or ""))
    )


def _toleration(wire: TolerationWire, field: str) -> Toleration:
    if wire.operator not in ("", "Equal", "Exists"):
        raise SpecError(f"{field}.operator", f"{wire.operator!r} is none of Equal, Exists")
    exists = wire.operator == "Exists"
    if exists and wire.value:
        raise SpecError(f"{field}.value", "must be empty with Exists")
    if not exists and not wire.key:
        raise SpecError(f"{field}.key", "may be empty only with the operator Exists")
    try:
        effect = Effect(wire.effect) if wire.effect else None
    except ValueError as error:
        known = ", ".join(Effect)
        raise SpecError(f"{field}.effect", f"{wire.effect!r} is none of {known}") from error
    return Toleration(wire.key, exists, wire.value, effect)


def _anti_affine(spec: PodSpec) -> bool:
    rule = spec.affinity.pod_anti_affinity if spec.affinity else None
    terms = (rule.required_during_scheduling_ignored_during_execution if rule else None) or ()
    for position, term in enumerate(terms):
        if term.topology_key != HOSTNAME_LABEL:
            raise SpecError(
                f"affinity.podAntiAffinity.required[{position}].topologyKey",
                f"only {HOSTNAME_LABEL} is supported, not {term.topology_key!r}; "
                "use the preferred form for wider spreading",
            )
    return bool(terms)


def _apart(spec: PodSpec) -> str:
    """The selectors of the anti-affinity as text: pod sets that have the same mean each other."""
    rule = spec.affinity.pod_anti_affinity if spec.affinity else None
    terms = (rule.required_during_scheduling_ignored_during_execution if rule else None) or ()
    texts = {selector_text(term.label_selector) for term in terms if term.label_selector}
    return "; ".join(sorted(texts - {""}))


def host_ports(spec: PodSpec) -> tuple[str, ...]:
    """The host ports that a pod takes on its node, ascending."""
    return tuple(
        sorted(
            {
                f"{port.protocol or 'TCP'}/{port.host_port}"
                for container in spec.containers or ()
                for port in container.ports or ()
                if port.host_port
            }
        )
    )


def _spread(spec: PodSpec) -> int:
    """The least skew over host names that must be kept; 0 without one."""
    skews = [
        rule.max_skew
        for rule in spec.topology_spread_constraints or ()
        if rule.topology_key == HOSTNAME_LABEL and rule.when_unsatisfiable in ("", "DoNotSchedule")
    ]
    if any(skew < 1 for skew in skews):
        raise SpecError("topologySpreadConstraints.maxSkew", "must be at least 1")
    return min(skews, default=0)
