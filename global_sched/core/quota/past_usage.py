"""Past usage in a cycle: what a tenant held counts beside what it holds (`Policy` says how much).

Off by default. The records are in the Queues' annotations, so that every program that reads the
objects comes to the same order; `renewed` says which of them have to be written anew.
"""

from collections.abc import Mapping

from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.past import FINE, Past, what_is_left
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot

RECORD_SECONDS = 60
"""A queue's record is written at most this often; what is shorter is seen as a sample."""
_HUNDRED = 100


class PastUsage:
    """The averages as of a cycle's instant, each worked out when first asked for."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: Instant) -> None:
        self._now, self._half_life = now, policy.usage_half_life_seconds
        self._weight = max(0, policy.usage_weight_percent)
        self._left: dict[Instant, int] = {}
        self._records: dict[TenantName, dict[QueueName, Past]] = {}
        for one in snapshot.past:
            self._records.setdefault(one.tenant, {})[one.queue] = one

    def average(self, tenant: TenantName, queue: QueueName | None = None) -> dict[str, int]:
        """In millionths, of one queue or of all together."""
        records = self._records.get(tenant, {})
        listed = records.values() if queue is None else [records[queue]] if queue in records else []
        found: dict[str, int] = {}
        for one in listed:
            for name, value in one.averaged(self._left_since(one.at)).items():
                found[name] = found.get(name, 0) + value
        return found

    def counted(
        self, held: Mapping[str, int], tenant: TenantName, queue: QueueName | None = None
    ) -> dict[str, int]:
        """What is held and the weighted average of what was, on a finer scale.

        Compare it with nothing but what this returns for others.
        """
        found = {name: value * FINE * _HUNDRED for name, value in held.items()}
        for name, value in self.average(tenant, queue).items():
            found[name] = found.get(name, 0) + value * self._weight
        return found

    def _left_since(self, at: Instant) -> int:
        left = self._left.get(at)
        if left is None:
            left = self._left[at] = what_is_left(at, self._now, self._half_life)
        return left


def past_usage(snapshot: Snapshot, policy: Policy, now: Instant) -> PastUsage | None:
    """What counts of the past; None where the Policy lets nothing count."""
    if policy.usage_half_life_seconds <= 0:
        return None
    return PastUsage(snapshot, policy, now)


def renewed(
    snapshot: Snapshot, policy: Policy, now: Instant, *, at_once: bool = False
) -> dict[QueueName, tuple[Past, ...]]:
    """The queues whose record has to be written, with what it says then; nothing: drop it.

    Only where what is held differs from what the record says, and not before `RECORD_SECONDS` after
    the last time (`at_once`: whenever it differs). In a settled world nothing is written.
    """
    known: dict[QueueName, dict[TenantName, Past]] = {}
    for one in snapshot.past:
        known.setdefault(one.queue, {})[one.tenant] = one
    if policy.usage_half_life_seconds <= 0:
        return dict.fromkeys(known, ())
    found: dict[QueueName, tuple[Past, ...]] = {}
    held = _held(snapshot)
    for queue in sorted({one.name for one in snapshot.queues}):
        old, has = known.get(queue, {}), held.get(queue, {})
        if has == {name: one.held for name, one in old.items() if one.held}:
            continue
        last = max((one.at for one in old.values()), default=None)
        early = last is not None and now < last + RECORD_SECONDS * SECOND
        if at_once or not early:
            found[queue] = _record(queue, old, has, (policy.usage_half_life_seconds, now))
    return found


def _held(snapshot: Snapshot) -> dict[QueueName, dict[TenantName, Resources]]:
    parts: dict[QueueName, dict[TenantName, list[Resources]]] = {}
    for one in snapshot.usage:
        parts.setdefault(one.queue, {}).setdefault(one.tenant, []).append(one.amount)
    return {
        queue: {tenant: Resources.total(amounts) for tenant, amounts in tenants.items()}
        for queue, tenants in parts.items()
    }


def _record(
    queue: QueueName,
    old: Mapping[TenantName, Past],
    held: Mapping[TenantName, Resources],
    when: tuple[int, Instant],
) -> tuple[Past, ...]:
    """Each tenant's average until now, and what it holds from now on; none without either."""
    half_life, now = when
    found = []
    for tenant in sorted(old.keys() | held.keys()):
        before = old.get(tenant)
        average = Resources()
        if before is not None:
            left = what_is_left(before.at, now, half_life)
            average = Resources.of(before.averaged(left))
        has = held.get(tenant, Resources())
        if has or average:
            found.append(Past(queue=queue, tenant=tenant, at=now, held=has, average=average))
    return tuple(found)
