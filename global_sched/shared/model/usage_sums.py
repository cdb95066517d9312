"""Usage by queue and tenant, summed up: kept with the snapshot, so that no cycle adds it anew."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue import Usage
from global_sched.shared.model.resources import Resources

K = TypeVar("K", TenantName, ClusterName)
Change = tuple[Usage | None, Usage | None]
"""An entry of the usage before and after; None for none."""


@dataclass(frozen=True, slots=True)
class Summed(Generic[K]):
    """An amount in all, and its parts; parts of nothing are left out."""

    amount: Resources = Resources()
    parts: Mapping[K, Resources] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UsageSums:
    """What each queue itself holds, by tenant, and what each tenant holds, by cluster."""

    queues: Mapping[QueueName, Summed[TenantName]] = field(default_factory=dict)
    tenants: Mapping[TenantName, Summed[ClusterName]] = field(default_factory=dict)

    def changed(self, changes: Iterable[Change]) -> "UsageSums":
        """The sums after these changes; queues and tenants without one are the same objects.

        Cost: the number of queues and tenants, and the parts of those that change.
        """
        queues: dict[QueueName, _Open[TenantName]] = {}
        tenants: dict[TenantName, _Open[ClusterName]] = {}
        for pair in changes:
            for usage, times in zip(pair, (-1, 1), strict=True):
                if usage is None:
                    continue
                queue = queues.get(usage.queue)
                if queue is None:
                    queue = queues[usage.queue] = _Open(self.queues.get(usage.queue) or Summed())
                queue.add(usage.tenant, usage.amount, times)
                tenant = tenants.get(usage.tenant)
                if tenant is None:
                    one = self.tenants.get(usage.tenant) or Summed()
                    tenant = tenants[usage.tenant] = _Open(one)
                tenant.add(usage.cluster, usage.amount, times)
        by_queue, by_tenant = dict(self.queues), dict(self.tenants)
        by_queue |= {name: one.closed() for name, one in queues.items()}
        by_tenant |= {name: one.closed() for name, one in tenants.items()}
        return UsageSums(
            {name: one for name, one in by_queue.items() if one.amount},
            {name: one for name, one in by_tenant.items() if one.amount},
        )


def summed(usage: Iterable[Usage]) -> UsageSums:
    """The sums of usage that nothing has added up yet."""
    return UsageSums().changed((None, one) for one in usage)


class _Open(Generic[K]):
    """A sum while amounts are added."""

    def __init__(self, before: Summed[K]) -> None:
        self._amount = dict(before.amount.entries)
        self._parts: dict[K, Resources] = dict(before.parts)
        self._moved: dict[K, dict[str, int]] = {}

    def add(self, key: K, amount: Resources, times: int) -> None:
        """Add to a part, or take away."""
        part = self._moved.get(key)
        if part is None:
            before = self._parts.get(key)
            part = self._moved[key] = {} if before is None else dict(before.entries)
        whole = self._amount
        for name, value in amount.entries:
            whole[name] = whole.get(name, 0) + value * times
            part[name] = part.get(name, 0) + value * times

    def closed(self) -> Summed[K]:
        """The sum as a value."""
        for key, part in self._moved.items():
            amount = Resources.of(part)
            if amount:
                self._parts[key] = amount
            else:
                self._parts.pop(key, None)
        return Summed(Resources.of(self._amount), self._parts)
