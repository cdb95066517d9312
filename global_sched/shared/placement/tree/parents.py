"""Parents of HyperNodes, and those that are set aside: found anew for a part of them at a time.

Whether a HyperNode is good depends on itself and on what is above it, never on what is below. So
after a change only that HyperNode and everything below it, before or now, has to be looked at.
"""

from collections.abc import Collection, Iterable, Iterator

import networkx as nx

DEEPEST = 64
_HIGHEST_TIER = 2**31


class Forest:
    """HyperNodes by name, with what they list as children, which need not exist."""

    def __init__(self) -> None:
        self.tier: dict[str, int] = {}
        self.parent: dict[str, str] = {}
        """The parent of each HyperNode that is good and has one."""
        self.faults: dict[str, str] = {}
        """Why HyperNodes are set aside."""
        self._children: dict[str, tuple[str, ...]] = {}
        self._listers: dict[str, list[str]] = {}
        """Who lists a name, whether there is such a HyperNode or not."""
        self._errors: dict[str, str] = {}
        self._depth: dict[str, int] = {}
        self._shared: set[str] = set()
        """Names that more than one HyperNode lists."""

    def put(self, name: str, tier: int, children: tuple[str, ...], error: str = "") -> None:
        """A HyperNode is new or changed; `error` sets it aside for itself. Then `check`."""
        self.drop(name)
        self.tier[name] = tier
        self._children[name] = children
        if error:
            self._errors[name] = error
        for child in children:
            listers = self._listers.setdefault(child, [])
            listers.append(name)
            if len(listers) > 1:
                self._shared.add(child)

    def drop(self, name: str) -> None:
        """A HyperNode is gone. Then `check`."""
        for child in self._children.pop(name, ()):
            listers = self._listers[child]
            listers.remove(name)
            if len(listers) < 2:
                self._shared.discard(child)
            if not listers:
                del self._listers[child]
        for known in (self.tier, self.parent, self.faults, self._errors, self._depth):
            known.pop(name, None)

    def shares(self) -> bool:
        """Whether some name is listed more than once."""
        return bool(self._shared)

    def below(self, name: str) -> list[str]:
        """A HyperNode that exists and everything that it and those below it list, each once."""
        found = {name: None} if name in self.tier else {}
        stack = list(found)
        while stack:
            for child in self._below(stack.pop()):
                if child not in found:
                    found[child] = None
                    stack.append(child)
        return list(found)

    def error(self, name: str) -> str:
        """Why a HyperNode is set aside for itself, empty when it is not."""
        return self._errors.get(name, "")

    def absent(self, name: str) -> list[str]:
        """What a HyperNode lists and does not exist, ascending."""
        return [child for child in self._children.get(name, ()) if child not in self.tier]

    def listers(self, name: str) -> Collection[str]:
        """The HyperNodes that list a name."""
        return self._listers.get(name, ())

    def _below(self, name: str) -> list[str]:
        return [child for child in self._children[name] if child in self.tier]

    def check(self, names: Iterable[str]) -> None:
        """Find the faults of these HyperNodes: all that lies below each of them is among them."""
        here = {name for name in names if name in self.tier}
        for name in here:
            for known in (self.parent, self.faults, self._depth):
                known.pop(name, None)
        for name in here:
            if name in self._errors:
                self.faults[name] = self._errors[name]
            elif not 0 <= self.tier[name] < _HIGHEST_TIER:
                self.faults[name] = f"its tier {self.tier[name]} is out of range"
        for component in self._cycles(here):
            for name in component:
                self.faults.setdefault(name, f"it is in a cycle of {some(sorted(component))}")
        for name in here:
            self._find_parent(name)
        self._spread(here)
        self._check_depth(here)

    def _cycles(self, here: Collection[str]) -> Iterator[Collection[str]]:
        """The cycles among some HyperNodes: nearly always none, which peeling them off shows."""
        entering = {name: len(self._listers.get(name, ())) for name in here}
        for name in here:
            entering[name] -= sum(1 for one in self._listers.get(name, ()) if one not in here)
        free = [name for name, count in entering.items() if not count]
        while free:
            name = free.pop()
            del entering[name]
            for child in self._below(name):
                entering[child] -= 1
                if not entering[child]:
                    free.append(child)
        if not entering:
            return
        graph = nx.DiGraph()
        graph.add_nodes_from(sorted(entering))
        graph.add_edges_from((a, b) for a in entering for b in self._below(a) if b in entering)
        for component in nx.strongly_connected_components(graph):
            if len(component) > 1 or any(graph.has_edge(name, name) for name in component):
                yield component

    def _find_parent(self, name: str) -> None:
        parents = self._listers.get(name, ())
        if len(parents) > 1:
            listed = some(sorted(parents))
            self.faults.setdefault(name, f"{listed} both list it, so its place is not known")
        for parent in parents if len(parents) == 1 else ():
            if self.tier[name] < self.tier[parent]:
                self.parent[name] = parent
            else:
                self.faults.setdefault(
                    name,
                    f"its tier {self.tier[name]} is not below tier {self.tier[parent]} of its "
                    f"parent {parent}",
                )

    def _spread(self, here: Collection[str]) -> None:
        """Everything below a bad HyperNode is set aside, too."""
        reached = [name for name in here if name in self.faults]
        above = {self.parent.get(name) for name in here}
        reached.extend(one for one in above if one in self.faults and one not in here)
        while reached:
            name = reached.pop()
            for child in self._below(name):
                if child in here and child not in self.faults:
                    self.faults[child] = f"{name} above it is set aside"
                    reached.append(child)
        for name in here:
            if name in self.faults:
                self.parent.pop(name, None)

    def _check_depth(self, here: Collection[str]) -> None:
        """Depth by walking up; tiers strictly rise, so this ends."""
        for name in sorted(here, key=lambda item: -self.tier[item]):
            above = self.parent.get(name)
            depth = self._depth[name] = self._depth.get(above, 0) + 1 if above is not None else 1
            if depth > DEEPEST and name not in self.faults:
                self.faults[name] = f"it is more than {DEEPEST} levels deep"
                self.parent.pop(name, None)


def some(names: Iterable[str], count: int | None = None) -> str:
    """Up to three names, and how many more (of `count`, when the names are not all)."""
    listed = list(names)
    more = (len(listed) if count is None else count) - 3
    shown = ", ".join(listed[:3])
    return shown if more <= 0 else f"{shown} and {more} more"
