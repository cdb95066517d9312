"""Tenants by namespace."""

from dataclasses import dataclass, replace
from sys import intern

from global_sched.cache.readers.amounts import read_amounts
from global_sched.shared.api.federation import Tenant as WireTenant
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import Instant, InstantError, parse_instant
from global_sched.shared.model.queue import Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantFacts:
    """A Tenant object: the value, and what a status needs."""

    tenant: Tenant
    uid: str
    version: str
    lost: tuple[tuple[str, TenantName], ...] = ()
    """Namespaces that it lists and an older Tenant has, with that Tenant."""


def read_tenant(wire: WireTenant) -> TenantFacts:
    """A Tenant object as a value; its namespaces are not settled yet."""
    spec, meta = wire.spec, wire.metadata
    try:
        created = parse_instant(meta.creation_timestamp or "")
    except InstantError:
        created = Instant(0)
    limits, problems = read_amounts(spec.limits, "spec.limits")
    tenant = Tenant(
        name=TenantName(meta.name),
        weight=spec.weight,
        limits=limits,
        pending_limit=spec.pending_limit,
        problem="; ".join(problems),
        namespaces=tuple(sorted(set(spec.namespaces or ()))),
        queues=tuple(QueueName(name) for name in sorted(set(spec.queues or ()))),
        priority_classes=tuple(sorted(set(spec.priority_classes or ()))),
        created=created,
    )
    return TenantFacts(tenant=tenant, uid=meta.uid, version=meta.resource_version)


class Tenants:
    """All Tenant objects, and the owner of every namespace.

    A namespace in two Tenants belongs to the older one (then to the lesser UID).
    """

    def __init__(self) -> None:
        self._listed: dict[str, TenantFacts] = {}
        self._owners: dict[str, TenantName] = {}
        self.settled: dict[str, TenantFacts] = {}
        """By name, with only the namespaces that are really theirs."""

    def upsert(self, wire: WireTenant) -> set[str]:
        """Take a Tenant in; the namespaces whose owner changed."""
        self._listed[wire.metadata.name] = read_tenant(wire)
        return self._settle()

    def delete(self, name: str) -> set[str]:
        """The Tenant is gone; the namespaces whose owner changed."""
        self._listed.pop(name, None)
        return self._settle()

    def of(self, namespace: str) -> TenantName:
        """The tenant of a namespace: a Tenant, or the namespace itself."""
        return self._owners.get(namespace) or own_tenant(namespace)

    def _settle(self) -> set[str]:
        owners: dict[str, TenantName] = {}
        settled: dict[str, TenantFacts] = {}
        for facts in sorted(self._listed.values(), key=lambda f: (f.tenant.created, f.uid)):
            tenant = facts.tenant
            lost = []
            for namespace in tenant.namespaces:
                owner = owners.setdefault(namespace, tenant.name)
                if owner != tenant.name:
                    lost.append((namespace, owner))
            gone = {namespace for namespace, _ in lost}
            kept = tuple(n for n in tenant.namespaces if n not in gone)
            settled[tenant.name] = TenantFacts(
                tenant=replace(tenant, namespaces=kept),
                uid=facts.uid,
                version=facts.version,
                lost=tuple(lost),
            )
        before, self._owners, self.settled = self._owners, owners, settled
        return {n for n in before.keys() | owners.keys() if before.get(n) != owners.get(n)}


def own_tenant(namespace: str) -> TenantName:
    """The name of a namespace that is its own tenant."""
    return TenantName(intern(f"ns/{namespace}"))
