"""The annotation with what a queue's tenants held in the past: records as JSON, and back."""

from collections.abc import Iterable
from typing import Final

import msgspec

from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import InstantError, format_micro, parse_instant
from global_sched.shared.model.past import Past
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.values import InvariantError

MOST: Final = 1000
"""So many tenants of a queue are remembered: those with the largest part of anything."""


class _Entry(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    held: dict[str, int] = {}
    average: dict[str, int] = {}


class _Record(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    at: str
    tenants: dict[str, _Entry] = {}


def render_past(records: Iterable[Past]) -> str:
    """One queue's records, which have the same instant. Empty for none."""
    kept = _largest(list(records))
    if not kept:
        return ""
    tenants = {
        str(one.tenant): _Entry(held=dict(one.held.entries), average=dict(one.average.entries))
        for one in sorted(kept)
    }
    text = msgspec.json.encode(_Record(at=format_micro(kept[0].at), tenants=tenants))
    return text.decode()


def _largest(records: list[Past]) -> list[Past]:
    """At most `MOST`, those with the largest part of any resource's average first."""
    if len(records) <= MOST:
        return records
    totals = dict(Resources.total(one.average for one in records).entries)

    def part(one: Past) -> tuple[int, str]:
        return max((10**9 * v // totals[n] for n, v in one.average), default=0), one.tenant

    return sorted(records, key=part, reverse=True)[:MOST]


def parse_past(queue: QueueName, text: str) -> tuple[Past, ...]:
    """The records by tenant; none where the text cannot be read: then nothing was held."""
    if not text:
        return ()
    try:
        found = msgspec.json.decode(text, type=_Record)
        at = parse_instant(found.at)
        return tuple(
            Past(
                queue=queue,
                tenant=TenantName(tenant),
                at=at,
                held=Resources.of(entry.held),
                average=Resources.of(entry.average),
            )
            for tenant, entry in sorted(found.tenants.items())
        )
    except (msgspec.DecodeError, InstantError, InvariantError):
        return ()
