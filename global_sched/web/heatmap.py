"""The heat map of a member: its smallest domains, and one cell for each node or class of nodes."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.explanation import Explanation
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import Domain, Leaf, Topology
from global_sched.shared.model.workload import Workload
from global_sched.view.topology import natural

SINGLE: Final = 2000
"""Up to so many nodes on a page, each has a cell; of more, nodes of a domain that would look alike
share one."""
COLOURS: Final = 8
"""Queues or tenants with a colour of their own, those that hold most; the others share one."""
ACROSS: Final = 8
"""Cells in a row of a domain."""
CELL: Final = 14
"""Pixels from one cell to the next."""
WIDE: Final = 34
"""The same of a cell that says how many nodes it stands for."""
MODES: Final = ("queue", "tenant", "fullness")
FREE, TROUBLED, TAKEN = "free", "troubled", "taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`style` is a class of the style sheet, `text` what stands in it, `title` what it says."""

    x: int
    y: int
    width: int
    style: str
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rack:
    """A smallest domain. `holds` of `wants`: its room for the job that is asked about."""

    name: str
    label: str
    cells: Sequence[Cell]
    width: int
    height: int
    holds: int | None = None
    wants: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The smallest domains below one parent."""

    name: str
    racks: Sequence[Rack]


@dataclass(frozen=True, slots=True, kw_only=True)
class Legend:
    """Which style each queue or tenant has, in the order of what they hold."""

    styles: Mapping[str, str] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """The style of a queue or tenant."""
        return self.styles.get(name, "k-other")


Owner = Callable[[Workload], str]


def owner_of(mode: str) -> Owner:
    """What colours a job in this mode."""
    if mode == "tenant":
        return lambda one: str(one.tenant)
    return lambda one: str(one.queue)


def legend_of(
    clusters: Sequence[Cluster], jobs: Mapping[BindingId, Workload], owner: Owner
) -> Legend:
    """Colours in the order of nodes held; equal ones by name."""
    held: dict[str, int] = defaultdict(int)
    for cluster in clusters:
        for leaf in cluster.capacity.topology.leaves if cluster.capacity else ():
            if (name := _holder(leaf, jobs, owner)) is not None:
                held[name] += leaf.count
    names = sorted(held, key=lambda name: (-held[name], name))
    return Legend(styles={name: f"k{at}" for at, name in enumerate(names[:COLOURS])})


def blocks_of(
    cluster: Cluster,
    jobs: Mapping[BindingId, Workload],
    mode: str,
    legend: Legend,
    found: Explanation | None = None,
    *,
    single: bool = True,
) -> list[Block]:
    """The domains of a member in their order; nodes in no domain come last.

    found: the explanation of a job, whose room each domain then says. single: each node has a cell.
    """
    capacity = cluster.capacity
    if capacity is None:
        return []
    topology = capacity.topology
    by_domain: dict[DomainId | None, list[Leaf]] = defaultdict(list)
    for leaf in topology.leaves:
        by_domain[leaf.domain].append(leaf)
    domains = {one.name: one for one in topology.domains}
    largest = capacity.largest.get if capacity.largest is not None else lambda _name: 0
    paint = _Paint(topology, jobs, mode, legend, largest, single)
    room = {
        one.domain: (one.holds, one.wants)
        for listed in (found.domains if found is not None else ())
        if listed.cluster == cluster.name
        for one in listed.domains
    }
    blocks: dict[str, list[Rack]] = {}
    for name in sorted(by_domain, key=lambda one: _place(one, domains)):
        parent = domains[name].parent if name in domains else None
        holds, wants = room.get(name, (None, None)) if name is not None else (None, None)
        rack = paint.rack(name, by_domain[name], holds, wants)
        blocks.setdefault(str(parent or ""), []).append(rack)
    return [Block(name=name, racks=racks) for name, racks in blocks.items()]


def few(clusters: Sequence[Cluster]) -> bool:
    """Whether each node of these members has a cell."""
    known = (one.capacity.topology for one in clusters if one.capacity is not None)
    return sum(leaf.count for topology in known for leaf in topology.leaves) <= SINGLE


def _place(name: DomainId | None, domains: Mapping[DomainId, Domain]) -> tuple[object, ...]:
    """In the tree's order, rack-2 before rack-10; what is in no domain last."""
    if name is None:
        return (1,)
    parent = domains[name].parent if name in domains else None
    return (0, natural(str(parent or "")), natural(str(name)))


def _holder(leaf: Leaf, jobs: Mapping[BindingId, Workload], owner: Owner) -> str | None:
    """The queue or tenant with most pods on these nodes; None where no gang of ours is."""
    pods: dict[str, int] = defaultdict(int)
    for one in leaf.occupants:
        job = jobs.get(one.binding)
        if job is not None:
            pods[owner(job)] += one.pods
    return min(pods, key=lambda name: (-pods[name], name)) if pods else None


@dataclass(frozen=True, slots=True)
class _Paint:
    """Nodes of one member to cells."""

    topology: Topology
    jobs: Mapping[BindingId, Workload]
    mode: str
    legend: Legend
    largest: Callable[[str], int]
    single: bool

    def rack(
        self, name: DomainId | None, leaves: Sequence[Leaf], holds: int | None, wants: int | None
    ) -> Rack:
        """One domain with its nodes, those of one holder beside each other."""
        looks = sorted(((self._style(leaf), leaf) for leaf in leaves), key=lambda one: one[0])
        cells = list(self._cells(looks))
        shown = str(name) if name is not None else "in no domain"
        free = sum(leaf.count for style, leaf in looks if style in (FREE, "f0"))
        nodes = sum(leaf.count for leaf in leaves)
        label = f"{shown}: {counted(nodes, 'node')}, {free} free"
        if wants is not None:
            label += f"; room for {holds} of {counted(wants, 'pod')}"
        width = max((one.x + one.width for one in cells), default=CELL)
        height = max((one.y for one in cells), default=0) + CELL
        return Rack(
            name=shown,
            label=label,
            cells=cells,
            width=width,
            height=height,
            holds=holds,
            wants=wants,
        )

    def _cells(self, looks: Sequence[tuple[str, Leaf]]) -> Iterator[Cell]:
        if self.single:
            each = ((style, leaf) for style, leaf in looks for _ in range(leaf.count))
            for at, (style, leaf) in enumerate(each):
                x, y = at % ACROSS * CELL, at // ACROSS * CELL
                title = self._title(leaf)
                yield Cell(x=x, y=y, width=CELL - 2, style=style, title=title)
            return
        alike: dict[str, list[Leaf]] = defaultdict(list)
        for style, leaf in looks:
            alike[style].append(leaf)
        for at, (style, leaves) in enumerate(alike.items()):
            count = sum(leaf.count for leaf in leaves)
            title = self._title(leaves[0]) if len(leaves) == 1 else self._sum(leaves, count)
            x, y = at % (ACROSS // 2) * WIDE, at // (ACROSS // 2) * CELL
            yield Cell(x=x, y=y, width=WIDE - 2, style=style, title=title, text=str(count))

    def _sum(self, leaves: Sequence[Leaf], count: int) -> str:
        """Of nodes that differ: how many, and what is free on all of them."""
        free = {
            name: sum(leaf.free[at] * leaf.count for leaf in leaves)
            for at, name in enumerate(self.topology.axis)
        }
        return f"{count} nodes of several kinds; free on all: {self._amounts(free)}"

    def _amounts(self, free: Mapping[str, int]) -> str:
        return ", ".join(
            f"{name} {format_quantity(value, name)}"
            for name, value in free.items()
            if name != PODS and "hugepages" not in name
        )

    def _style(self, leaf: Leaf) -> str:
        if not leaf.node_class.schedulable:
            return TROUBLED
        if self.mode == "fullness":
            return f"f{self._fullness(leaf)}"
        name = _holder(leaf, self.jobs, owner_of(self.mode))
        if name is not None:
            return self.legend.of(name)
        return TAKEN if self._fullness(leaf) == 4 else FREE

    def _fullness(self, leaf: Leaf) -> int:
        """0 (all of it free) to 4 (nothing free) of devices, or of CPUs where there are none."""
        free = dict(zip(self.topology.axis, leaf.free, strict=True))
        device = next(
            (one for one in self.topology.axis if "/" in one and self.largest(one)), "cpu"
        )
        most = self.largest(device)
        if not most:
            return 4 if not free.get(device, 0) else 0
        used = 1 - min(free.get(device, 0), most) / most
        return 4 if used > 0.999 else min(3, int(used * 3) + (used > 0.05))

    def _title(self, leaf: Leaf) -> str:
        free = self._amounts(dict(zip(self.topology.axis, leaf.free, strict=True)))
        parts = [counted(leaf.count, "equal node") if leaf.count > 1 else "1 node"]
        if not leaf.node_class.schedulable:
            parts.append("takes no new pods")
        parts.append(f"free: {free}")
        for one in leaf.occupants:
            job = self.jobs.get(one.binding)
            if job is not None:
                pods = counted(one.pods, "pod")
                parts.append(f"{pods} of {job.namespace}/{job.name}, queue {job.queue}")
        return "; ".join(parts)
