"""The annotation `federation.global-sched.io/elastic`: sizes that a gang can use, and its rest.

Strict JSON: an unknown key or a value out of its bounds refuses the whole annotation, and the gang
keeps the defaults: any size, no cooldown.
"""

from dataclasses import replace
from typing import Final

from global_sched.shared.model.gang import Elastic, Gang
from global_sched.shared.model.strict_json import (
    AnnotationRefusedError,
    read_object,
    seconds_of,
    shown,
)

SIZES_LIMIT: Final = 64
PODS_LIMIT: Final = 1_000_000
COOLDOWN_LIMIT: Final = 3600
"""Seconds: a gang that rests leaves for no other workload, so it is bounded."""
_KEYS: Final = ("sizes", "step", "cooldown")


class ElasticRefusedError(AnnotationRefusedError):
    """The elastic annotation is refused."""

    annotation = "elastic"


def elastic_of(text: str) -> tuple[Elastic | None, str]:
    """What an annotation says, None where it says nothing; and why it is refused."""
    try:
        return (parse_elastic(text) if text else None), ""
    except ElasticRefusedError as error:
        return None, str(error)


def parse_elastic(text: str) -> Elastic:
    """What an annotation says, whatever the gang is. Raises ElasticRefusedError."""
    value = read_object(text, _KEYS, ElasticRefusedError)
    if "sizes" in value and "step" in value:
        raise ElasticRefusedError("step", "stands beside sizes", "leave one of them out")
    return Elastic(
        sizes=_sizes(value["sizes"]) if "sizes" in value else (),
        step=_whole(value.get("step", 1), "step"),
        cooldown=_cooldown(value.get("cooldown", "0s")),
    )


def with_elastic(gang: Gang, elastic: Elastic) -> Gang:
    """The gang with these sizes, its template cut to the largest. Raises ElasticRefusedError."""
    if any(one.partition is not None for one in gang.pod_sets):
        raise ElasticRefusedError(
            "", "the gang has partitions", "leave it out: such a gang is given whole groups"
        )
    least, pods = gang.minimum_amounts(), gang.pods()
    larger = [one for one in gang.pod_sets if one.count > least.get(one.name)]
    if len(larger) != 1:
        names = ", ".join(one.name for one in larger) or "none"
        raise ElasticRefusedError(
            "",
            f"{len(larger)} pod sets have more pods than the gang's minimum takes ({names})",
            "let one pod set have surplus",
        )
    for at, size in enumerate(elastic.sizes):
        if size < least.pods():
            raise ElasticRefusedError(
                f"sizes[{at}]",
                f"is {size}, and the gang's minimum is {least.pods()}",
                "begin with the minimum, or lower that",
            )
        if size > pods:
            raise ElasticRefusedError(
                f"sizes[{at}]", f"is {size}, and the template has {pods} pods", "end with these"
            )
    if elastic.sizes and elastic.sizes[0] != least.pods():
        raise ElasticRefusedError(
            "sizes[0]",
            f"is {elastic.sizes[0]}, and the gang starts with its minimum, {least.pods()}",
            "begin with the minimum, or raise that",
        )
    sized = replace(gang, minimum=least.pods(), elastic=elastic)
    over = pods - sized.size_within(pods)
    if not over:
        return sized
    [surplus] = larger
    cut = replace(surplus, count=surplus.count - over)
    if cut.count == least.get(cut.name):
        return replace(gang, pod_sets=tuple(cut if p is surplus else p for p in gang.pod_sets))
    return replace(sized, pod_sets=tuple(cut if p is surplus else p for p in gang.pod_sets))


def _sizes(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= SIZES_LIMIT:
        raise ElasticRefusedError(
            "sizes", "is no short list", f"list from 1 to {SIZES_LIMIT} numbers of pods"
        )
    found: list[int] = []
    for at, one in enumerate(value):
        size = _whole(one, f"sizes[{at}]")
        if found and size <= found[-1]:
            raise ElasticRefusedError(
                f"sizes[{at}]", f"{size} is not above {found[-1]}", "write them ascending"
            )
        found.append(size)
    return tuple(found)


def _whole(value: object, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= PODS_LIMIT:
        raise ElasticRefusedError(
            where, f"is {shown(value)}", f"use a whole number from 1 to {PODS_LIMIT}"
        )
    return value


def _cooldown(value: object) -> int:
    seconds = seconds_of(value)
    if seconds is None or seconds > COOLDOWN_LIMIT:
        raise ElasticRefusedError(
            "cooldown", f"is {shown(value)}", "use a time from 0s to 1h such as 90s or 10m"
        )
    return seconds
