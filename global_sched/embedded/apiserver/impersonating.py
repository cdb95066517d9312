"""Acting as somebody else (`kubectl --as`), for whoever has the right to."""

from typing import Final

from multidict import CIMultiDictProxy

from global_sched.embedded.apiserver import failures
from global_sched.embedded.apiserver.failures import Failure
from global_sched.embedded.apiserver.identity import AUTHENTICATED, User, service_account
from global_sched.embedded.apiserver.rbac import Attributes, Rbac, denial

_USER: Final = "Impersonate-User"
_GROUP: Final = "Impersonate-Group"
_ACCOUNT: Final = "system:serviceaccount:"


def acting_user(user: User, headers: CIMultiDictProxy[str], rbac: Rbac) -> User:
    """Who a request counts for: its sender, or whom the sender says to act as.

    Raises:  Failure (403) when the sender may not act as that user or group.
    """
    name, groups = headers.get(_USER, ""), tuple(headers.getall(_GROUP, ()))
    if not name and not groups:
        return user
    if not name:
        text = f"requested groups {list(groups)} without impersonating a user"
        raise Failure(500, "InternalError", f"Internal error occurred: {text}")
    if name.startswith(_ACCOUNT) and name.count(":") == 3:
        namespace, short = name.removeprefix(_ACCOUNT).split(":")
        _check(user, rbac, "serviceaccounts", short, namespace)
        own = service_account(namespace, short).groups
    else:
        _check(user, rbac, "users", name)
        own = ()
    for group in groups:
        _check(user, rbac, "groups", group)
    return User(name=name, groups=tuple(dict.fromkeys((*(groups or own), AUTHENTICATED))))


def _check(user: User, rbac: Rbac, resource: str, name: str, namespace: str = "") -> None:
    wanted = Attributes(verb="impersonate", resource=resource, name=name, namespace=namespace)
    if not rbac.allowed(user, wanted):
        raise failures.forbidden(resource, "", name, denial(user, wanted))
