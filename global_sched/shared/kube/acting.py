"""Acting as another user: `as` in a kubeconfig or `--as`, as headers of each request.

The API server judges such a request by the rights of the named user, if the one who asks may
impersonate it. Sent without these headers it would be judged by the rights of the credentials,
which are often those of an administrator.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

Headers = tuple[tuple[str, str], ...]

_TOKEN: Final = "!#$&'*+-.^_`|~"  # noqa: S105 - what a header's name may hold besides letters
_NONE: Final[tuple[object, ...]] = (None, "", [], {})


def impersonation(user: Mapping[str, Any]) -> Headers:
    """The headers that a user entry of a kubeconfig asks for; none when it acts as itself.

    Raises:  ValueError or TypeError naming the field that cannot be used.
    """
    found = tuple(_headers(user))
    if found and found[0][0] != "Impersonate-User":
        raise ValueError(
            "as-uid, as-groups and as-user-extra need `as`, the name of the user to act as"
        )
    return found


def _headers(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(field) not in _NONE:
            yield header, _text(field, user[field])
    for group in _list("as-groups", user.get("as-groups")):
        yield "Impersonate-Group", group
    extra = user.get("as-user-extra")
    if extra in _NONE:
        return
    if not isinstance(extra, Mapping):
        raise TypeError(f"as-user-extra: expected lists of texts by key, not {extra!r}")
    for key, values in extra.items():
        name = quote(_text("as-user-extra", key), safe=_TOKEN)
        for value in _list(f"as-user-extra.{key}", values):
            yield f"Impersonate-Extra-{name}", value


def _list(field: str, values: Any) -> list[str]:
    if values in _NONE:
        return []
    if not isinstance(values, list):
        raise TypeError(f"{field}: expected a list of texts, not {values!r}")
    return [_text(field, value) for value in values]


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{field}: expected text without control characters, not {value!r}")
    return value
