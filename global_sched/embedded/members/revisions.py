"""Names for versions of a pod template, and conditions as the workload controllers keep them."""

import hashlib
from collections.abc import Sequence
from typing import Final

import msgspec

from global_sched.propagation.fields import Obj

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The characters that Kubernetes uses for hashes in names: no vowels, so no words."""


def template_hash(template: Obj) -> str:
    """Ten characters that stand for a pod template's content."""
    digest = hashlib.sha256(msgspec.json.encode(template, order="deterministic")).digest()
    return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest[:10])


def with_condition(conditions: Sequence[Obj] | None, new: Obj, now: str) -> list[Obj]:
    """The list with a condition set as Kubernetes sets it.

    Nothing changes when status and reason are the same; else it moves to the end, and its
    transition time changes only with its status.
    """
    old = next((one for one in conditions or () if one["type"] == new["type"]), None)
    if old is not None and (old["status"], old.get("reason")) == (new["status"], new["reason"]):
        return list(conditions or ())
    transition = now if old is None or old["status"] != new["status"] else old["lastTransitionTime"]
    others = [one for one in conditions or () if one["type"] != new["type"]]
    return [*others, new | {"lastTransitionTime": transition, "lastUpdateTime": now}]


def count_of(text: object, replicas: int, *, up: bool) -> int:
    """A whole number or a percentage of the replicas, rounded up or down."""
    if isinstance(text, int):
        return text
    percent = str(text).removesuffix("%")
    if not percent.isascii() or not percent.isdigit():
        return 0
    scaled = int(percent) * replicas
    return -(-scaled // 100) if up else scaled // 100
