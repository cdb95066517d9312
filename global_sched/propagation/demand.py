"""Replicas, and what one replica asks for."""

from collections.abc import Callable, Iterable
from typing import Any, Final

from global_sched.propagation.fields import Obj, get, kind_of
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.interpretation import spec_replicas
from global_sched.shared.model.quantity import QuantityError, parse_quantity

_BINARY: Final = ("memory", "ephemeral-storage")
_BINARY_SUFFIXES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_SUFFIXES: Final = ("", "k", "M", "G", "T", "P", "E")


def demand_of(template: Obj) -> tuple[int, Obj | None] | None:
    """Replicas and replicaRequirements for the binding.

    None for kinds without a replica hook: a Volcano Job and a PyTorchJob too, as released.
    """
    kind = KINDS.get(kind_of(template))
    replicas = _OTHERS.get(kind_of(template)) if kind is None else kind.karmada.replicas
    if replicas is None:
        return None
    return replicas(template), requirements(pod_spec_of(template))


def pod_spec_of(template: Obj) -> Obj:
    """The pod spec: a Pod's own, else its template's."""
    if kind_of(template) == ("v1", "Pod"):
        return get(template, "spec") or {}
    return get(template, "spec", "template", "spec") or {}


def requirements(pod: Obj) -> Obj | None:
    """What one pod asks for: node claim and requests; None when it asks for nothing."""
    done: Obj = {}
    if claim := _node_claim(pod):
        done["nodeClaim"] = claim
    if request := pod_request(pod):
        done["resourceRequest"] = request
    return done or None


def _node_claim(pod: Obj) -> Obj:
    claim: Obj = {}
    affinity = get(
        pod, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if affinity:
        claim["hardNodeAffinity"] = affinity
    if pod.get("nodeSelector"):
        claim["nodeSelector"] = pod["nodeSelector"]
    if pod.get("tolerations"):
        claim["tolerations"] = pod["tolerations"]
    return claim


def pod_request(pod: Obj) -> dict[str, str]:
    """Requests of a pod by resource, as canonical texts."""
    total = pod_amounts(pod)
    return {name: format_amount(value, name) for name, value in sorted(total.items()) if value}


def pod_amounts(pod: Obj) -> dict[str, int]:
    """Requests of a pod by resource, in base units; limits stand in for missing requests.

    The sum over containers or the largest init step, whichever is more; sidecars add to all
    steps after them; plus overhead. An amount that is no quantity is left out: the API server of
    the template's kind has refused it already, or it cannot be counted.
    """
    main = _sum(_container_request(one) for one in pod.get("containers") or [])
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for one in pod.get("initContainers") or []:
        step = _sum([sidecars, _container_request(one)])
        if one.get("restartPolicy") == "Always":
            sidecars = step
        peak = {name: max(peak.get(name, 0), step.get(name, 0)) for name in peak | step}
    main = _sum([main, sidecars])
    total = {name: max(main.get(name, 0), peak.get(name, 0)) for name in main | peak}
    return _sum([total, amounts(pod.get("overhead") or {})])


def _container_request(container: Obj) -> dict[str, int]:
    resources = container.get("resources") or {}
    return amounts((resources.get("limits") or {}) | (resources.get("requests") or {}))


def amounts(quantities: dict[str, Any]) -> dict[str, int]:
    """A resource list in base units; what is no quantity is left out."""
    done: dict[str, int] = {}
    for name, text in quantities.items():
        try:
            done[name] = parse_quantity(str(text), name)
        except QuantityError:
            continue
    return done


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for name, value in part.items():
            total[name] = total.get(name, 0) + value
    return total


def format_amount(value: int, resource: str) -> str:
    """An amount in base units as the API's canonical quantity: `1500m`, `128Mi`, `2`, `1k`."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else _scaled(value // 1000, 1000, _DECIMAL_SUFFIXES)
    if resource in _BINARY or resource.startswith("hugepages-"):
        return _scaled(value, 1024, _BINARY_SUFFIXES)
    return _scaled(value, 1000, _DECIMAL_SUFFIXES)


def _scaled(value: int, factor: int, suffixes: tuple[str, ...]) -> str:
    power = 0
    while value and value % factor == 0 and power < len(suffixes) - 1:
        value //= factor
        power += 1
    return f"{value}{suffixes[power]}"


def _one(_template: Obj) -> int:
    return 1


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj], int]]] = {
    ("apps/v1", "ReplicaSet"): spec_replicas,
    ("v1", "Pod"): _one,
}
"""Kinds that Karmada counts and that are not read here."""
