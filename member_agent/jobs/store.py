"""The store of the Job controller: Jobs, their pods and PodGroups, by Job.

Handlers of informers write into it; every change names the Job to look at. Writes of our
own are put in at once (`put_job`, `put_group`), so that the next step never decides on a state
older than our own last word; an older echo that comes later is not taken.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import Pod
from global_sched.shared.api.resource import VOLCANO_JOBS
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.telemetry.logs import get_logger
from member_agent.jobs.memory import Memory
from member_agent.jobs.wire import RunJob

log = get_logger(__name__)


class Owned(NamedTuple):
    """What belongs to one Job."""

    pods: tuple[Pod, ...]
    group: PodGroup | None


def owner_of(meta: Meta) -> str:
    """The uid of the Volcano Job that controls an object, empty when none does."""
    owner = meta.controller()
    if owner is None or owner.kind != VOLCANO_JOBS.kind:
        return ""
    group = owner.api_version.partition("/")[0]
    return owner.uid if group == VOLCANO_JOBS.group else ""


class JobStore:
    """Jobs and what they own; pods and PodGroups may come long before Jobs are watched."""

    def __init__(self) -> None:
        self._changed: Callable[[ObjectKey], None] = _nobody
        self._owned_changed: Callable[[ObjectKey], None] = _nobody
        self._jobs: dict[ObjectKey, RunJob] = {}
        self._keys: dict[str, ObjectKey] = {}
        self._pods: dict[str, dict[str, Pod]] = {}
        self._pod_owner: dict[ObjectKey, str] = {}
        self._groups: dict[str, dict[str, PodGroup]] = {}
        self._group_owner: dict[ObjectKey, str] = {}
        # An answer to a create may come after the watch event of the object's end.
        self._gone: deque[str] = deque(maxlen=4096)
        self.memories: dict[str, Memory] = {}

    def start(
        self,
        changed: Callable[[ObjectKey], None],
        owned_changed: Callable[[ObjectKey], None],
    ) -> None:
        """Jobs are watched from now on; what was known and remembered of them is forgotten.

        `changed` is called with every Job to look at; `owned_changed` when it is for its pods or
        its PodGroup, which come in bursts.
        """
        self._changed, self._owned_changed = changed, owned_changed
        self._jobs.clear()
        self._keys.clear()
        self.memories.clear()

    def stop(self) -> None:
        """Jobs are no longer watched."""
        self.start(_nobody, _nobody)

    def job(self, key: ObjectKey) -> RunJob | None:
        """The Job under a key."""
        return self._jobs.get(key)

    def knows(self, uid: str) -> bool:
        """Whether there is a Job of this uid."""
        return uid in self._keys

    def owned(self, job: RunJob, group_name: str) -> Owned:
        """A Job's pods, by name, and its PodGroup."""
        pods = self._pods.get(job.metadata.uid, {})
        group = self._groups.get(job.metadata.uid, {}).get(group_name)
        return Owned(tuple(pods[name] for name in sorted(pods)), group)

    def memory(self, uid: str) -> Memory:
        """What is remembered of a Job."""
        return self.memories.get(uid, Memory())

    def put_job(self, job: RunJob) -> None:
        """Take a version of a Job, unless a newer one is there."""
        key = ObjectKey(job.metadata.namespace, job.metadata.name)
        there = self._jobs.get(key)
        if there is not None and _older(job.metadata, there.metadata):
            return
        self._jobs[key] = job
        self._keys[job.metadata.uid] = key
        self._changed(key)

    def drop_job(self, key: ObjectKey, uid: str) -> None:
        """Forget a Job."""
        there = self._jobs.get(key)
        if there is not None and there.metadata.uid == uid:
            del self._jobs[key]
        self._keys.pop(uid, None)
        self.memories.pop(uid, None)

    def put_pod(self, pod: Pod) -> None:
        """Take a version of a pod."""
        uid = owner_of(pod.metadata)
        if not uid or pod.metadata.uid in self._gone:
            return
        there = self._pods.get(uid, {}).get(pod.metadata.name)
        if there is not None and _older(pod.metadata, there.metadata):
            return
        self._pod_owner[ObjectKey(pod.metadata.namespace, pod.metadata.name)] = uid
        self._pods.setdefault(uid, {})[pod.metadata.name] = pod
        self._look_at(uid)

    def drop_pod(self, key: ObjectKey, pod_uid: str) -> None:
        """A pod is gone; unless that was our doing, its Job will think about it."""
        self._gone.append(pod_uid)
        uid = self._pod_owner.pop(key, "")
        pods = self._pods.get(uid, {})
        pod = pods.pop(key.name, None)
        if not pods:
            self._pods.pop(uid, None)
        if pod is not None and uid in self._keys:
            self.memories[uid] = self.memory(uid).lose(pod)
            self._look_at(uid)

    def put_group(self, group: PodGroup) -> None:
        """Take a version of a PodGroup, unless a newer one is there."""
        uid = owner_of(group.metadata)
        if not uid or group.metadata.uid in self._gone:
            return
        key = ObjectKey(group.metadata.namespace, group.metadata.name)
        there = self._groups.setdefault(uid, {}).get(key.name)
        if there is not None and _older(group.metadata, there.metadata):
            return
        self._group_owner[key] = uid
        self._groups[uid][key.name] = group
        self._look_at(uid)

    def drop_group(self, key: ObjectKey, group_uid: str) -> None:
        """A PodGroup is gone."""
        self._gone.append(group_uid)
        uid = self._group_owner.pop(key, "")
        groups = self._groups.get(uid, {})
        groups.pop(key.name, None)
        if not groups:
            self._groups.pop(uid, None)
        self._look_at(uid)

    def _look_at(self, uid: str) -> None:
        if key := self._keys.get(uid):
            self._owned_changed(key)


def _nobody(_key: ObjectKey) -> None:
    """Called with a change while Jobs are not watched."""


def _older(one: Meta, other: Meta) -> bool:
    """Whether a version of an object precedes another (they compare since Kubernetes 1.35)."""
    if one.uid != other.uid:
        return False
    first, second = one.resource_version, other.resource_version
    return first.isdigit() and second.isdigit() and int(first) < int(second)


class JobHandler:
    """The informer's handler of Jobs."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def upsert(self, obj: RunJob) -> None:
        """Take it."""
        self._store.put_job(obj)

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Forget it."""
        self._store.drop_job(key, uid)

    def malformed(self, bad: Malformed) -> None:
        """Say so; the last version that could be read goes on."""
        log.warning("job_unreadable", job=str(bad.key), error=bad.error)

    def synced(self) -> None:
        """Nothing to do."""


class PodHandler:
    """The informer's handler of pods."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def upsert(self, obj: Pod) -> None:
        """Take it."""
        self._store.put_pod(obj)

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Forget it."""
        self._store.drop_pod(key, uid)

    def malformed(self, bad: Malformed) -> None:
        """Say so; the last version that could be read counts."""
        log.warning("pod_unreadable", pod=str(bad.key), error=bad.error)

    def synced(self) -> None:
        """Nothing to do."""


class GroupHandler:
    """The informer's handler of PodGroups."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def upsert(self, obj: PodGroup) -> None:
        """Take it."""
        self._store.put_group(obj)

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Forget it."""
        self._store.drop_group(key, uid)

    def malformed(self, bad: Malformed) -> None:
        """Say so; the last version that could be read counts."""
        log.warning("pod_group_unreadable", pod_group=str(bad.key), error=bad.error)

    def synced(self) -> None:
        """Nothing to do."""
