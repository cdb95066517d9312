"""The shortfall of a domain: what would have to free on which nodes, tried on paper."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Task, Unit
from global_sched.shared.placement.request.node_match import is_device, node_class_admits

_MOST_STEPS: Final = 2_000_000
"""Nodes looked at for one explanation; domains after that, the farthest ones, get no numbers."""
_Lack = tuple[tuple[int, int], ...]
"""(position on the axis, amount)."""


@dataclass(slots=True)
class _Nodes:
    """Equal nodes: what is free on each, and how many pods of each unit were put on each."""

    row: int
    count: int
    free: list[int]
    put: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Shortage:
    """What has to free for pods of one unit, on how many nodes; `homeless` have no node at all."""

    amounts: Mapping[int, int]
    nodes: int
    homeless: int

    def weight(self, axis: Sequence[str]) -> tuple[int, int, int]:
        """Pods without a node, then devices, then all else: less is nearer."""
        devices = sum(n for at, n in self.amounts.items() if is_device(axis[at]))
        return self.homeless, devices, sum(self.amounts.values())


class _Bench:
    """The nodes of some domains, filled on paper."""

    def __init__(self, rows: Rows, tables: Sequence[ShapeTable], domain: int) -> None:
        self._rows = rows
        self._tables = tables
        self._nodes = [
            _Nodes(row, rows.count[row], list(rows.free[row]))
            for at in rows.index.subtree(domain)
            for _, row in rows.ordered(at)
        ]

    @property
    def size(self) -> int:
        """How many kinds of nodes there are by now."""
        return len(self._nodes)

    def put(self, unit: Unit, pods: int) -> int:
        """Put pods on the nodes that have least room for them; how many found none."""
        left = pods
        caps = [(cap, at) for at, one in enumerate(self._nodes) if (cap := self._cap(unit, one))]
        for cap, at in sorted(caps):
            if not left:
                break
            full = min(self._nodes[at].count, left // cap)
            left -= full * cap
            self._take(unit, at, full, cap)
            if left and self._nodes[at].count:
                self._take(unit, at, 1, min(cap, left))
                left -= min(cap, left)
        return left

    def short(self, unit: Unit, pods: int) -> _Shortage:
        """The least that has to free for so many more pods, one on a node."""
        lacks = sorted(
            (self._weight(unit, lack), at, lack)
            for at, one in enumerate(self._nodes)
            if (lack := self._lack(unit, one)) is not None
        )
        amounts: dict[int, int] = {}
        nodes = 0
        for _, at, lack in lacks:
            used = min(self._nodes[at].count, pods - nodes)
            nodes += used
            for position, amount in lack:
                amounts[position] = amounts.get(position, 0) + amount * used
            self._take(unit, at, used, 1)
            if nodes == pods:
                break
        return _Shortage(amounts, nodes, pods - nodes)

    def _take(self, unit: Unit, at: int, nodes: int, each: int) -> None:
        """Pods on some of equal nodes, which are no longer equal to the others then."""
        one, table = self._nodes[at], self._tables[unit.at]
        if not nodes or table.request is None:
            return
        free = list(one.free)
        for position, amount in table.request:
            free[position] = max(0, free[position] - amount * each)
        put = {**one.put, unit.at: one.put.get(unit.at, 0) + each}
        one.count -= nodes
        self._nodes.append(_Nodes(one.row, nodes, free, put))

    def _cap(self, unit: Unit, one: _Nodes) -> int:
        table = self._tables[unit.at]
        if table.request is None or not one.count or not self._goes(unit, one):
            return 0
        room = min((one.free[p] // n for p, n in table.request if n), default=0)
        most = table.shape.most_per_node()
        return min(room, max(0, table.cap(one.row) - one.put.get(unit.at, 0))) if most else room

    def _lack(self, unit: Unit, one: _Nodes) -> _Lack | None:
        """What one more pod lacks on such a node; None where it may not go."""
        table = self._tables[unit.at]
        if table.request is None or not one.count or not self._goes(unit, one):
            return None
        limit = table.shape.most_per_node()
        lack = tuple((p, n - one.free[p]) for p, n in table.request if n > one.free[p])
        if limit and (not lack or one.put.get(unit.at, 0) >= limit):
            return None
        return lack

    def _goes(self, unit: Unit, one: _Nodes) -> bool:
        kind = self._rows.baseline.classes[self._rows.kind[one.row]]
        return node_class_admits(kind, self._tables[unit.at].shape)

    def _weight(self, unit: Unit, lack: _Lack) -> tuple[int, int]:
        """Devices first, then the parts of a request."""
        axis = self._rows.baseline.topology.axis
        request = dict(self._tables[unit.at].request or ())
        devices = sum(n for p, n in lack if is_device(axis[p]))
        return devices, sum(1000 * n // max(1, request[p]) for p, n in lack)


class Shortfall:
    """What would have to free, domain by domain, for one task."""

    def __init__(self, rows: Rows, task: Task, tables: Sequence[ShapeTable]) -> None:
        self._rows, self._task, self._tables = rows, task, tables
        self._axis = rows.baseline.topology.axis
        self._steps = 0
        self._groups: dict[tuple[str, int], tuple[int, list[tuple[Unit, _Shortage]]]] = {}

    def text(self, domain: int) -> str:
        """The least that would have to free for the pods, or for one more group, that it lacks."""
        if self._steps > _MOST_STEPS:
            return ""
        parts = [self._group_text(units, domain) for units in self._kinds()]
        parts.append(self._pods_text(domain))
        return "; ".join(part for part in parts if part)

    def _kinds(self) -> Iterable[list[Unit]]:
        """Units whose groups need a domain each, those of one family together."""
        found: dict[str, list[Unit]] = {}
        for unit in self._task.units:
            if unit.tier is not None and unit.size and unit.least and unit.anchor is None:
                found.setdefault(unit.family or f"#{unit.at}", []).append(unit)
        return found.values()

    def _pods_text(self, domain: int) -> str:
        """Units without groups, put on the nodes together."""
        units = [unit for unit in self._task.units if unit.tier is None]
        if not units:
            return ""
        bench = _Bench(self._rows, self._tables, domain)
        sums = [int(self._tables[unit.at].sums[domain]) - unit.least for unit in units]
        order = sorted(range(len(units)), key=lambda at: (sums[at], at))
        self._steps += len(units) * bench.size
        lacking = {at: bench.put(units[at], units[at].least) for at in order}
        alone = len(units) > 1 and min(sums) >= 0 and any(lacking.values())
        texts = ["each fits alone, not all together"] if alone else []
        for at, unit in enumerate(units):
            if not lacking[at]:
                continue
            short = bench.short(unit, lacking[at])
            if short.amounts:
                names = "+".join(str(name) for name, _, _ in unit.sets)
                more = f"{counted(lacking[at], 'more pod')} of {names}"
                need = "needs" if lacking[at] == 1 else "need"
                texts.append(f"{more} {need} {self._said([short])}")
        return "; ".join(texts)

    def _group_text(self, units: list[Unit], domain: int) -> str:
        """How many groups are whole, and where one more lacks least."""
        index = self._rows.index
        wanted = max(-(-unit.least // unit.size) for unit in units)
        tier = min(unit.tier for unit in units if unit.tier is not None)
        inside = set(index.subtree(domain))
        tops = [
            at
            for at in inside
            if index.tier[at] <= tier and (at == domain or index.tier[index.parent[at]] > tier)
        ]
        found = {at: self._group_in(units, at, wanted) for at in sorted(tops)}
        whole = min(wanted, sum(count for count, _ in found.values()))
        size = " and ".join(f"{u.size} {'+'.join(str(n) for n, _, _ in u.sets)}" for u in units)
        text = f"room for {whole} of {wanted} groups of {size}"
        near = [(self._weight(shorts), at, shorts) for at, (_, shorts) in found.items() if shorts]
        if whole >= wanted or not near:
            return text
        _, at, shorts = min(near, key=lambda item: item[:2])
        where = "" if at == domain else f" in {index.domains[at].name}"
        return f"{text}; one more needs {self._said([s for _, s in shorts], where)}"

    def _group_in(
        self, units: list[Unit], at: int, wanted: int
    ) -> tuple[int, list[tuple[Unit, _Shortage]]]:
        """Whole groups on the nodes of one domain, and what one more lacks there."""
        key = (units[0].family or f"#{units[0].at}", at)
        if key not in self._groups:
            bench = _Bench(self._rows, self._tables, at)
            for whole in range(wanted + 1):
                self._steps += len(units) * bench.size
                lacking = [(unit, bench.put(unit, unit.size)) for unit in units]
                if any(pods for _, pods in lacking) or self._steps > _MOST_STEPS:
                    shorts = [(unit, bench.short(unit, pods)) for unit, pods in lacking if pods]
                    self._groups[key] = whole, shorts
                    break
            else:
                self._groups[key] = wanted, []
        return self._groups[key]

    def _weight(self, shorts: Sequence[tuple[Unit, _Shortage]]) -> tuple[int, ...]:
        return tuple(map(sum, zip(*(short.weight(self._axis) for _, short in shorts), strict=True)))

    def _said(self, shorts: Sequence[_Shortage], where: str = "") -> str:
        """What has to free. Freeing anything else frees a pod's place with it."""
        amounts: dict[int, int] = {}
        for short in shorts:
            for at, amount in short.amounts.items():
                amounts[at] = amounts.get(at, 0) + amount
        nodes, homeless = (sum(s.nodes for s in shorts), sum(s.homeless for s in shorts))
        named = [(self._axis[at], amount) for at, amount in sorted(amounts.items())]
        names = " and ".join(
            f"{format_quantity(amount, name)} {name}" for name, amount in named if name != PODS
        ) or " ".join(counted(amount, "pod") for _, amount in named)
        pods = counted(homeless, "pod")
        most = (
            f", and {pods} {'has' if homeless == 1 else 'have'} no node there" if homeless else ""
        )
        if not names:
            return f"nodes for {pods}{where}"
        return f"{names} freed on {counted(nodes, 'node')}{where}{most}"
