"""The HyperNode tree while nodes and HyperNodes come, go and change.

One node's change is one node's work; a HyperNode's is that of its own subtree.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence

from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain
from global_sched.shared.placement.tree.build import (
    MOST_HYPERNODES,
    DomainTree,
    TreeDraft,
    domain_of,
    missing_note,
    problems_of,
    read,
    smallest,
)
from global_sched.shared.placement.tree.node_index import Labels, NodeIndex


class LiveTree:
    """The same as `build_tree` over what there is now, kept in step change by change.

    `tree()` shares its `leaf_of` with later answers: read it before the next change. Its `domains`
    are the same object for as long as no domain has changed.
    """

    def __init__(self, hypernodes: Sequence[HyperNode], nodes: Mapping[str, Labels]) -> None:
        self._labels = dict(nodes)
        self._grow(hypernodes)

    def _grow(self, hypernodes: Sequence[HyperNode]) -> None:
        """Read everything anew.

        What is listed twice may be a redundant fact, which one more node turns into a
        contradiction: such a tree is read anew after each change.
        """
        draft = TreeDraft(hypernodes, self._labels)
        tree = draft.tree()
        self._contested = draft.contested
        self._outdated = False
        self._objects = draft.objects
        self._names = list(draft.objects)
        """Those that are read, ascending."""
        self._spare = draft.left_out
        self._left_out = list(draft.left_out)
        self._forest = draft.forest
        self._resolver = draft.resolver
        self._leaf_of = dict(tree.leaf_of)
        self._overlaps = dict(draft.overlaps)
        self._missing = {
            name: set(listed.missing_nodes)
            for name, listed in draft.listed.items()
            if listed.missing_nodes
        }
        self._node_index = NodeIndex(draft)
        self._order = [str(domain.name) for domain in tree.domains]
        self._domains: dict[str, Domain] = dict(zip(self._order, tree.domains, strict=True))
        self._tree = tree
        self._stale = True
        self._renamed = False
        """Whether domains have changed since the tree was read."""

    def tree(self) -> DomainTree:
        """The tree as it is now."""
        if self._outdated or self._is_contested():
            if self._outdated or not self._contested:
                self._grow([*self._objects.values(), *self._spare.values()])
            return self._tree
        if self._stale:
            self._stale = False
            notes = {n: missing_note(sorted(nodes)) for n, nodes in self._missing.items() if nodes}
            domains = self._tree.domains
            if self._renamed:
                domains = tuple(map(self._domains.__getitem__, self._order))
                self._renamed = False
            self._tree = DomainTree(
                domains=domains,
                leaf_of=self._leaf_of,
                problems=problems_of(self._forest, self._objects, self._overlaps, self._left_out),
                notes=dict(sorted(notes.items())),
            )
        return self._tree

    def _is_contested(self) -> bool:
        return self._contested or bool(self._overlaps) or self._forest.shares()

    # --- nodes ------------------------------------------------------------------------------

    def put_node(self, name: str, labels: Labels) -> None:
        """A node is new, or has other labels."""
        self._labels[name] = labels
        if self._is_contested():
            self._outdated = True
            return
        if name not in self._leaf_of:
            self._exists(name, present=True)
        self._node_index.put_node(name, labels)
        self._resolver.put_node(name, labels)
        self._hang(name)

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        if self._labels.pop(name, None) is None:
            return
        if self._is_contested():
            self._outdated = True
            return
        del self._leaf_of[name]
        self._node_index.drop_node(name)
        self._resolver.drop_node(name)
        self._exists(name, present=False)
        self._overlap(name, ())

    def _hang(self, node: str) -> bool:
        """Find the smallest HyperNode of a node; whether it is another one than before."""
        faults = self._forest.faults
        names = [name for name in self._node_index.of(node) if name not in faults]
        strangers = False
        leaf: DomainId | None = None
        if names:
            leaf, strangers = smallest(names, self._forest.tier, self._forest.parent)
        self._overlap(node, tuple(names) if strangers else ())
        changed = node not in self._leaf_of or self._leaf_of[node] != leaf
        self._leaf_of[node] = leaf
        return changed

    def _exists(self, name: str, *, present: bool) -> None:
        for hyper_node in self._node_index.naming(name):
            missing = self._missing.setdefault(hyper_node, set())
            if present:
                missing.discard(name)
            else:
                missing.add(name)
            if not missing:
                del self._missing[hyper_node]
            self._stale = True

    def _overlap(self, name: str, names: tuple[str, ...]) -> None:
        if self._overlaps.get(name, ()) == names:
            return
        self._stale = True
        if names:
            self._overlaps[name] = names
        else:
            del self._overlaps[name]

    # --- HyperNodes -------------------------------------------------------------------------

    def put_hyper_node(self, hyper_node: HyperNode) -> list[str] | None:
        """A HyperNode is new or changed: the nodes that hang elsewhere now.

        None when the tree has to be made anew, since changes have cost too many tests, or since
        something is listed twice.
        """
        name = hyper_node.metadata.name
        if self._resolver.is_worn() or self._is_contested():
            return None
        full = name not in self._objects and len(self._objects) >= MOST_HYPERNODES
        last = self._names[-1] if full else ""
        if full and name > last:
            if name not in self._spare:
                insort(self._left_out, name)
            self._spare[name] = hyper_node
            self._stale = True
            return []
        moved: list[str] = []
        if full:
            self._spare[last] = self._objects[last]
            self._left_out.insert(0, last)
            moved = self._change(last, None)
        moved = sorted({*moved, *self._change(name, hyper_node)})
        return None if self._is_contested() else moved

    def drop_hyper_node(self, name: str) -> list[str] | None:
        """A HyperNode is gone: as `put_hyper_node`."""
        if self._resolver.is_worn() or self._is_contested():
            return None
        if self._spare.pop(name, None) is not None:
            del self._left_out[bisect_left(self._left_out, name)]
            self._stale = True
        if name not in self._objects:
            return []
        moved = self._change(name, None)
        if self._left_out:
            first = self._left_out.pop(0)
            moved = sorted({*moved, *self._change(first, self._spare.pop(first))})
        return None if self._is_contested() else moved

    def _change(self, name: str, now: HyperNode | None) -> list[str]:
        """Look again at everything below a HyperNode, before and after."""
        forest, holders = self._forest, self._node_index
        touched = dict.fromkeys([name, *forest.below(name)])
        nodes = {node for one in touched for node in holders.nodes(one)}
        holders.drop(name)
        self._missing.pop(name, None)
        if now is None:
            forest.drop(name)
            del self._objects[name]
            del self._names[bisect_left(self._names, name)]
        else:
            listed = read(forest, self._resolver, now)
            if name not in self._objects:
                insort(self._names, name)
            self._objects[name] = now
            if listed.missing_nodes:
                self._missing[name] = set(listed.missing_nodes)
            if not forest.error(name):
                holders.put(now, listed.nodes)
        touched.update(dict.fromkeys(forest.below(name)))
        forest.check(touched)
        self._stale = True
        self._name_domains(touched)
        nodes.update(node for one in touched for node in holders.nodes(one))
        return [node for node in sorted(nodes) if self._hang(node)]

    def _name_domains(self, names: Iterable[str]) -> None:
        """Bring the domains of some HyperNodes up to date."""
        changed = False
        for name in names:
            good = name in self._objects and name not in self._forest.faults
            domain = domain_of(self._forest, self._objects[name]) if good else None
            known = self._domains.get(name)
            if domain == known:
                continue
            changed = True
            if domain is None:
                del self._domains[name]
                del self._order[bisect_left(self._order, name)]
                continue
            if known is None:
                insort(self._order, name)
            self._domains[name] = domain
        self._renamed |= changed
