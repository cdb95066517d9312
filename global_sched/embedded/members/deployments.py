"""Deployment → ReplicaSets, with Kubernetes' rolling update and its conditions."""

from typing import Final

from global_sched.embedded.members.cluster import owner_reference
from global_sched.embedded.members.revisions import count_of, template_hash, with_condition
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj, annotations, generation_of, get, name_of
from global_sched.shared.api.resource import DEPLOYMENTS, REPLICA_SETS

HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    DESIRED,
    MAXIMUM,
)


class Deployments(WorkloadController):
    """The ReplicaSet of the present template grows while those of older ones shrink."""

    resource = DEPLOYMENTS
    owns = (REPLICA_SETS,)

    async def sync(self, obj: Obj) -> float | None:
        """One step of the roll-out, then the status."""
        sets = self.cluster.owned(REPLICA_SETS, obj)
        digest = template_hash(obj["spec"]["template"])
        current = next((one for one in sets if one["metadata"]["labels"].get(HASH) == digest), None)
        older = [one for one in sets if one is not current]
        revision = max((_revision(one) for one in older), default=0) + 1
        if current is None:
            first = _first_replicas(obj, older)
            made = _replica_set(obj, digest, revision, first)
            current = await self.cluster.create(REPLICA_SETS, made, owner=obj)
            if current is None:
                return 0.1  # the watch has not delivered it yet
        elif not get(obj, "spec", "paused"):
            current = await self._grow(obj, current, older)
            older = [await self._shrink(obj, one, current, older) for one in older]
        if annotations(obj).get(REVISION) != str(_revision(current)):
            # Through the status, as Kubernetes does: the generation stays what the user made it.
            patch = {"metadata": {"annotations": {REVISION: str(_revision(current))}}}
            obj = await self.cluster.patch(DEPLOYMENTS, obj, patch, subresource="status")
        await self.cluster.write_status(DEPLOYMENTS, obj, self._status(obj, current, older))
        return None

    async def _grow(self, obj: Obj, current: Obj, older: list[Obj]) -> Obj:
        wanted = _replicas(obj)
        now = _replicas(current)
        others = sum(_replicas(one) for one in older)
        target = wanted
        if _recreates(obj):
            running = sum(_shown(one, "replicas") for one in older)
            target = wanted if not running and not others else now
        elif others:
            room = wanted + _surge(obj) - others
            target = max(now, min(wanted, room)) if now < wanted else wanted
        return await self._scale(obj, current, target)

    async def _shrink(self, obj: Obj, one: Obj, current: Obj, older: list[Obj]) -> Obj:
        if _recreates(obj):
            return await self._scale(obj, one, 0)
        have = _replicas(one)
        if not have:
            return one
        if any(_replicas(s) for s in older[: older.index(one)]):
            return one  # one after the other
        # What is asked for counts, not what the statuses show: they lag behind.
        floor = _replicas(obj) - _unavailable(obj)
        coming = _replicas(current) - _shown(current, "availableReplicas")
        most = sum(_replicas(s) for s in (current, *older)) - floor - coming
        available = sum(_shown(s, "availableReplicas") for s in (current, *older))
        # Pods that are not available cost nothing; the available ones only above the floor.
        broken = max(0, have - _shown(one, "availableReplicas"))
        spare = max(0, available - floor)
        return await self._scale(obj, one, have - max(0, min(have, most, broken + spare)))

    async def _scale(self, obj: Obj, one: Obj, replicas: int) -> Obj:
        notes = {DESIRED: str(_replicas(obj)), MAXIMUM: str(_replicas(obj) + _surge(obj))}
        has = annotations(one)
        if _replicas(one) == replicas and all(has.get(key) == text for key, text in notes.items()):
            return one
        patch = {"metadata": {"annotations": notes}, "spec": {"replicas": replicas}}
        return await self.cluster.patch(REPLICA_SETS, one, patch)

    # --- status ---------------------------------------------------------------------------

    def _status(self, obj: Obj, current: Obj, older: list[Obj]) -> Obj:
        sets = [current, *older]
        total = sum(_shown(one, "replicas") for one in sets)
        available = sum(_shown(one, "availableReplicas") for one in sets)
        counts = {
            "availableReplicas": available,
            "readyReplicas": sum(_shown(one, "readyReplicas") for one in sets),
            "replicas": total,
            "unavailableReplicas": max(0, total - available),
            "updatedReplicas": _shown(current, "replicas"),
        }
        status: Obj = {key: n for key, n in counts.items() if n}
        status["observedGeneration"] = generation_of(obj)
        status["terminatingReplicas"] = sum(_shown(one, "terminatingReplicas") for one in sets)
        done = (
            counts["updatedReplicas"] == _replicas(obj)
            and total == _replicas(obj)
            and available >= _replicas(obj)
        )
        status["conditions"] = self._conditions(obj, current, available, done=done)
        return status

    def _conditions(self, obj: Obj, current: Obj, available: int, *, done: bool) -> list[Obj]:
        now = self.cluster.now()
        conditions = get(obj, "status", "conditions")
        name = name_of(current)
        old = next((c for c in conditions or () if c["type"] == "Progressing"), None)
        if done:
            reason, text = "NewReplicaSetAvailable", "has successfully progressed."
            progress = _condition("Progressing", True, reason, f'ReplicaSet "{name}" {text}')
        elif old is None:
            text = f'Created new replica set "{name}"'
            progress = _condition("Progressing", True, "NewReplicaSetCreated", text)
        elif old["reason"] == "NewReplicaSetAvailable" and f'"{name}"' in old["message"]:
            progress = old  # complete once; a lost pod does not start a new roll-out
        else:
            text = f'ReplicaSet "{name}" is progressing.'
            progress = _condition("Progressing", True, "ReplicaSetUpdated", text)
        enough = available >= _replicas(obj) - _unavailable(obj)
        if enough:
            text = "Deployment has minimum availability."
            minimum = _condition("Available", True, "MinimumReplicasAvailable", text)
        else:
            text = "Deployment does not have minimum availability."
            minimum = _condition("Available", False, "MinimumReplicasUnavailable", text)
        conditions = with_condition(conditions, minimum, now)
        return with_condition(conditions, progress, now)


# --- parts --------------------------------------------------------------------------------


def _replica_set(obj: Obj, digest: str, revision: int, replicas: int) -> Obj:
    template = dict(obj["spec"]["template"])
    meta = dict(template.get("metadata") or {})
    labels = {**(meta.get("labels") or {}), HASH: digest}
    template["metadata"] = {**meta, "labels": labels}
    notes = {key: text for key, text in annotations(obj).items() if key not in _NOT_COPIED}
    notes |= {
        REVISION: str(revision),
        DESIRED: str(_replicas(obj)),
        MAXIMUM: str(_replicas(obj) + _surge(obj)),
    }
    selector = dict(obj["spec"]["selector"])
    selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH: digest}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{name_of(obj)}-{digest}",
            "namespace": get(obj, "metadata", "namespace"),
            "labels": labels,
            "annotations": notes,
            "ownerReferences": [owner_reference(obj)],
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    }


def _first_replicas(obj: Obj, older: list[Obj]) -> int:
    others = sum(_replicas(one) for one in older)
    if not others:
        return _replicas(obj)
    if _recreates(obj):
        return 0
    return max(0, min(_replicas(obj), _replicas(obj) + _surge(obj) - others))


def _condition(kind: str, holds: bool, reason: str, message: str) -> Obj:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": message,
    }


def _replicas(obj: Obj) -> int:
    found = get(obj, "spec", "replicas")
    return 1 if found is None else int(found)


def _shown(obj: Obj, field: str) -> int:
    return int(get(obj, "status", field) or 0)


def _revision(replica_set: Obj) -> int:
    text = annotations(replica_set).get(REVISION, "")
    return int(text) if text.isdigit() else 0


def _recreates(obj: Obj) -> bool:
    return bool(get(obj, "spec", "strategy", "type") == "Recreate")


def _rolling(obj: Obj, field: str) -> object:
    found = get(obj, "spec", "strategy", "rollingUpdate", field)
    return "25%" if found is None else found


def _surge(obj: Obj) -> int:
    if _recreates(obj):
        return 0
    return count_of(_rolling(obj, "maxSurge"), _replicas(obj), up=True)


def _unavailable(obj: Obj) -> int:
    if _recreates(obj):
        return 0
    found = count_of(_rolling(obj, "maxUnavailable"), _replicas(obj), up=False)
    return found if found or _surge(obj) else 1
