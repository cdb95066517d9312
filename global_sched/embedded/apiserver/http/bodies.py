"""Request bodies to objects: JSON, YAML or protobuf in; limits and strictness checked."""

import json
from typing import Any, Final

import msgspec
import yaml

from global_sched.embedded.apiserver.codec.protobuf import MAGIC, ProtobufError, decode_object
from global_sched.embedded.apiserver.status_error import StatusError, bad_request, unsupported_media
from global_sched.embedded.apiserver.storage.store import decode

Json = Any
Obj = dict[str, Any]

BODY_LIMIT: Final = 3 * 1024 * 1024
ACCEPTED: Final = (
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
)


class _Loader(yaml.SafeLoader):
    """YAML whose scalars are those of JSON: no dates, no yes and no."""


_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool"}
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool",
    __import__("re").compile(r"^(?:true|True|TRUE|false|False|FALSE)$"),
    list("tTfF"),
)


def too_large() -> StatusError:
    """413: the body is over the limit."""
    return StatusError(
        413,
        "RequestEntityTooLarge",
        f"Request entity too large: limit is {BODY_LIMIT}",
    )


def parse_json(body: bytes) -> Json:
    """JSON, with the depth that the decoder can hold.

    Raises:  StatusError (400) for anything else.
    """
    try:
        return decode(body)
    except RecursionError as error:
        raise bad_request("error decoding request body: exceeded max depth") from error
    except msgspec.DecodeError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from error


_GO_NAMES: Final = {str: "string", bool: "bool", int: "number", float: "number", list: "array"}


def parse_patch(body: bytes) -> Json:
    """The JSON of a patch.

    Raises:  StatusError (400) for anything else.
    """
    try:
        return decode(body)
    except RecursionError as error:
        raise bad_request("error decoding patch: exceeded max depth") from error
    except msgspec.DecodeError as error:
        cut_off = "truncated" in str(error)
        why = "unexpected end of JSON input" if cut_off else str(error)
        raise bad_request(f"error decoding patch: {why}") from error


def no_patch_object(patch: Json) -> StatusError:
    """400: a merge patch is an object, and this one is not."""
    found = _GO_NAMES.get(type(patch), "object")
    return bad_request(
        f"error decoding patch: json: cannot unmarshal {found} into Go value of type"
        " map[string]interface {}"
    )


def parse_yaml(body: bytes) -> Json:
    """YAML (or JSON, which most clients send as YAML).

    Raises:  StatusError (400) for anything else.
    """
    if body.lstrip()[:1] == b"{":
        return parse_json(body)
    try:
        return yaml.load(body, Loader=_Loader)  # noqa: S506 - a SafeLoader with fewer types
    except (yaml.YAMLError, RecursionError) as error:
        raise bad_request(f"error decoding YAML: {error}") from error


def media_type(content_type: str) -> str:
    """The type without its parameters."""
    return content_type.partition(";")[0].strip().lower()


def parse_object(body: bytes, content_type: str) -> Obj:
    """The object in a create or update request.

    Raises:  StatusError (400 or 415).
    """
    kind = media_type(content_type)
    if kind in {"application/json", ""}:
        value = parse_json(body)
    elif kind == "application/yaml":
        value = parse_yaml(body)
    elif kind == "application/vnd.kubernetes.protobuf" and body.startswith(MAGIC):
        try:
            value = decode_object(body)
        except ProtobufError as error:
            raise bad_request(f"error decoding protobuf: {error}") from error
    else:
        raise unsupported_media(ACCEPTED)
    if not isinstance(value, dict):
        raise bad_request(
            "couldn't get version/kind; json parse error: json: cannot unmarshal"
            " into Go value of type struct"
        )
    return value


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of keys that a JSON body gives twice."""
    found: list[str] = []

    def pairs(items: list[tuple[str, Json]]) -> dict[str, Json]:
        seen: dict[str, Json] = {}
        for key, value in items:
            if key in seen:
                found.append(key)
            seen[key] = value
        return seen

    try:
        json.loads(body, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return []
    return found
