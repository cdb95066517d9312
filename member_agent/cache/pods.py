"""Pods of a member and what they take of its nodes, kept as events come."""

from collections import Counter, deque
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from global_sched.shared.api.core import Pod
from global_sched.shared.model.pods import PodShape
from member_agent.cache.read import read_pod
from member_agent.cache.reading import ReadError
from member_agent.cache.records import Key, OwnerRef, PodRecord, PodUid

_MOST_LOSSES: Final = 4096
_MOST_SHAPES: Final = 10_000
"""Shapes that are shared between pods; they come from users, so they are bounded."""


class Kind(StrEnum):
    """What the agent watches, as people call it."""

    NODE = "Node"
    POD = "Pod"
    POD_GROUP = "PodGroup"
    HYPER_NODE = "HyperNode"
    OWNER = "owner"
    DIRECTIVE = "Directive"


class PodSource(NamedTuple):
    """Where a pod says it belongs: its PodGroup, its owner, or itself."""

    namespace: str
    group: str
    owner: str


class PodTable:
    """Pods by uid, by where they belong, and by node.

    `changes` counts every event; equal counts mean an equal state. Bad objects of all kinds are in
    `problems` by kind and key. A bound pod that became unreadable keeps its last readable record:
    what it uses is still in use.
    """

    def __init__(self) -> None:
        self.changes = 0
        self.pods: dict[PodUid, PodRecord] = {}
        self.sources: dict[PodSource, dict[PodUid, PodRecord]] = {}
        self.problems: dict[tuple[Kind, Key], str] = {}
        self.owner_kinds: set[tuple[str, str]] = set()
        """(apiVersion, kind) of everything that controls something here."""
        self.rejections: dict[PodUid, str] = {}
        """Pods that their node refused, with the node, until they are deleted."""
        self.unreadable_on: dict[str, set[Key]] = {}
        """Nodes with bound pods whose requests cannot be read: their room is unknown."""
        self._pod_uids: dict[Key, PodUid] = {}
        self._used: dict[str, dict[str, int]] = {}
        self._ports: dict[str, dict[str, int]] = {}
        self._assumed: dict[PodUid, str] = {}
        self._shapes: dict[PodShape, PodShape] = {}
        self._watching: list[set[str]] = []
        self._mix: Counter[PodShape] = Counter()
        self._losses: deque[PodRecord] = deque(maxlen=_MOST_LOSSES)
        self._crashes: deque[PodRecord] = deque(maxlen=_MOST_LOSSES)

    def watch(self) -> set[str]:
        """Names of nodes whose room changes from now on are added; the caller takes them out."""
        touched: set[str] = set()
        self._watching.append(touched)
        return touched

    def _touch(self, node: str) -> None:
        for touched in self._watching:
            touched.add(node)

    def mix(self) -> Mapping[PodShape, int]:
        """How many pods that have not ended ask for what, bound or not."""
        return self._mix

    def used(self, node: str) -> Mapping[str, int]:
        """What the pods that are bound to a node ask for."""
        return self._used.get(node, {})

    def take_losses(self) -> list[PodRecord]:
        """Pods that were seen to be lost since the last call; the latest ones of very many.

        What stood there as failed when it was first listed is among them.
        """
        taken = list(self._losses)
        self._losses.clear()
        return taken

    def take_crashes(self) -> list[PodRecord]:
        """The losses that ended with exit codes, since the last call; for another reader."""
        taken = list(self._crashes)
        self._crashes.clear()
        return taken

    def occupied(self) -> frozenset[str]:
        """Names of nodes to which pods that have not ended are bound, there or not."""
        return frozenset(self._used)

    def ports(self, node: str) -> tuple[str, ...]:
        """Host ports that pods on a node have taken, ascending."""
        return tuple(sorted(self._ports.get(node, ())))

    def upsert_pod(self, pod: Pod) -> None:
        """A pod is new or changed."""
        self.changes += 1
        key = (pod.metadata.namespace, pod.metadata.name)
        if len(self._shapes) > _MOST_SHAPES:
            self._shapes.clear()
        try:
            record = read_pod(pod, self._shapes)
        except ReadError as error:
            self._pod_problem(key, pod.spec.node_name, str(error))
            return
        self._clear_pod_problem(key)
        known = self._pod_uids.get(key)
        before = None if known is None else self.pods[known]
        if record.cause is not None and (
            before is None or before.uid != record.uid or before.cause is None
        ):
            self._losses.append(record)
            if record.exit_codes:
                self._crashes.append(record)
        if known is not None:
            self._remove_pod(known)
        if record.node or record.ended:
            self._assumed.pop(record.uid, None)
        self._add_pod(record)

    def delete_pod(self, key: Key) -> None:
        """A pod is gone."""
        self.changes += 1
        self._clear_pod_problem(key)
        uid = self._pod_uids.get(key)
        if uid is not None:
            self._remove_pod(uid)
            self._assumed.pop(uid, None)

    def assume(self, uid: PodUid, node: str) -> None:
        """The pod was bound by us; its event is on the way."""
        record = self.pods.get(uid)
        if record is not None and not record.node:
            self.changes += 1
            self._remove_pod(uid)
            self._assumed[uid] = node
            self._add_pod(record)

    def node_of(self, pod: PodRecord) -> str:
        """The node it is bound to, also when we bound it a moment ago."""
        return pod.node or self._assumed.get(pod.uid, "")

    def _add_pod(self, record: PodRecord) -> None:
        self.pods[record.uid] = record
        self._know_kind(record.owner)
        self._pod_uids[record.key] = record.uid
        self.sources.setdefault(source_of(record), {})[record.uid] = record
        if record.rejected and record.node:
            self.rejections[record.uid] = record.node
        self._count(record, 1)
        self._use(record, 1)

    def _remove_pod(self, uid: PodUid) -> None:
        record = self.pods.pop(uid, None)
        if record is None:
            return
        self._count(record, -1)
        self._use(record, -1)
        self.rejections.pop(uid, None)
        del self._pod_uids[record.key]
        siblings = self.sources[source_of(record)]
        del siblings[uid]
        if not siblings:
            del self.sources[source_of(record)]

    def _count(self, record: PodRecord, sign: int) -> None:
        if record.wants is not None and not record.ended:
            self._mix[record.wants] += sign
            if not self._mix[record.wants]:
                del self._mix[record.wants]

    def _use(self, record: PodRecord, sign: int) -> None:
        node = self.node_of(record)
        if not node or record.ended:
            return
        self._touch(node)
        used = self._used.setdefault(node, {})
        for name, value in record.shape.requests:
            used[name] = used.get(name, 0) + sign * value
            if not used[name]:
                del used[name]
        if not used:
            del self._used[node]
        for port in record.shape.ports:
            taken = self._ports.setdefault(node, {})
            taken[port] = taken.get(port, 0) + sign
            if not taken[port]:
                del taken[port]

    def _pod_problem(self, key: Key, node: str, error: str) -> None:
        self.problems[Kind.POD, key] = error
        uid = self._pod_uids.get(key)
        if uid is not None and self.node_of(self.pods[uid]):
            return
        if uid is not None:
            self._remove_pod(uid)
        if node:
            self._touch(node)
            self.unreadable_on.setdefault(node, set()).add(key)

    def _clear_pod_problem(self, key: Key) -> None:
        self.problems.pop((Kind.POD, key), None)
        for node, keys in list(self.unreadable_on.items()):
            keys.discard(key)
            if not keys:
                self._touch(node)
                del self.unreadable_on[node]

    def problem(self, kind: Kind, key: Key) -> str:
        """Why an object was set aside, empty when it was not."""
        return self.problems.get((kind, key), "")

    def _know_kind(self, owner: OwnerRef | None) -> None:
        if owner is not None:
            self.owner_kinds.add((owner.api_version, owner.kind))


def source_of(pod: PodRecord) -> PodSource:
    """Where the pod says it belongs."""
    if pod.group:
        return PodSource(pod.namespace, pod.group, "")
    return PodSource(pod.namespace, "", pod.owner.uid if pod.owner else pod.uid)
