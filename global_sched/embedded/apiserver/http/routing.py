"""A path and method to a `RequestInfo`; paths that lead to no resource are not found."""

from dataclasses import dataclass
from urllib.parse import unquote

from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import (
    NoSuchPath,
    StatusError,
    bad_request,
    method_not_allowed,
    verb_not_supported,
)
from global_sched.embedded.apiserver.storage.backend import Registry


@dataclass(frozen=True, slots=True)
class Route:
    """What a path names."""

    served: ResourceInfo
    namespace: str
    name: str
    subresource: str


_SELF_NAMED = frozenset({"status", "finalize"})


def parse_target(path: str, registry: Registry) -> Route:
    """The resource, namespace, name and subresource in a path.

    Raises:  NoSuchPath for anything else.
    """
    parts = path.strip("/").split("/")
    if "%" in path:
        parts = [unquote(part) for part in parts]
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise NoSuchPath
    namespace = ""
    if (
        rest[0] == "namespaces"
        and len(rest) >= 3
        and not (group == "" and len(rest) == 3 and rest[2] in _SELF_NAMED)
    ):
        namespace, rest = rest[1], rest[2:]
    served = registry.find(group, version, rest[0])
    if served is None or len(rest) > 3:
        raise NoSuchPath
    if namespace and not served.namespaced:
        raise NoSuchPath
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if subresource and served.subresource(subresource) is None:
        raise NoSuchPath
    if name and served.namespaced and not namespace:
        raise NoSuchPath
    return Route(served, namespace, name, subresource)


def verb_of(method: str, target: Route, *, watch: bool) -> str:
    """The verb of a request.

    Raises:  StatusError (405) for a method that the target does not take.
    """
    served, named = target.served, bool(target.name)
    match method:
        case "GET" | "HEAD":
            verb = "get" if named else ("watch" if watch else "list")
        case "POST":
            verb = "create"
        case "PUT":
            verb = "update"
        case "PATCH":
            verb = "patch"
        case "DELETE":
            verb = "delete" if named else "deletecollection"
        case _:
            raise method_not_allowed()
    if target.subresource:
        sub = served.subresource(target.subresource)
        if sub is None or verb not in sub.verbs:
            raise _unknown_verb(served, verb)
        return verb
    if verb not in served.verbs:
        raise _unknown_verb(served, verb)
    return _check_name(verb, target)


def _unknown_verb(served: ResourceInfo, verb: str) -> StatusError:
    if served.custom:
        return verb_not_supported(verb, served.plural, served.group)
    return method_not_allowed()


def _check_name(verb: str, target: Route) -> str:
    """Collections and objects take different verbs; custom resources word it their own way."""
    custom = target.served.custom
    if verb in {"update", "patch"} and not target.name:
        raise _unnamed() if custom else method_not_allowed()
    if verb == "create" and target.name and not custom:
        raise method_not_allowed()
    if verb == "create" and target.served.namespaced and not target.namespace:
        raise _unnamed_namespace() if custom else method_not_allowed()
    return verb


def _unnamed() -> StatusError:
    return bad_request("name must be provided")


def _unnamed_namespace() -> StatusError:
    return bad_request("an empty namespace may not be set during creation")
