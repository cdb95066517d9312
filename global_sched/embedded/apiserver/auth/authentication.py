"""Users by bearer token: the static ones given at start, then service accounts' own."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from global_sched.embedded.apiserver.http.identity import (
    ADMIN,
    ANONYMOUS,
    AUTHENTICATED,
    User,
    service_account,
)
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.backend import Backend, key_of
from global_sched.embedded.apiserver.storage.store import DELETED, Collection, Event, Record
from global_sched.shared.model.instant import SECOND, Instant

SA_SECRET_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - the type, no secret


def unauthorized() -> StatusError:
    """401: the token has no user."""
    return StatusError(401, "Unauthorized", "Unauthorized")


class Authenticator:
    """Tokens to users; every client is an administrator while no tokens are configured."""

    def __init__(
        self, backend: Backend, tokens: Mapping[str, User] | None, *, anonymous: bool
    ) -> None:
        self.backend = backend
        self.open = tokens is None
        self.anonymous = anonymous
        self._static = {token: _authenticated(user) for token, user in (tokens or {}).items()}
        self._secrets: dict[str, tuple[str, User]] = {}
        self._issued: dict[str, tuple[User, str, Instant]] = {}
        backend.store.listeners.append(self._changed)

    def admin_token(self) -> str | None:
        """The token of an administrator, if any has one."""
        for token, user in self._static.items():
            if user.master:
                return token
        return None

    def user_of(self, header: str) -> User:
        """The user behind an Authorization header.

        Raises:  StatusError (401) for a token without a user.
        """
        if not header:
            if self.open:
                return ADMIN
            if not self.anonymous:
                raise unauthorized()
            return ANONYMOUS
        token = _token(header)
        if not token:
            if self.open:
                return ADMIN
            raise unauthorized()
        found = self.find(token)
        if found is not None:
            return found
        if self.open:
            return ADMIN
        raise unauthorized()

    def find(self, token: str) -> User | None:
        """The user of a token."""
        static = self._static.get(token)
        if static is not None:
            return static
        issued = self._issued.get(token)
        if issued is not None:
            user, account, until = issued
            if self.backend.now() < until and self._account_lives(account, user.uid):
                return user
            del self._issued[token]
            return None
        held = self._secrets.get(token)
        return held[1] if held is not None else None

    def _account_lives(self, key: str, uid: str) -> bool:
        record = self.backend.get("serviceaccounts", key)
        return record is not None and record.uid == uid

    def issue(self, namespace: str, name: str, uid: str, seconds: int) -> tuple[str, Instant]:
        """A fresh token for a service account, and when it expires."""
        token = f"sa.{self.backend.random.getrandbits(256):064x}"
        until = Instant(self.backend.now() + seconds * SECOND)
        self._issued[token] = (
            service_account(namespace, name, uid),
            key_of(namespace, name),
            until,
        )
        return token, until

    def _changed(self, collection: Collection, event: Event) -> None:
        """Follow the Secrets that hold service accounts' tokens."""
        if collection.name == "secrets":
            if event.prev is not None:
                self._forget(event.prev)
            if event.kind != DELETED:
                self.learn(event.record)

    def _forget(self, record: Record) -> None:
        for token in [t for t, (key, _) in self._secrets.items() if key == record.key]:
            del self._secrets[token]

    def learn(self, record: Record) -> None:
        """Accept the token in a Secret of a service account."""
        if record.fields.get("type") != SA_SECRET_TYPE:
            return
        obj: dict[str, Any] = record.load()
        name = (obj["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name")
        raw = (obj.get("data") or {}).get("token")
        if not name or not raw:
            return
        try:
            token = base64.b64decode(raw).decode()
        except (binascii.Error, ValueError):
            return
        account = self.backend.get("serviceaccounts", key_of(record.namespace, name))
        uid = account.uid if account is not None else ""
        self._secrets[token] = (record.key, service_account(record.namespace, name, uid))


def _token(header: str) -> str:
    """The token of an Authorization header; empty where it has another scheme."""
    scheme, _, value = header.partition(" ")
    return value.strip() if scheme.lower() == "bearer" else ""


def _authenticated(user: User) -> User:
    if AUTHENTICATED in user.groups:
        return user
    return User(
        name=user.name, groups=(*user.groups, AUTHENTICATED), uid=user.uid, extra=user.extra
    )
