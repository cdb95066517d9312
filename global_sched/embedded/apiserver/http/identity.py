"""The user of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user or a service account, with its groups."""

    name: str
    groups: Sequence[str] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def master(self) -> bool:
        """Whether every request of this user is allowed."""
        return MASTERS in self.groups


ANONYMOUS = User(name="system:anonymous", groups=(UNAUTHENTICATED,))
ADMIN = User(name="system:admin", groups=(MASTERS, AUTHENTICATED))


def service_account(namespace: str, name: str, uid: str = "") -> User:
    """The user that a service account's token stands for."""
    return User(
        name=f"system:serviceaccount:{namespace}:{name}",
        groups=(
            "system:serviceaccounts",
            f"system:serviceaccounts:{namespace}",
            AUTHENTICATED,
        ),
        uid=uid,
    )
