"""Common parts of the cache's readers: counts, owners, times, our annotations, and refusing."""

from typing import Final

from global_sched.shared.api import names
from global_sched.shared.api.base import Meta, OwnerReference
from global_sched.shared.model.ids import BindingId, DecisionId
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from member_agent.cache.records import Notes, OwnerRef

PODS_LIMIT: Final = 1_000_000
"""No unit has more pods; a larger count in a spec is refused."""


class ReadError(ValueError):
    """An object cannot be used; the message names the field, the reason and what would help."""


def binding_of(meta: Meta) -> BindingId | None:
    """The permanent id that Karmada put on an object, None for one that came another way."""
    value = meta.label(names.BINDING_ID) or meta.label(names.CLUSTER_BINDING_ID)
    return BindingId(value) if value else None


def notes_of(meta: Meta) -> Notes:
    """The agent's own annotations."""
    reached = DecisionId(meta.annotation(names.MINIMUM_REACHED))
    memory = meta.annotation(names.MEMORY)
    return Notes(plan=meta.annotation(names.PLAN), reached=reached, memory=memory)


def created(meta: Meta) -> Instant:
    """When the object was made; the beginning of time where that cannot be read."""
    try:
        return parse_instant(meta.creation_timestamp or "")
    except InstantError:
        return Instant(0)


def owner_ref(owner: OwnerReference | None) -> OwnerRef | None:
    """The controlling owner; None for none."""
    if owner is None or not owner.uid:
        return None
    return OwnerRef(owner.uid, owner.api_version, owner.kind, owner.name)


def count(value: int, field: str) -> int:
    """A count within bounds. Raises ReadError."""
    if not 0 <= value <= PODS_LIMIT:
        raise ReadError(f"{field} is {value}: expected 0 to {PODS_LIMIT}")
    return value
