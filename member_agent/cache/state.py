"""Events in, the state of one member cluster out."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from global_sched.shared.api.core import Node
from global_sched.shared.api.federation import Directive, LeftBinding
from global_sched.shared.api.volcano import HyperNode, PodGroup
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from global_sched.shared.model.topology import NodeClass, Wanted
from global_sched.shared.placement import (
    DemandError,
    DomainTree,
    LiveTree,
    allocatable,
    decode_demand,
    demand_of,
    node_class,
    usable,
)
from member_agent.cache.pods import Kind, PodTable
from member_agent.cache.read import read_entry, read_group
from member_agent.cache.read_owners import read_owner
from member_agent.cache.reading import ReadError
from member_agent.cache.records import GroupRecord, Key, ManagedWorkload, OwnerRecord


class NodeRecord(NamedTuple):
    """A node with what placing reads of it."""

    node: Node
    room: Mapping[str, int]
    """Allocatable amounts; what cannot be read counts as none."""
    node_class: NodeClass
    usable: bool
    """Ready and not going away; a cordoned node is usable and takes no new pods."""
    conditions: frozenset[tuple[str, str]]
    """Type and status of its conditions."""


class ClusterCache(PodTable):
    """The state of one member cluster, as its API server and our Directive last gave it.

    Not for threads. Bad objects are in `problems`, and stand in nothing else.
    """

    def __init__(self, cluster: str) -> None:
        super().__init__()
        self.cluster = cluster
        self.nodes: dict[str, NodeRecord] = {}
        self.groups: dict[Key, GroupRecord] = {}
        self.hyper_nodes: dict[str, HyperNode] = {}
        self.owners: dict[str, OwnerRecord] = {}
        self._directives: dict[Key, tuple[ManagedWorkload, ...]] = {}
        self._label_keys: dict[Key, tuple[str, ...]] = {}
        self._demands: dict[Key, tuple[Wanted, ...]] = {}
        self._left: dict[Key, tuple[LeftBinding, ...]] = {}
        self._recovery: dict[Key, RecoveryPolicy] = {}
        self._owner_uids: dict[Key, str] = {}
        self._entries: dict[BindingId, ManagedWorkload] | None = None
        self._tree: LiveTree | None = None
        self.live_room: object = None
        """What `live_room` keeps for this cache (`live_room.LiveRoom`)."""

    # --- nodes and HyperNodes ---------------------------------------------------------------

    def upsert_node(self, node: Node) -> None:
        """A node is new or changed."""
        name = node.metadata.name
        conditions = frozenset((one.type, one.status) for one in node.status.conditions or ())
        record = NodeRecord(node, allocatable(node), node_class(node), usable(node), conditions)
        known = self.nodes.get(name)
        if known is not None and known[1:] == record[1:]:
            self.nodes[name] = record  # a heartbeat: nothing to place or report by it
            return
        self.changes += 1
        self._touch(name)
        changed = known is None or known.node_class.labels != record.node_class.labels
        if changed and self._tree is not None:
            self._tree.put_node(name, dict(record.node_class.labels))
        if problem := amounts_problem(node.status.allocatable or {}, "status.allocatable"):
            self.problems[Kind.NODE, ("", name)] = problem
        else:
            self.problems.pop((Kind.NODE, ("", name)), None)
        self.nodes[name] = record

    def upsert_hyper_node(self, hyper_node: HyperNode) -> None:
        """A HyperNode is new or changed."""
        self.changes += 1
        self.problems.pop((Kind.HYPER_NODE, ("", hyper_node.metadata.name)), None)
        known = self.hyper_nodes.get(hyper_node.metadata.name)
        self.hyper_nodes[hyper_node.metadata.name] = hyper_node
        if known is None or known.spec != hyper_node.spec:
            tree = self._tree
            self._replant(None if tree is None else tree.put_hyper_node(hyper_node))

    def _drop_hyper_node(self, name: str) -> None:
        if self.hyper_nodes.pop(name, None) is not None:
            tree = self._tree
            self._replant(None if tree is None else tree.drop_hyper_node(name))

    def _replant(self, moved: list[str] | None) -> None:
        """Nodes hang elsewhere in the tree; None: it is to be made anew."""
        if moved is None:
            self._tree = None
        for node in moved or ():
            self._touch(node)

    def tree(self) -> DomainTree:
        """The HyperNode tree over the nodes; what changes, changes it in place.

        It shares parts with later answers: read it before the next event.
        """
        if self._tree is None:
            labels = {name: dict(r.node_class.labels) for name, r in self.nodes.items()}
            self._tree = LiveTree(list(self.hyper_nodes.values()), labels)
        return self._tree.tree()

    # --- PodGroups and owners ---------------------------------------------------------------

    def upsert_group(self, group: PodGroup) -> None:
        """A PodGroup is new or changed."""
        self.changes += 1
        key = (group.metadata.namespace, group.metadata.name)
        try:
            self.groups[key] = read_group(group)
            self._know_kind(self.groups[key].owner)
            self.problems.pop((Kind.POD_GROUP, key), None)
        except ReadError as error:
            self.groups.pop(key, None)
            self.problems[Kind.POD_GROUP, key] = str(error)

    def upsert_owner(self, obj: Any, api_version: str, kind: str) -> None:
        """An object that controls pods is new or changed."""
        self.changes += 1
        key = owner_key(api_version, kind, (obj.metadata.namespace, obj.metadata.name))
        self._drop_owner(key)
        try:
            record = read_owner(obj, api_version, kind)
        except ReadError as error:
            self.problems[Kind.OWNER, key] = str(error)
            return
        self.problems.pop((Kind.OWNER, key), None)
        self.owners[record.uid] = record
        self._know_kind(record.owner)
        self._owner_uids[key] = record.uid

    def delete_owner(self, api_version: str, kind: str, key: Key) -> None:
        """An object that controls pods is gone."""
        self.changes += 1
        key = owner_key(api_version, kind, key)
        self.problems.pop((Kind.OWNER, key), None)
        self._drop_owner(key)

    def _drop_owner(self, key: Key) -> None:
        uid = self._owner_uids.pop(key, None)
        if uid is not None:
            del self.owners[uid]

    # --- the Directive ----------------------------------------------------------------------

    def upsert_directive(self, directive: Directive) -> None:
        """A slice of the Directive is new or changed; entries that cannot be read stay out."""
        self.changes += 1
        self._entries = None
        key = (directive.metadata.namespace, directive.metadata.name)
        spec = directive.spec
        if spec.cluster != self.cluster:
            self._drop_directive(key)
            self.problems[Kind.DIRECTIVE, key] = (
                f"spec.cluster is {spec.cluster[:80]!r}, and this member is {self.cluster!r}"
            )
            return
        entries: list[ManagedWorkload] = []
        errors: list[str] = []
        for entry in spec.entries or ():
            try:
                entries.append(read_entry(entry))
            except ReadError as error:
                errors.append(str(error))
        self._directives[key] = tuple(entries)
        self._label_keys[key] = tuple(spec.label_keys or ())
        self._left[key] = tuple(spec.left or ())
        self._recovery.pop(key, None)
        if (told := spec.recovery) is not None:
            self._recovery[key] = RecoveryPolicy(
                heal_seconds=told.heal_seconds,
                step_seconds=told.step_seconds,
                hold_limit_seconds=told.hold_limit_seconds,
                node_exit_codes=tuple(told.node_exit_codes or ()),
            )
        try:
            self._demands[key] = decode_demand(spec.demand)
        except DemandError as error:
            self._demands[key] = ()
            errors.append(f"spec.{error}")
        if errors:
            self.problems[Kind.DIRECTIVE, key] = "; ".join(errors[:3])
        else:
            self.problems.pop((Kind.DIRECTIVE, key), None)

    def _drop_directive(self, key: Key) -> None:
        self._entries = None
        self._directives.pop(key, None)
        self._label_keys.pop(key, None)
        self._demands.pop(key, None)
        self._left.pop(key, None)
        self._recovery.pop(key, None)
        self.problems.pop((Kind.DIRECTIVE, key), None)

    def entries(self) -> Mapping[BindingId, ManagedWorkload]:
        """What is directed here, by binding; while a slice moves, its newest entry counts."""
        if self._entries is None:
            self._entries = {}
            for entry in (entry for slice_ in self._directives.values() for entry in slice_):
                known = self._entries.get(entry.binding)
                if known is None or (known.epoch, known.turn) < (entry.epoch, entry.turn):
                    self._entries[entry.binding] = entry
        return self._entries

    def asked_label_keys(self) -> tuple[str, ...]:
        """The node label keys that the Directive lists, ascending."""
        return tuple(sorted({key for keys in self._label_keys.values() for key in keys}))

    def recovery(self) -> RecoveryPolicy:
        """Defaults and bounds of recovery: the leader's, where its Policy differs from ours."""
        return next(iter(self._recovery.values()), RecoveryPolicy())

    def asked_left(self) -> frozenset[LeftBinding]:
        """The withdrawals that the Directive asks for."""
        return frozenset(one for slice_ in self._left.values() for one in slice_)

    def demand(self, keys: Collection[str]) -> tuple[Wanted, ...]:
        """The demand profile to place by: the leader's; without one, that of the pods here.

        keys:  the node label keys that count then.
        """
        if not self._demands:
            return demand_of(self.mix(), keys)
        return next(filter(None, self._demands.values()), ())

    # --- all kinds --------------------------------------------------------------------------

    def delete(self, kind: Kind, key: Key) -> None:
        """An object is gone (owners: `delete_owner`)."""
        self.changes += 1
        self.problems.pop((kind, key), None)
        match kind:
            case Kind.NODE:
                self.nodes.pop(key[1], None)
                self._touch(key[1])
                if self._tree is not None:
                    self._tree.drop_node(key[1])
            case Kind.POD:
                self.delete_pod(key)
            case Kind.POD_GROUP:
                self.groups.pop(key, None)
            case Kind.HYPER_NODE:
                self._drop_hyper_node(key[1])
            case Kind.DIRECTIVE:
                self._drop_directive(key)
            case Kind.OWNER:
                raise ValueError("owners are deleted by kind: use delete_owner")

    def malformed(self, kind: Kind, key: Key, error: str) -> None:
        """An object cannot even be decoded.

        Its last good version is dropped, so that nothing is placed by it, except a pod's and a
        node's: what they hold and offer is still there. A Directive slice keeps its entries.
        """
        self.changes += 1
        if kind is Kind.POD_GROUP:
            self.groups.pop(key, None)
        elif kind is Kind.HYPER_NODE:
            self._drop_hyper_node(key[1])
        self.problems[kind, key] = error


def owner_key(api_version: str, kind: str, key: Key) -> Key:
    """The key of an owner among owners of all kinds: `namespace`, `Kind.group/name`."""
    group = api_version.rpartition("/")[0]
    return key[0], f"{kind}.{group}/{key[1]}" if group else f"{kind}/{key[1]}"


def amounts_problem(quantities: Mapping[str, object], field: str) -> str:
    """What is wrong with quantities by resource name, empty when nothing is."""
    for name, quantity in quantities.items():
        try:
            parse_quantity(str(quantity), name)
        except QuantityError as error:
            return f"{field}[{name}]: {error}; it counts as none"
    return ""
