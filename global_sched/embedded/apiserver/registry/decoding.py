"""A body to an object of the served kind: kind checked, unknown fields dropped, defaults in."""

from typing import Any

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.codec.normalizing import DecodeError, normalize
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.store import encode
from global_sched.embedded.apiserver.strategy.by_kind import rules_of
from global_sched.embedded.apiserver.validation.structural_schema import default, prune

Obj = dict[str, Any]


def _check_kind(call: RequestInfo, obj: Obj) -> None:
    served = call.served
    kind, version = obj.get("kind"), obj.get("apiVersion")
    if served.custom:
        if not kind:
            raise status_error.bad_request("Object 'Kind' is missing in the body of the request")
        if version and version != served.api_version:
            raise status_error.bad_request(
                f"the API version in the data ({version}) does not match the expected API version"
                f" ({served.api_version})"
            )
        if kind != served.kind:
            name = str((obj.get("metadata") or {}).get("name") or "")
            cause = field_errors.invalid("kind", kind, f"must be {served.kind}")
            raise status_error.invalid(str(kind), served.group, name, [cause])
        return
    if version and version != served.api_version:
        raise status_error.bad_request(
            f"the API version in the data ({version}) does not match the expected API version"
            f" ({served.api_version})"
        )
    if kind and kind != served.kind:
        raise status_error.bad_request(
            f'{kind} in version "{served.version}" cannot be handled as a {served.kind}:'
            f" the kind in the data ({kind}) does not match the expected kind ({served.kind})"
        )


def _unhandled(call: RequestInfo, body: Obj, why: str) -> StatusError:
    """The refusal of a body that does not fit; of a patched object it names the patch."""
    served = call.served
    if call.verb == "patch" and "apply" not in call.content_type:
        cause = field_errors.invalid("patch", encode(body).decode(), why)
        failure = status_error.invalid("", "", "", [cause])
        failure.details = {"causes": (failure.details or {})["causes"]}
        return failure
    return status_error.bad_request(
        f'{served.kind} in version "{served.version}" cannot be handled as a {served.kind}: {why}'
    )


def _report_unknown(call: RequestInfo, body: Obj, unknown: list[str]) -> None:
    if not unknown:
        return
    match call.field_validation:
        case "Strict":
            lines = ", ".join(f'unknown field "{path}"' for path in sorted(unknown))
            raise _unhandled(call, body, f"strict decoding error: {lines}")
        case "Warn":
            call.warnings += [f'unknown field "{path}"' for path in sorted(unknown)]
        case _:
            return


def decode_object(call: RequestInfo, body: Obj, *, old: Obj | None = None) -> Obj:
    """The object in a body.

    Raises:  StatusError for a wrong kind, a value that does not fit, or (Strict) an unknown field.
    """
    served = call.served
    _check_kind(call, body)
    meta = body.get("metadata")
    if meta is not None and not isinstance(meta, dict):
        raise _unhandled(call, body, "json: cannot unmarshal into Go struct field .metadata")
    try:
        obj, unknown = _custom(served, body, old) if served.custom else _builtin(served, body)
    except DecodeError as error:
        raise _unhandled(call, body, str(error)) from error
    _report_unknown(call, body, unknown)
    return obj


def _builtin(served: ResourceInfo, body: Obj) -> tuple[Obj, list[str]]:
    obj, unknown = normalize(served.struct, body)
    obj = {"kind": served.kind, "apiVersion": served.api_version, **obj}
    obj.setdefault("metadata", {})
    rules_of(served.collection).defaults(obj)
    return obj, unknown


def _custom(served: ResourceInfo, body: Obj, old: Obj | None = None) -> tuple[Obj, list[str]]:
    unknown: list[str] = []
    meta = body.get("metadata") or {}
    if old is None or meta is not old["metadata"]:
        meta, unknown = normalize("meta/v1.ObjectMeta", meta, "metadata")
    body["metadata"] = meta
    body["apiVersion"] = served.api_version
    assert served.schema is not None
    unknown += prune(served.schema, body, old=old)
    default(served.schema, body, old)
    return body, unknown


def defaulted(served: ResourceInfo, obj: Obj) -> Obj:
    """An object that was merged from parts, decoded once more (nothing is reported)."""
    return (_custom(served, obj) if served.custom else _builtin(served, obj))[0]


def check_applied(call: RequestInfo, config: Any) -> Obj:
    """An applied configuration: kind and metadata checked, unknown fields named; no defaults.

    Raises:  StatusError for a configuration that is none.
    """
    if not isinstance(config, dict):
        raise status_error.bad_request("error decoding YAML: an object is needed")
    served = call.served
    if not config.get("kind") or not config.get("apiVersion"):
        missing = "Kind" if not config.get("kind") else "apiVersion"
        raise status_error.bad_request(f"Object '{missing}' is missing in the configuration")
    _check_kind(call, config)
    meta = config.setdefault("metadata", {})
    if not isinstance(meta, dict):
        raise _unhandled(call, config, "json: cannot unmarshal into Go struct field .metadata")
    if meta.get("managedFields"):
        raise status_error.bad_request("metadata.managedFields must be nil")
    name, namespace = meta.get("name"), meta.get("namespace")
    if name and name != call.name:
        raise status_error.bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
    if namespace and served.namespaced and namespace != call.namespace:
        raise status_error.bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    if served.custom:
        assert served.schema is not None
        _refuse_undeclared(call, prune(served.schema, config))
        return config
    try:
        full, unknown = normalize(served.struct, config)
    except DecodeError as error:
        raise _unhandled(call, config, str(error)) from error
    _refuse_undeclared(call, unknown)
    return {"kind": served.kind, "apiVersion": served.api_version, **_named(full, config)}


def _refuse_undeclared(call: RequestInfo, unknown: list[str]) -> None:
    """An applied configuration names only what the schema has, at every level of validation."""
    if not unknown:
        return
    served = call.served
    group = f"{served.group}/" if served.group else "/"
    lines = [f".{path}: field not declared in schema" for path in sorted(unknown)]
    listed = lines[0] if len(lines) == 1 else "errors:\n  " + "\n  ".join(lines)
    raise StatusError(
        500,
        "",
        f"failed to create typed patch object ({call.namespace}/{call.name};"
        f" {group}{served.version}, Kind={served.kind}): {listed}",
    )


def _named(full: Any, given: Any) -> Any:
    """The normalized values of exactly what was given."""
    if isinstance(full, dict) and isinstance(given, dict):
        return {
            key: _named(value, given[key])
            for key, value in full.items()
            if given.get(key) is not None
        }
    if isinstance(full, list) and isinstance(given, list) and len(full) == len(given):
        return [_named(one, two) for one, two in zip(full, given, strict=True)]
    return full
