"""CustomResourceDefinitions: defaults, what is fixed, and whether they can be served."""

import re
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.strategy.strategy import Strategy
from global_sched.embedded.apiserver.validation.cel_validation import rule_problems
from global_sched.embedded.apiserver.validation.jsonpath import PathError, parse_path
from global_sched.embedded.apiserver.validation.metadata import label_problems

Obj = dict[str, Any]

_IMMUTABLE: Final = "field is immutable"


def _definition_defaults(obj: Obj) -> None:
    spec = obj["spec"]
    names = spec.get("names") or {}
    kind = names.get("kind") or ""
    if not names.get("singular"):
        names["singular"] = kind.lower()
    if not names.get("listKind") and kind:
        names["listKind"] = kind + "List"
    spec.setdefault("conversion", {"strategy": "None"})
    status = obj["status"]
    if not status.get("storedVersions"):
        status["storedVersions"] = [
            version["name"] for version in spec.get("versions") or () if version.get("storage")
        ]


def _definition_prepare(_backend: Backend, obj: Obj) -> None:
    stored = [v["name"] for v in obj["spec"].get("versions") or () if v.get("storage")]
    obj["status"] = {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": stored,
    }


def _definition_update(_backend: Backend, obj: Obj, old: Obj) -> None:
    status = dict(old.get("status") or {})
    stored = list(status.get("storedVersions") or [])
    for version in obj["spec"].get("versions") or ():
        if version.get("storage") and version["name"] not in stored:
            stored.append(version["name"])
    if stored != status.get("storedVersions"):
        obj["status"] = {**status, "storedVersions": stored}


def _definition_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    spec, name = obj["spec"], obj["metadata"].get("name") or ""
    names = spec.get("names") or {}
    wanted = f"{names.get('plural', '')}.{spec.get('group', '')}"
    if name and name != wanted:
        why = 'must be spec.names.plural+"."+spec.group'
        found.append(field_errors.invalid("metadata.name", name, why))
    found += [
        field_errors.required(f"spec.names.{key}")
        for key in ("plural", "kind", "singular", "listKind")
        if not names.get(key)
    ]
    if names.get("plural"):
        found += [
            field_errors.invalid("spec.names.plural", names["plural"], why)
            for why in label_problems(names["plural"])
        ]
    if not spec.get("group"):
        found.append(field_errors.required("spec.group"))
    if spec.get("scope") not in {"Cluster", "Namespaced"}:
        known = ["Cluster", "Namespaced"]
        found.append(field_errors.not_supported("spec.scope", spec.get("scope") or "", known))
    versions = spec.get("versions") or []
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        found.append(field_errors.invalid("spec.versions", versions, why))
    for index, version in enumerate(versions):
        found += _version_causes(version, f"spec.versions[{index}]")
    return found


def _version_causes(version: Obj, field: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    where = f"{field}.schema.openAPIV3Schema"
    if schema is None:
        return [field_errors.required(where, "schemas are required")]
    if schema.get("type") != "object":
        if not schema.get("type"):
            found.append(field_errors.required(f"{where}.type", "must not be empty at the root"))
        else:
            why = "must be object at the root"
            found.append(field_errors.invalid(f"{where}.type", schema["type"], why))
    found += _structural_causes(schema, where, top=True)
    found += rule_problems(schema, where)
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        found += _path_causes(
            column.get("jsonPath"), f"{field}.additionalPrinterColumns[{index}].jsonPath"
        )
    return found


def _path_causes(path: Any, field: str) -> list[StatusCause]:
    if not path:
        return [field_errors.required(field)]
    try:
        parse_path(path)
    except PathError as error:
        return [field_errors.invalid(field, path, str(error))]
    return []


def _structural_causes(schema: Obj, field: str, *, top: bool = False) -> list[StatusCause]:
    """Types are given at every node, and patterns can be compiled."""
    found: list[StatusCause] = []
    loose = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if not schema.get("type") and not loose and not top:
        why = "must not be empty for specified object fields"
        found.append(field_errors.required(f"{field}.type", why))
    pattern = schema.get("pattern")
    if pattern:
        try:
            re.compile(pattern.replace("\\z", "\\Z"))
        except re.error as error:
            why = f"must be a valid regular expression, but isn't: {error}"
            found.append(field_errors.invalid(f"{field}.pattern", pattern, why))
    for key, part in (schema.get("properties") or {}).items():
        if top and key in {"apiVersion", "kind", "metadata"}:
            continue
        found += _structural_causes(part, f"{field}.properties[{key}]")
    if isinstance(schema.get("items"), dict):
        found += _structural_causes(schema["items"], f"{field}.items")
    elif schema.get("type") == "array":
        found.append(field_errors.required(f"{field}.items", "must be specified"))
    if isinstance(schema.get("additionalProperties"), dict):
        if schema.get("properties"):
            why = "must not be used if properties are specified"
            found.append(field_errors.forbidden(f"{field}.additionalProperties", why))
        extra = schema["additionalProperties"]
        found += _structural_causes(extra, f"{field}.additionalProperties")
    return found


def _definition_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    found = [
        field_errors.invalid(f"spec.{key}", obj["spec"].get(key), _IMMUTABLE)
        for key in ("group", "scope")
        if obj["spec"].get(key) != old["spec"].get(key)
    ]
    for key in ("plural", "kind"):
        now, before = obj["spec"]["names"].get(key), old["spec"]["names"].get(key)
        if now != before:
            found.append(field_errors.invalid(f"spec.names.{key}", now, _IMMUTABLE))
    return found


DEFINITION_RULES: Final = {
    "customresourcedefinitions.apiextensions.k8s.io": Strategy(
        defaults=_definition_defaults,
        prepare=_definition_prepare,
        prepare_update=_definition_update,
        validate=_definition_causes,
        validate_update=_definition_fixed,
        unconditional=False,
    ),
}
