"""Reviews: who am I, may I, may they; answered, never stored."""

from typing import Any

from global_sched.embedded.apiserver import status_error
from global_sched.embedded.apiserver.auth.authentication import Authenticator
from global_sched.embedded.apiserver.auth.rbac import Attributes, Rbac
from global_sched.embedded.apiserver.codec.normalizing import normalize
from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.patch.managed_fields import after_update, changes
from global_sched.embedded.apiserver.storage.backend import Backend

Obj = dict[str, Any]


def _attributes(spec: Obj) -> Attributes:
    path = spec.get("nonResourceAttributes")
    if path:
        return Attributes(verb=path.get("verb", ""), path=path.get("path", ""))
    wanted = spec.get("resourceAttributes")
    if not wanted:
        raise status_error.bad_request(
            "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        )
    return Attributes(
        verb=wanted.get("verb", ""),
        group=wanted.get("group", ""),
        resource=wanted.get("resource", ""),
        subresource=wanted.get("subresource", ""),
        namespace=wanted.get("namespace", ""),
        name=wanted.get("name", ""),
    )


def _user_info(user: User) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


class Reviewer:
    """Answers the review kinds."""

    def __init__(self, backend: Backend, rbac: Rbac, authenticator: Authenticator) -> None:
        self.backend = backend
        self.rbac = rbac
        self.authenticator = authenticator

    def review(self, call: RequestInfo, body: Obj) -> Obj:
        """The review with its status."""
        served = call.served
        normalized = normalize(served.struct, body)[0]
        obj: Obj = {"kind": served.kind, "apiVersion": served.api_version, **normalized}
        self._own(call, obj)
        spec = obj.get("spec") or {}
        match served.kind:
            case "SelfSubjectReview":
                obj["metadata"] = {"creationTimestamp": self.backend.now_text()}
                obj["status"] = {"userInfo": _user_info(call.user)}
            case "SelfSubjectAccessReview":
                obj["status"] = self._access(call.user, spec)
            case "SubjectAccessReview" | "LocalSubjectAccessReview":
                obj["status"] = self._access(self._subject(spec), spec)
            case "SelfSubjectRulesReview":
                obj["status"] = self._rules(call.user, spec.get("namespace", ""))
            case "TokenReview":
                obj["status"] = self._token(spec)
            case _:
                raise status_error.not_found(served.plural, served.group, "")
        return obj

    def _own(self, call: RequestInfo, obj: Obj) -> None:
        empty = normalize(call.served.struct, {})[0]
        changed, _ = changes(call.served.shape, empty, obj, frozenset({"status"}))
        entries = after_update(
            [],
            changed,
            {},
            manager=call.manager,
            api_version=call.served.api_version,
            time=self.backend.now_text(),
        )
        if entries:
            obj["metadata"]["managedFields"] = entries

    @staticmethod
    def _subject(spec: Obj) -> User:
        return User(
            name=spec.get("user", ""),
            groups=tuple(spec.get("groups") or ()),
            uid=spec.get("uid", ""),
        )

    def _access(self, user: User, spec: Obj) -> Obj:
        if self.rbac.allowed(user, _attributes(spec)):
            return {"allowed": True}
        return {"allowed": False}

    def _rules(self, user: User, namespace: str) -> Obj:
        if not namespace:
            raise status_error.bad_request("no namespace on request")
        if user.master:
            every = ["*"]
            return {
                "resourceRules": [{"verbs": every, "apiGroups": every, "resources": every}],
                "nonResourceRules": [{"verbs": every, "nonResourceURLs": every}],
                "incomplete": False,
            }
        resources, paths = [], []
        for rule in self.rbac.rules(user, namespace):
            if rule.get("resources"):
                kept = ("verbs", "apiGroups", "resources", "resourceNames")
                resources.append({key: rule[key] for key in kept if rule.get(key)})
            if rule.get("nonResourceURLs"):
                paths.append({key: rule[key] for key in ("verbs", "nonResourceURLs")})
        return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}

    def _token(self, spec: Obj) -> Obj:
        user = self.authenticator.find(spec.get("token", ""))
        if user is None:
            return {"user": {}, "error": "invalid bearer token"}
        return {"authenticated": True, "user": _user_info(user)}
