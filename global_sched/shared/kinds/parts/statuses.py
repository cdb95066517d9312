"""Statuses as their controllers write them: ends, sums over clusters, what is kept."""

from collections.abc import Callable, Iterable
from typing import Any

from global_sched.shared.api.base import JsonMap
from global_sched.shared.api.names import TEMPLATE_GENERATION
from global_sched.shared.api.raw import Obj, annotations, generation_of, get
from global_sched.shared.kinds.parts.interpretation import Items


def never_ends(_status: JsonMap) -> bool:
    """Of kinds that run until they are deleted."""
    return False


def ends_with(*conditions: str) -> Callable[[JsonMap], bool]:
    """Ended once one of these conditions is true."""

    def ended(status: JsonMap) -> bool:
        listed = status.get("conditions")
        return isinstance(listed, list) and any(
            isinstance(one, dict) and one.get("type") in conditions and one.get("status") == "True"
            for one in listed
        )

    return ended


def with_condition(kind: str) -> JsonMap:
    """A status with one condition that is true."""
    return {"conditions": [{"type": kind, "status": "True"}]}


def has_condition(status: Any, kind: str) -> bool:
    """Whether a condition of a status is true."""
    listed: list[Obj] = get(status, "conditions") or []
    return any(one.get("type") == kind and one.get("status") == "True" for one in listed)


def statuses(items: Items) -> list[Obj]:
    """The statuses that members have reported."""
    return [item["status"] for item in items if item.get("status") is not None]


def total(parts: Iterable[Obj], name: str) -> int:
    """A count over all of them."""
    return sum(int(part.get(name) or 0) for part in parts)


def old_status(template: Obj) -> Obj:
    """The template's status, or nothing."""
    return get(template, "status") or {}


def some(status: Obj, names: tuple[str, ...]) -> Obj:
    """The named fields that say something: zeros, empty lists and maps are left out."""
    return {name: status[name] for name in names if status.get(name) not in (None, 0, "", [], {})}


def status_count(obj: Obj, name: str) -> int:
    """A number of the status, 0 when it is absent."""
    return int(get(obj, "status", name) or 0)


def is_observed(obj: Obj) -> bool:
    """Whether the status is about the newest generation."""
    return status_count(obj, "observedGeneration") == generation_of(obj)


def generations(obj: Obj) -> Obj:
    """Which generation the member has, and of which generation of the template it is the copy."""
    template = annotations(obj).get(TEMPLATE_GENERATION, "")
    numbers = {
        "generation": generation_of(obj),
        "resourceTemplateGeneration": int(template) if template.isdecimal() else 0,
    }
    return {name: number for name, number in numbers.items() if number}


def observed_generation(template: Obj, parts: list[Obj]) -> int:
    """The template's generation once every member has observed its copy of it.

    A StatefulSet's status carries no observed generation, so its number never moves.
    """
    generation = generation_of(template)
    current = all(
        part.get("resourceTemplateGeneration") == generation
        and part.get("observedGeneration", 0) >= part.get("generation", 0)
        for part in parts
    )
    if parts and current:
        return generation
    return int(old_status(template).get("observedGeneration") or 0)


def without_empty(value: Any) -> Any:
    """The value without zeros, empty texts, lists and maps, at every level of maps and lists."""
    if isinstance(value, dict):
        inner = {key: without_empty(one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one not in (None, 0, "", "0s", {}, [])}
    if isinstance(value, list):
        return [without_empty(one) for one in value]
    return value
