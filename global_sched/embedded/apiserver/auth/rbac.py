"""RBAC: what the stored roles and bindings let a user do."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import Collection, Event, Record

Obj = dict[str, Any]

_GROUP: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLES: Final = f"clusterroles.{_GROUP}"
ROLES: Final = f"roles.{_GROUP}"
CLUSTER_BINDINGS: Final = f"clusterrolebindings.{_GROUP}"
BINDINGS: Final = f"rolebindings.{_GROUP}"
_KINDS: Final = frozenset({CLUSTER_ROLES, ROLES, CLUSTER_BINDINGS, BINDINGS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """What a user wants to do: a verb on a resource, or on a path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Rbac:
    """Decides from the stored objects; parsed ones are kept until an RBAC object changes."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._parsed: dict[tuple[str, str], tuple[int, Obj]] = {}
        self._bindings: dict[str, list[Obj]] | None = None
        backend.store.listeners.append(self._changed)

    def _changed(self, collection: Collection, _event: Event) -> None:
        if collection.name in _KINDS:
            self._bindings = None

    def _load(self, collection: str, record: Record) -> Obj:
        held = self._parsed.get((collection, record.key))
        if held is not None and held[0] == record.version:
            return held[1]
        obj = record.load()
        self._parsed[(collection, record.key)] = (record.version, obj)
        return obj

    def _all_bindings(self, namespace: str) -> list[Obj]:
        """The bindings of a namespace; the cluster-wide ones for an empty one."""
        if self._bindings is None:
            found: dict[str, list[Obj]] = {"": []}
            for collection in (CLUSTER_BINDINGS, BINDINGS):
                for record in self.backend.store.collection(collection).select():
                    found.setdefault(record.namespace, []).append(self._load(collection, record))
            self._bindings = found
        return self._bindings.get(namespace, [])

    def _rules_of(self, binding: Obj, namespace: str) -> list[Obj]:
        reference = binding.get("roleRef") or {}
        name = reference.get("name", "")
        if reference.get("kind") == "ClusterRole":
            collection, key = CLUSTER_ROLES, name
        else:
            collection, key = ROLES, f"{namespace}/{name}"
        record = self.backend.get(collection, key)
        if record is None:
            return []
        role = self._load(collection, record)
        rules: list[Obj] = list(role.get("rules") or [])
        return rules

    def rules(self, user: User, namespace: str) -> Iterator[Obj]:
        """The rules that apply to a user in a namespace (cluster-wide ones alone if empty)."""
        for binding in self._all_bindings(""):
            if _bound(binding, user, ""):
                yield from self._rules_of(binding, "")
        if namespace:
            for binding in self._all_bindings(namespace):
                if _bound(binding, user, namespace):
                    yield from self._rules_of(binding, namespace)

    def allowed(self, user: User, wanted: Attributes) -> bool:
        """Whether a user may do what is wanted."""
        if user.master:
            return True
        namespace = "" if wanted.path else wanted.namespace
        return any(_covers(rule, wanted) for rule in self.rules(user, namespace))


def _bound(binding: Obj, user: User, namespace: str) -> bool:
    for subject in binding.get("subjects") or ():
        kind, name = subject.get("kind"), subject.get("name")
        if kind == "User" and name == user.name:
            return True
        if kind == "Group" and name in user.groups:
            return True
        if kind == "ServiceAccount":
            where = subject.get("namespace") or namespace
            if user.name == f"system:serviceaccount:{where}:{name}":
                return True
    return False


def _path_matches(pattern: str, path: str) -> bool:
    if pattern == "*":
        return True
    if pattern.endswith("*"):
        return path.startswith(pattern.rstrip("*"))
    return pattern == path


def _covers(rule: Obj, wanted: Attributes) -> bool:
    verbs = rule.get("verbs") or ()
    if wanted.verb not in verbs and "*" not in verbs:
        return False
    if wanted.path:
        return any(_path_matches(p, wanted.path) for p in rule.get("nonResourceURLs") or ())
    groups = rule.get("apiGroups") or ()
    if wanted.group not in groups and "*" not in groups:
        return False
    if not _resource_matches(rule.get("resources") or (), wanted):
        return False
    names = rule.get("resourceNames") or ()
    return not names or (bool(wanted.name) and wanted.name in names)


def _resource_matches(resources: Any, wanted: Attributes) -> bool:
    full = f"{wanted.resource}/{wanted.subresource}" if wanted.subresource else wanted.resource
    for resource in resources:
        if resource in {"*", full}:
            return True
        if wanted.subresource and resource == f"*/{wanted.subresource}":
            return True
    return False


def denial(user: User, wanted: Attributes) -> str:
    """Why a request is forbidden, as a real server words it."""
    name = user.name
    if wanted.path:
        return f'User "{name}" cannot {wanted.verb} path "{wanted.path}"'
    resource = wanted.resource + (f"/{wanted.subresource}" if wanted.subresource else "")
    text = f'User "{name}" cannot {wanted.verb} resource "{resource}" in API group "{wanted.group}"'
    if wanted.namespace:
        return f'{text} in the namespace "{wanted.namespace}"'
    return f"{text} at the cluster scope"
