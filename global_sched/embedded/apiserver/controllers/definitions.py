"""CustomResourceDefinitions as a controller: conditions written, resources served and removed."""

from typing import Any

from global_sched.embedded.apiserver.patch.managed_fields import after_update
from global_sched.embedded.apiserver.resources.custom_resources import CRDS, served_versions
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import ADDED, DELETED, Collection, Event

Obj = dict[str, Any]


class Definitions:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        backend.store.listeners.append(self._changed)

    def load(self) -> None:
        """Serve every stored definition (at start)."""
        for record in self.backend.store.collection(CRDS).select():
            self._serve(record.load())

    def _changed(self, collection: Collection, event: Event) -> None:
        if collection.name != CRDS:
            return
        obj = event.record.load()
        if event.kind == DELETED:
            self._empty(obj)
            self.backend.registry.replace(obj["spec"]["group"], obj["spec"]["names"]["plural"], ())
            return
        if _established(obj):
            self._serve(obj)
        elif event.kind == ADDED:
            self.establish(event.record.key)

    def _empty(self, obj: Obj) -> None:
        """Remove every object of a definition that is gone."""
        for served in served_versions(obj):
            for record in list(self.backend.collection(served).select()):
                self.backend.remove(served, record.key, record.load())

    def _serve(self, obj: Obj) -> None:
        spec = obj["spec"]
        self.backend.registry.replace(
            spec["group"], spec["names"]["plural"], list(served_versions(obj))
        )

    def establish(self, key: str) -> None:
        """Write the conditions of a definition whose names are accepted."""
        served = self.backend.registry.find(
            "apiextensions.k8s.io", "v1", "customresourcedefinitions"
        )
        record = self.backend.get(CRDS, key)
        if served is None or record is None:
            return
        obj = record.load()
        now = self.backend.now_text()
        spec = obj["spec"]
        names = spec["names"]
        obj["status"] = {
            "conditions": [
                _condition("NamesAccepted", now, "NoConflicts", "no conflicts found"),
                _condition(
                    "Established",
                    now,
                    "InitialNamesAccepted",
                    "the initial names have been accepted",
                ),
            ],
            "acceptedNames": dict(names),
            "storedVersions": [v["name"] for v in spec["versions"] if v.get("storage")],
        }
        condition: Obj = {
            ".": {},
            **{
                f"f:{key}": {}
                for key in ("lastTransitionTime", "message", "reason", "status", "type")
            },
        }
        owned = {
            "f:status": {
                "f:acceptedNames": {f"f:{name}": {} for name in names},
                "f:conditions": {
                    'k:{"type":"Established"}': condition,
                    'k:{"type":"NamesAccepted"}': condition,
                },
            }
        }
        obj["metadata"]["managedFields"] = after_update(
            obj["metadata"].get("managedFields") or [],
            owned,
            {},
            manager="kube-apiserver",
            api_version="apiextensions.k8s.io/v1",
            time=now,
            subresource="status",
        )
        self.backend.commit(served, key, obj)


def _condition(kind: str, now: str, reason: str, message: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _established(obj: Obj) -> bool:
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (obj.get("status") or {}).get("conditions") or ()
    )
