"""The tree of queues: parents and children, what is wrong with it, and what each holds.

Built once per cycle without recursion, so that any depth will do. A part of the tree that cannot
be right (a cycle, a parent that is not there, a guarantee that is more than its parent has) is
frozen: it keeps what it holds, takes nothing, gives nothing, and everything else goes on.
"""

from collections.abc import Iterable, Mapping

from global_sched.core.quota.dominant_share import Amount, add
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import ROOT, Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.words import shortened


class QueueNode:
    """One queue in the tree. `held` counts everything below it, too."""

    __slots__ = (
        "_limits",
        "_path",
        "aside",
        "capability",
        "children",
        "cluster_aside",
        "cluster_capability",
        "cluster_held",
        "cluster_leaving",
        "depth",
        "exists",
        "frozen",
        "guarantee",
        "held",
        "inner",
        "kept",
        "leaving",
        "named",
        "notice",
        "occupied",
        "parent",
        "problem",
        "promised",
        "queue",
    )

    def __init__(self, queue: Queue, *, exists: bool) -> None:
        self.queue = queue
        self.exists = exists
        self.parent: QueueNode | None = None
        self.children: list[QueueNode] = []
        self.depth = 0
        self._path: tuple[QueueNode, ...] = ()
        self._limits: tuple[QueueNode, ...] | None = None
        self.capability = dict(queue.capability)
        self.cluster_capability = {name: dict(named) for name, named in queue.cluster_capability}
        self.guarantee = dict(queue.guarantee)
        """Its own, or what its children have together where that is more."""
        self.kept: Amount = {}
        """What of its own guarantee is kept free for it: nothing of a frozen queue, nor of what
        all clusters together do not have."""
        self.named: frozenset[str] | None = None
        """The resources that its deserved speaks of, or else that of the nearest queue above it,
        and those that it guarantees; None: all that there are."""
        self.problem = queue.problem
        self.frozen = ""
        """Why nothing is admitted here: its own problem or that of a queue above it."""
        self.notice = queue.notice
        """What is wrong with it and freezes nothing."""
        self.held: Amount = {}
        self.cluster_held: dict[ClusterName, Amount] = {}
        """By cluster, kept only where it or a queue above or below has a limit there."""
        self.aside: Amount = {}
        """What is kept for gangs below it that wait: it counts in no share (`set_aside`)."""
        self.cluster_aside: dict[ClusterName, Amount] = {}
        """The same in the clusters where it has a limit."""
        self.leaving: Amount = {}
        """What pods still use that were withdrawn or given up: it counts in no share (`leave`)."""
        self.cluster_leaving: dict[ClusterName, Amount] = {}
        """The same in the clusters where it has a limit."""
        self.inner: Amount = {}
        """What its children occupy, what it holds itself, what is set aside and what is leaving,
        kept while guarantees count."""
        self.promised: Amount = {}
        """What of that is kept for its children while nothing is held."""
        self.occupied: Amount = {}
        """The larger of `inner` and what is kept for it."""

    def __repr__(self) -> str:
        return f"Node({self.queue.name})"

    @property
    def path(self) -> tuple["QueueNode", ...]:
        """From itself to the root; made for those that are asked, as paths may be long."""
        if not self._path:
            found = [self]
            while (above := found[-1].parent) is not None:
                found.append(above)
            self._path = tuple(found)
        return self._path

    @property
    def limits(self) -> tuple["QueueNode", ...]:
        """Those of its path that have a capability of any kind."""
        if self._limits is None:
            self._limits = tuple(
                one for one in self.path if one.capability or one.cluster_capability
            )
        return self._limits


class QueueTree:
    """All queues by name; `root` is above them, with an object or without.

    `totals` is what all clusters have together; where a resource is not in it, it is not known.
    """

    def __init__(self, queues: Iterable[Queue], totals: Mapping[str, int] | None = None) -> None:
        self.nodes: dict[QueueName, QueueNode] = {
            queue.name: QueueNode(queue, exists=True) for queue in queues
        }
        root = self.nodes.get(ROOT)
        self.root = root if root is not None else QueueNode(Queue(name=ROOT), exists=False)
        self.nodes[ROOT] = self.root
        self._link()
        self.order = self._walk()
        """Every node, parents before their children, siblings by name."""
        self._check_guarantees()
        self._name()
        self._freeze()
        self.guaranteed = any(node.guarantee for node in self.order)
        """Whether any queue has a guarantee."""
        self.limited_in: frozenset[ClusterName] = frozenset(
            name for node in self.order for name in node.cluster_capability
        )
        """Clusters in which any queue has a limit of its own."""
        if self.guaranteed:
            for node in reversed(self.order):
                self._keep(node, totals or {})
                self._occupy(node)

    def node(self, name: QueueName) -> QueueNode:
        """The queue's node; one without an object stands alone under the root."""
        found = self.nodes.get(name)
        if found is None:
            found = QueueNode(Queue(name=name), exists=False)
            found.problem = found.frozen = "it does not exist"
            found.parent, found.depth = self.root, 1
            self.nodes[name] = found
            self.root.children.append(found)
            self.order.append(found)
        return found

    def charge(
        self, node: QueueNode, cluster: ClusterName | None, amount: Resources, times: int
    ) -> None:
        """The queue holds `times` that amount more, and so do all above it.

        Without a cluster it is in those where no queue has a limit of its own.
        """
        for one in node.path:
            add(one.held, amount, times)
        if cluster is not None and cluster in self.limited_in:
            self.charge_in(node, cluster, amount, times)
        self._occupy_more(node, amount, times)

    def set_aside(
        self, node: QueueNode, cluster: ClusterName | None, amount: Resources, times: int
    ) -> None:
        """So much more is kept for gangs of the queue that wait."""
        for one in node.path:
            add(one.aside, amount, times)
            if cluster is not None and cluster in one.cluster_capability:
                add(one.cluster_aside.setdefault(cluster, {}), amount, times)
        self._occupy_more(node, amount, times)

    def leave(
        self, node: QueueNode, cluster: ClusterName | None, amount: Resources, times: int
    ) -> None:
        """So much more is used by pods that are to end."""
        for one in node.path:
            add(one.leaving, amount, times)
            if cluster is not None and cluster in one.cluster_capability:
                add(one.cluster_leaving.setdefault(cluster, {}), amount, times)
        self._occupy_more(node, amount, times)

    def _occupy_more(self, node: QueueNode, amount: Resources, times: int) -> None:
        if self.guaranteed:
            for name, value in amount.entries:
                self._occupied_more(node, name, value * times)

    @staticmethod
    def charge_in(node: QueueNode, cluster: ClusterName, amount: Resources, times: int) -> None:
        """So much more of what it holds, with all above it, is in that cluster."""
        for one in node.path:
            add(one.cluster_held.setdefault(cluster, {}), amount, times)

    # --- building -------------------------------------------------------------------------

    def _link(self) -> None:
        """Give every node its parent; those in a cycle and orphans hang frozen under the root."""
        for node in self.nodes.values():
            if node is self.root:
                continue
            above = node.queue.parent or ROOT
            parent = self.nodes.get(above)
            if parent is None:
                _blame(node, f"spec.parent: queue {above} does not exist; create it or use another")
                parent = self.root
            node.parent = parent
        for node in self._in_cycles():
            node.parent = self.root
        for _, node in sorted(self.nodes.items()):
            if node.parent is not None:
                node.parent.children.append(node)

    def _in_cycles(self) -> list[QueueNode]:
        """The nodes of every cycle, each with that problem."""
        sure: set[int] = {id(self.root)}
        found: list[QueueNode] = []
        for _, start in sorted(self.nodes.items()):
            trail: dict[int, QueueNode] = {}
            node: QueueNode | None = start
            while node is not None and id(node) not in sure and id(node) not in trail:
                trail[id(node)] = node
                node = node.parent
            if node is not None and id(node) in trail:
                keys = list(trail)
                ring = [trail[key] for key in keys[keys.index(id(node)) :]]
                text = " -> ".join(shortened([one.queue.name for one in [*ring, ring[0]]]))
                for one in ring:
                    _blame(one, f"spec.parent: {text} is a cycle; one of them needs another parent")
                found += ring
            sure.update(trail)
        return found

    def _walk(self) -> list[QueueNode]:
        """Every node from the root down, with its depth."""
        order = [self.root]
        for node in order:  # grows while it is walked
            for child in node.children:
                child.depth = node.depth + 1
                order.append(child)
        return order

    def _name(self) -> None:
        """The resources that each is entitled to: what is guaranteed is deserved, named or not."""
        for node in self.order:
            if node.queue.deserved:
                node.named = frozenset(name for name, _ in node.queue.deserved)
            elif node.parent is not None:
                node.named = node.parent.named
            if node.named is not None and node.guarantee:
                node.named |= {name for name, amount in node.guarantee.items() if amount}

    def _check_guarantees(self) -> None:
        """A guarantee that its parent cannot keep is a problem: the child's, or the parent's."""
        for node in reversed(self.order):
            sums: Amount = {}
            for child in node.children:
                for name, amount in child.guarantee.items():
                    limit = _most(node, name)
                    if limit is not None and amount > limit:
                        shown = [format_quantity(v, name) for v in (amount, limit)]
                        _blame(
                            child,
                            f"spec.guarantee.resource[{name}]: {shown[0]} is more than "
                            f"{shown[1]}, which its parent {node.queue.name} can keep; lower it",
                        )
                if not child.problem:
                    for name, amount in child.guarantee.items():
                        sums[name] = sums.get(name, 0) + amount
            for name, amount in sorted(sums.items()):
                limit = _most(node, name)
                if limit is not None and amount > limit:
                    shown = [format_quantity(v, name) for v in (amount, limit)]
                    _blame(
                        node,
                        f"the guarantees of its children add up to {name} {shown[0]}, and it can "
                        f"keep {shown[1]}; lower some of them",
                    )
            for name, amount in sums.items():
                node.guarantee[name] = max(node.guarantee.get(name, 0), amount)

    def _freeze(self) -> None:
        for node in self.order:
            above = node.parent
            if node.problem:
                node.frozen = node.problem
            elif above is not None and above.frozen:
                node.frozen = (
                    above.frozen
                    if above.frozen.startswith("above it, ")
                    else f"above it, queue {above.queue.name}: {above.frozen}"
                )

    # --- guarantees -----------------------------------------------------------------------

    @staticmethod
    def _keep(node: QueueNode, totals: Mapping[str, int]) -> None:
        """Keep its guarantee free, if that can be done at all.

        One mistaken amount would keep all that there is from all others.
        """
        for name, amount in node.queue.guarantee:
            total = totals.get(name, amount)
            if amount > total:
                shown = [format_quantity(v, name) for v in (amount, total)]
                text = (
                    f"spec.guarantee.resource[{name}]: {shown[0]} is more than {shown[1]}, which "
                    "all clusters have together; nothing is kept free for it; lower it"
                )
                node.notice = f"{node.notice}; {text}" if node.notice else text
            elif not node.frozen:
                node.kept[name] = amount

    @staticmethod
    def _occupy(node: QueueNode) -> None:
        """What is kept for a node while nothing is held."""
        for child in node.children:
            for name, amount in child.occupied.items():
                node.inner[name] = node.inner.get(name, 0) + amount
        node.occupied, node.promised = dict(node.inner), dict(node.inner)
        for name, amount in node.kept.items():
            node.occupied[name] = max(node.occupied.get(name, 0), amount)

    @staticmethod
    def _occupied_more(node: QueueNode, name: str, more: int) -> None:
        """Carry a change upward, as far as guarantees do not absorb it."""
        for one in node.path:
            one.inner[name] = inner = one.inner.get(name, 0) + more
            before = one.occupied.get(name, 0)
            one.occupied[name] = now = max(inner, one.kept.get(name, 0))
            more = now - before
            if not more:
                break


def _most(node: QueueNode, name: str) -> int | None:
    """The most that a node can keep for its children; None: no limit."""
    found = [
        named[name] for named in (node.capability, dict(node.queue.guarantee)) if name in named
    ]
    return min(found, default=None)


def _blame(node: QueueNode, text: str) -> None:
    node.problem = f"{node.problem}; {text}" if node.problem else text
