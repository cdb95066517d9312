"""Identities × verbs: what agents and tenants may do beyond what is their own.

Asked of the embedded server's authorizer, with the Roles of `deploy/`: agents with that of their
member, tenants with `deploy/tenants`.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from bench.harness import Figure, at_least, at_most
from global_sched.embedded.apiserver.auth.rbac import Attributes, Rbac
from global_sched.embedded.apiserver.http.identity import User, service_account
from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.credentials import AGENT
from global_sched.embedded.federation import Federation, MemberSpec
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.clock import LoopClock
from global_sched.shared.telemetry.logs import configure
from tests.virtual_time import VirtualLoop

GROUP: Final = "rights"
AGENTS: Final = 20
TENANTS: Final = 5
VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
READ: Final = frozenset(VERBS[:3])
SYSTEM: Final = ("karmada-system", "karmada-cluster", "kube-system", "default")
READ_ONLY: Final = frozenset({"resourcebindings", "events", "waitinglists"})
"""What a tenant sees of its own namespace and never writes."""
QUEUES: Final = frozenset({"queues", "clustertrainingruntimes"})
"""What it sees of the cluster."""


def figures() -> list[Figure]:
    """All of them."""
    configure(level="critical")
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_measured())


async def _measured() -> list[Figure]:
    members = [f"m{at}" for at in range(AGENTS)]
    tenants = [f"team-{at}" for at in range(TENANTS)]
    federation = Federation(
        [MemberSpec(name=one) for one in members], clock=LoopClock(), tenants=tenants, ports=None
    )
    await federation.start()
    try:
        return [*_agents(federation.control, members), *_tenants(federation.control, tenants)]
    finally:
        await federation.stop()


def _agents(server: ApiServer, members: list[str]) -> list[Figure]:
    rbac, kinds = Rbac(server.backend), _kinds(server, namespaced=True)
    spaces = [execution_namespace(one) for one in members]
    asked, allowed, own = 0, set[str](), 0
    for space in spaces:
        user = service_account(space, AGENT)
        others = [one for one in spaces if one != space]
        for wanted in _requests(kinds, (*others, "karmada-system", "default")):
            asked += 1
            if rbac.allowed(user, wanted):
                allowed.add(_text(wanted))
        if space == spaces[0]:
            own = sum(rbac.allowed(user, wanted) for wanted in _requests(kinds, (space,)))
    note = f"{asked:,} requests: {AGENTS} agents × {len(VERBS)} verbs × every kind × the namespaces"
    note += " of all other members, karmada-system and default, by the server's own authorizer"
    return [
        at_most(
            GROUP, "rights of agents beyond their own member", len(allowed), "", 0,
            "; ".join((note, *sorted(allowed)[:4])),
        ),
        at_least(GROUP, "rights of an agent in its own namespace", own, "", 1),
    ]  # fmt: skip


def _tenants(server: ApiServer, tenants: list[str]) -> list[Figure]:
    asked, allowed, own = beyond(server, tenants)
    note = (
        f"{asked:,} requests: {TENANTS} tenants × {len(VERBS)} verbs × every kind and subresource: "
        f"in the namespaces of the other tenants, of all members, and in {', '.join(SYSTEM)}; on "
        "the cluster; and in its own namespace all writes to bindings, Works, reports, Directives, "
        "waiting lists, Leases, roles, and whatever else deploy/tenants does not name"
    )
    return [
        at_most(
            GROUP, "rights of tenants beyond their own jobs", len(allowed), "", 0,
            "; ".join((note, *sorted(allowed)[:4])),
        ),
        at_least(GROUP, "rights of a tenant in its own namespace", own, "", 1),
    ]  # fmt: skip


def beyond(server: ApiServer, tenants: list[str]) -> tuple[int, set[str], int]:
    """What tenants may do: requests asked about, those that should be refused, own ones.

    The last number is that of the first tenant's rights in its own namespace.
    """
    rbac = Rbac(server.backend)
    kinds, cluster = _kinds(server, namespaced=True), _kinds(server, namespaced=False)
    records = server.backend.store.collection("namespaces").select()
    members = [one.name for one in records if one.name.startswith(execution_namespace(""))]
    asked, allowed, own = 0, set[str](), 0
    for tenant in tenants:
        user = User(name=f"user-of-{tenant}", groups=(f"tenant:{tenant}",))
        others = [one for one in tenants if one != tenant]
        foreign = _requests(kinds, (*others, *members, *SYSTEM))
        whole = (*_requests(kinds, ("",)), *_requests(cluster, ("",)))
        for wanted in (*foreign, *whole, *_requests(kinds, (tenant,))):
            asked += 1
            if not rbac.allowed(user, wanted):
                continue
            if not _its_own(wanted, tenant):
                allowed.add(_text(wanted))
            elif tenant == tenants[0] == wanted.namespace:
                own += 1
    return asked, allowed, own


def _its_own(wanted: Attributes, tenant: str) -> bool:
    """Whether a tenant is meant to have this right."""
    if wanted.namespace == tenant:
        reads = wanted.verb in READ and wanted.resource in READ_ONLY
        deletes_all = wanted.verb == "deletecollection"
        return not wanted.subresource and (reads or (wanted.resource in JOBS and not deletes_all))
    return not wanted.namespace and wanted.verb in READ and wanted.resource in QUEUES


JOBS: Final = frozenset(
    {
        "jobs", "deployments", "statefulsets", "pytorchjobs", "mpijobs", "leaderworkersets",
        "jobsets", "trainjobs", "trainingruntimes", "rayclusters", "rayjobs",
        "propagationpolicies", "overridepolicies",
    }
)  # fmt: skip
"""What a tenant makes, changes and deletes in its own namespace."""


def _kinds(server: ApiServer, *, namespaced: bool) -> list[tuple[str, str, str]]:
    """Group, plural and subresource (empty for the object itself) of what is served."""
    found = set()
    for one in server.backend.registry.all():
        if one.namespaced == namespaced:
            found.update((one.group, one.plural, part) for part in ("", "status", "scale"))
    return sorted(found)


def _requests(
    kinds: Iterable[tuple[str, str, str]], namespaces: Iterable[str]
) -> Iterator[Attributes]:
    for namespace in namespaces:
        for group, plural, part in kinds:
            one = Attributes(
                verb="", group=group, resource=plural, subresource=part, namespace=namespace
            )
            for verb in VERBS:
                yield replace(one, verb=verb)


def _text(wanted: Attributes) -> str:
    what = f"{wanted.resource}/{wanted.subresource}".rstrip("/")
    return f"{wanted.verb} {what} in {wanted.namespace or 'the cluster'}"
