"""Owners of pods as the agent keeps them: the fields that make a gang's minimum."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import PodSetName

PODS_LIMIT: Final = 1_000_000
"""No workload may ask for more pods; a number beyond it is a mistake or an attack."""
_DIGITS: Final = 7


class CountError(ValueError):
    """A count cannot be used; the message names the field and the bounds."""


class TaskRecord(NamedTuple):
    """A part of a job with pods of its own, in the template's order."""

    name: PodSetName
    replicas: int
    depends: bool
    """Whether it waits for other parts before its pods are made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsRecord:
    """Equal groups of a leader and its workers, as a LeaderWorkerSet has them."""

    size: int
    """Pods of a group, its leader among them."""
    least: int
    """How many groups must be whole."""
    late: bool
    """Whether workers are only made once their leader is ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerFacts:
    """What an object says of what must run together."""

    minimum: Amounts | None = None
    """By pod set; None where it has no fields that say it."""
    tasks: tuple[TaskRecord, ...] = ()
    groups: GroupsRecord | None = None
    below: bool = False
    """Whether the object that it makes says this, and not it itself."""


NOTHING: Final = OwnerFacts()


def no_facts(_obj: object) -> OwnerFacts:
    """The facts of kinds whose pods start one by one."""
    return NOTHING


def bounded(value: int | None, field: str, *, default: int = 1) -> int:
    """A count within bounds; absent it is the default. Raises CountError."""
    if value is None:
        return default
    if not 0 <= value <= PODS_LIMIT:
        raise CountError(f"{field} is {value}: expected 0 to {PODS_LIMIT}")
    return value


def asked(text: str, annotation: str) -> int:
    """How many must start together, as an annotation says. Raises CountError."""
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= 1):
        raise CountError(f"annotation {annotation} is {text[:40]!r}, not a whole number")
    return int(text)
