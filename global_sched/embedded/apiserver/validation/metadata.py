"""Rules of `metadata`: names, labels, annotations, owners, finalizers."""

import re
from collections.abc import Callable
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.status_error import StatusCause

Obj = dict[str, Any]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
ANNOTATIONS_LIMIT: Final = 256 * 1024

LABEL_WHY: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex"
    " used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_WHY: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used"
    " for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL_1035_WHY: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or"
    " 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_WHY: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end"
    " with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
    " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_TWO_SLASHES_WHY: Final = (
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used"
    " for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain"
    " prefix and '/' (e.g. 'example.com/MyName')"
)
LABEL_VALUE_WHY: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or"
    " 'my_value',  or '12345', regex used for validation is"
    " '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

_NAMES_1123_LABEL: Final = frozenset({"namespaces"})
_NAMES_1035_LABEL: Final = frozenset({"services"})
_PATH_SEGMENTS: Final = frozenset(
    {
        "roles.rbac.authorization.k8s.io",
        "clusterroles.rbac.authorization.k8s.io",
        "rolebindings.rbac.authorization.k8s.io",
        "clusterrolebindings.rbac.authorization.k8s.io",
    }
)


def label_problems(text: str) -> list[str]:
    """Why a text is no RFC 1123 label."""
    found = []
    if len(text) > 63:
        found.append("must be no more than 63 bytes")
    if not _LABEL.fullmatch(text):
        found.append(LABEL_WHY)
    return found


def subdomain_problems(text: str) -> list[str]:
    """Why a text is no RFC 1123 subdomain."""
    found = []
    if len(text) > 253:
        found.append("must be no more than 253 bytes")
    if not _SUBDOMAIN.fullmatch(text):
        found.append(SUBDOMAIN_WHY)
    return found


def _label_1035_problems(text: str) -> list[str]:
    found = []
    if len(text) > 63:
        found.append("must be no more than 63 bytes")
    if not _LABEL_1035.fullmatch(text):
        found.append(LABEL_1035_WHY)
    return found


def _path_problems(text: str) -> list[str]:
    if text in {".", ".."}:
        return [f"may not be '{text}'"]
    return [f"may not contain '{mark}'" for mark in "/%" if mark in text]


def name_problems(collection: str, name: str) -> list[str]:
    """Why an object of that collection may not have the name."""
    if collection in _NAMES_1123_LABEL:
        return label_problems(name)
    if collection in _NAMES_1035_LABEL:
        return _label_1035_problems(name)
    if collection in _PATH_SEGMENTS:
        return _path_problems(name)
    return subdomain_problems(name)


def qualified_problems(text: str) -> list[str]:
    """Why a text is no qualified name (`prefix/name`)."""
    prefix, slash, name = text.rpartition("/")
    found = []
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {why}" for why in subdomain_problems(prefix)]
    if "/" in prefix:
        return [_TWO_SLASHES_WHY]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 bytes")
    if not _QUALIFIED.fullmatch(name):
        found.append(_QUALIFIED_WHY)
    return found


def label_causes(labels: Any, field: str) -> list[StatusCause]:
    """What is wrong with a map of labels."""
    found: list[StatusCause] = []
    for key in sorted(labels or {}):
        found += [field_errors.invalid(field, key, why) for why in qualified_problems(key)]
        value = labels[key]
        if not isinstance(value, str):
            continue
        if len(value) > 63:
            found.append(field_errors.invalid(field, value, "must be no more than 63 bytes"))
        if not _LABEL_VALUE.fullmatch(value):
            found.append(field_errors.invalid(field, value, LABEL_VALUE_WHY))
    return found


def _annotation_causes(annotations: Any) -> list[StatusCause]:
    found: list[StatusCause] = []
    size = 0
    for key, value in (annotations or {}).items():
        size += len(key.encode()) + len(str(value).encode())
        found += [
            field_errors.invalid("metadata.annotations", key, why)
            for why in qualified_problems(key.lower())
        ]
    if size > ANNOTATIONS_LIMIT:
        found.append(field_errors.too_long("metadata.annotations", ANNOTATIONS_LIMIT))
    return found


def _owner_causes(owners: Any) -> list[StatusCause]:
    found: list[StatusCause] = []
    controllers = []
    for index, owner in enumerate(owners or ()):
        where = f"metadata.ownerReferences[{index}]"
        if not owner.get("apiVersion"):
            found.append(
                field_errors.invalid(f"{where}.apiVersion", "", "version must not be empty")
            )
        found += [
            field_errors.invalid(f"{where}.{key}", "", "must not be empty")
            for key in ("kind", "name", "uid")
            if not owner.get(key)
        ]
        if owner.get("controller"):
            controllers.append(owner.get("name"))
    if len(controllers) > 1:
        why = (
            'Only one reference can have Controller set to true. Found "true" in references for'
            f" {controllers[0]} and {controllers[1]}"
        )
        found.append(field_errors.invalid("metadata.ownerReferences", owners, why))
    return found


def _finalizer_causes(finalizers: Any) -> list[StatusCause]:
    found: list[StatusCause] = []
    for name in finalizers or ():
        found += [
            field_errors.invalid("metadata.finalizers", name, why)
            for why in qualified_problems(name)
        ]
    return found


def plain_finalizer_causes(finalizers: Any) -> list[StatusCause]:
    """Finalizers of built-in kinds have a domain, or are standard ones."""
    why = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        field_errors.invalid(f"metadata.finalizers[{index}]", name, why)
        for index, name in enumerate(finalizers or ())
        if "/" not in name and name not in {"foregroundDeletion", "orphan", "kubernetes"}
    ]


def _new_finalizer_causes(meta: Obj, old: Obj) -> list[StatusCause]:
    """What is being deleted takes no new finalizers."""
    held = old.get("finalizers") or ()
    new = sorted(name for name in meta.get("finalizers") or () if name not in held)
    if not new:
        return []
    listed = ", ".join(field_errors.spell(name) for name in new)
    why = (
        "no new finalizers can be added if the object is being deleted, found new finalizers"
        f" []string{{{listed}}}"
    )
    return [field_errors.forbidden("metadata.finalizers", why)]


def meta_causes(collection: str, meta: Obj, old: Obj | None = None) -> list[StatusCause]:
    """What is wrong with an object's metadata."""
    found: list[StatusCause] = []
    name = meta.get("name") or ""
    if not name:
        found.append(field_errors.required("metadata.name", "name or generateName is required"))
    elif old is None:
        found += [
            field_errors.invalid("metadata.name", name, why)
            for why in name_problems(collection, name)
        ]
    before = old or {}
    if "deletionTimestamp" in before:
        found += _new_finalizer_causes(meta, before)
    for key, check in _CHECKS:
        value = meta.get(key)
        if value and value != before.get(key):
            found += check(value)
    return found


_CHECKS: Final[tuple[tuple[str, Callable[[Any], list[StatusCause]]], ...]] = (
    ("labels", lambda value: label_causes(value, "metadata.labels")),
    ("annotations", _annotation_causes),
    ("ownerReferences", _owner_causes),
    ("finalizers", _finalizer_causes),
)
