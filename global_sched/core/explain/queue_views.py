"""Every queue as people see it: the same tree and entitlements that decide."""

from global_sched.core.quota.ledger import Ledger
from global_sched.core.quota.tree import QueueNode
from global_sched.shared.model.explanation import Share
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot

_ByCluster = dict[QueueName, dict[ClusterName, dict[str, int]]]


def queue_views(snapshot: Snapshot) -> tuple[QueueView, ...]:
    """All queues with an object and the root, each before those below it, brothers by name."""
    ledger = Ledger(snapshot)
    places = _by_cluster(snapshot, ledger)
    found: list[QueueView] = []
    waiting = [ledger.tree.root]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        found.append(view_of(node, ledger, places))
    return tuple(found)


def view_of(node: QueueNode, ledger: Ledger, places: _ByCluster | None = None) -> QueueView:
    """One queue at this moment."""
    entitlements = ledger.entitlements
    deserved, held = entitlements.deserved_of(node), node.held
    counted = {name for name in (*held, *deserved) if entitlements.counts(node, name)}
    over = {name: held.get(name, 0) - deserved.get(name, 0) for name in counted}
    return QueueView(
        queue=node.queue,
        exists=node.exists,
        depth=node.depth,
        leaf=not node.children and node.parent is not None,
        frozen=node.frozen,
        notice=node.notice,
        held=Resources.of(held),
        asked=Resources.of(dict(entitlements.asked(node.queue.name))),
        deserved=Resources.of(deserved),
        guarantee=Resources.of(_guarantee(node)),
        borrowed=Resources.of({name: more for name, more in over.items() if more > 0}),
        lent=Resources.of({name: -more for name, more in over.items() if more < 0}),
        share=_share(held, deserved, counted),
        excess=_excess(over, ledger, node.queue.weight),
        clusters=tuple(
            (cluster, Resources.of(amounts))
            for cluster, amounts in sorted((places or {}).get(node.queue.name, {}).items())
            if any(amounts.values())
        ),
    )


def _guarantee(node: QueueNode) -> dict[str, int]:
    """Its own, or what is kept free for those below it: not what cannot be kept."""
    found = dict(node.queue.guarantee)
    for name, amount in node.promised.items():
        found[name] = max(found.get(name, 0), amount)
    return found


def tenant_shares(snapshot: Snapshot) -> dict[TenantName, Share]:
    """The weighted dominant share of every tenant of the snapshot, as it is now."""
    ledger = Ledger(snapshot)
    return {one.name: ledger.shown_tenant(one.name).share for one in snapshot.tenants}


def _excess(over: dict[str, int], ledger: Ledger, weight: int) -> Share:
    """The largest part of the federation by which it is over; ties end in the name."""
    best = Share(weight=weight)
    for name, more in sorted(over.items()):
        total = ledger.entitlements.totals.get(name, 1)
        if more > 0 and more * max(best.total, 1) > best.held * total:
            best = Share(resource=name, held=more, total=total, weight=weight)
    return best


def _share(held: dict[str, int], deserved: dict[str, int], counted: set[str]) -> Share:
    """The largest part of its deserved that it holds; ties end in the name.

    Something of which it deserves nothing is all of it, as in Volcano: it has what it deserves.
    """
    best = Share()
    for name in sorted(counted):
        has = held.get(name, 0)
        total = deserved.get(name, 0) or has
        if has and has * max(best.total, 1) > best.held * total:
            best = Share(resource=name, held=has, total=total)
    return best


def _by_cluster(snapshot: Snapshot, ledger: Ledger) -> _ByCluster:
    """What each queue and those below it hold in each cluster."""
    found: _ByCluster = {}
    for usage in snapshot.usage:
        for node in ledger.node(usage.queue).path:
            amounts = found.setdefault(node.queue.name, {}).setdefault(usage.cluster, {})
            for name, value in usage.amount.entries:
                amounts[name] = amounts.get(name, 0) + value
    return found
