"""Acting as another user (`kubectl --as`), for a sender that has the right to."""

from functools import partial
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from global_sched.embedded.apiserver import status_error
from global_sched.embedded.apiserver.auth.rbac import Attributes, Rbac, denial
from global_sched.embedded.apiserver.http.identity import AUTHENTICATED, User, service_account
from global_sched.embedded.apiserver.status_error import StatusError

_USER: Final = "Impersonate-User"
_GROUP: Final = "Impersonate-Group"
_UID: Final = "Impersonate-Uid"
_EXTRA: Final = "impersonate-extra-"
_ACCOUNT: Final = "system:serviceaccount:"
_Wanted = partial(Attributes, verb="impersonate")
_WantedOfIdentity = partial(_Wanted, group="authentication.k8s.io")


def acting_user(user: User, headers: CIMultiDictProxy[str], rbac: Rbac) -> User:
    """Who a request counts for: its sender, or whom the sender says to act as.

    Raises:  StatusError (403) when the sender may not act as that user, or not with that group, UID
             or extra value.
    """
    name, groups = headers.get(_USER, ""), tuple(headers.getall(_GROUP, ()))
    uid, extra = headers.get(_UID, ""), _extra(headers)
    if not (name or groups or uid or extra):
        return user
    if not name:
        text = f"requested groups {list(groups)}, uid {uid!r}, extra {extra}"
        raise StatusError(
            500,
            "InternalError",
            f"Internal error occurred: {text} without impersonating a user",
        )
    own: tuple[str, ...] = ()
    if name.startswith(_ACCOUNT) and name.count(":") == 3:
        namespace, short = name.removeprefix(_ACCOUNT).split(":")
        wanted = [_Wanted(resource="serviceaccounts", name=short, namespace=namespace)]
        own = tuple(service_account(namespace, short).groups)
    else:
        wanted = [_Wanted(resource="users", name=name)]
    wanted += [_Wanted(resource="groups", name=group) for group in groups]
    wanted += [
        _WantedOfIdentity(resource="userextras", subresource=key, name=value)
        for key, values in extra.items()
        for value in values
    ]
    if uid:
        wanted.append(_WantedOfIdentity(resource="uids", name=uid))
    for one in wanted:
        if not rbac.allowed(user, one):
            raise status_error.forbidden(one.resource, one.group, one.name, denial(user, one))
    return User(
        name=name,
        groups=tuple(dict.fromkeys((*(groups or own), AUTHENTICATED))),
        uid=uid,
        extra=extra,
    )


def _extra(headers: CIMultiDictProxy[str]) -> dict[str, list[str]]:
    """Values by key: header names know no upper case, and spell other characters as `%2f`."""
    found: dict[str, list[str]] = {}
    for header, value in headers.items():
        if header.lower().startswith(_EXTRA):
            found.setdefault(unquote(header.lower().removeprefix(_EXTRA)), []).append(value)
    return found
