"""JSON patch (RFC 6902) and merge patch (RFC 7396), applied to an object that the caller owns."""

from typing import Any

Json = Any


class PatchError(ValueError):
    """The patch cannot be applied; the message says which operation and why."""


def _tokens(pointer: object) -> list[str]:
    if not isinstance(pointer, str):
        raise PatchError("a patch operation needs a path")
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise PatchError(f"the path {pointer!r} does not start with /")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def _index(token: str, size: int) -> int:
    if not (token.isascii() and token.isdigit()) or (len(token) > 1 and token[0] == "0"):
        raise PatchError(f"{token!r} is not an index of a list")
    index = int(token)
    if index >= size:
        raise PatchError(f"index {index} is out of bounds: the list has {size} items")
    return index


def _step(node: Json, token: str, pointer: str) -> Json:
    if isinstance(node, dict):
        if token not in node:
            raise PatchError(f"the path {pointer} does not exist")
        return node[token]
    if isinstance(node, list):
        return node[_index(token, len(node))]
    raise PatchError(f"the path {pointer} does not exist")


def _parent(doc: Json, tokens: list[str], pointer: str) -> Json:
    node = doc
    for token in tokens[:-1]:
        node = _step(node, token, pointer)
    return node


def _get(doc: Json, pointer: str) -> Json:
    node = doc
    for token in _tokens(pointer):
        node = _step(node, token, pointer)
    return node


def _add(doc: Json, pointer: str, value: Json) -> Json:
    tokens = _tokens(pointer)
    if not tokens:
        return value
    parent = _parent(doc, tokens, pointer)
    last = tokens[-1]
    if isinstance(parent, dict):
        parent[last] = value
    elif isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _index(last, len(parent) + 1), value)
    else:
        raise PatchError(f"the path {pointer} does not exist")
    return doc


def _remove(doc: Json, pointer: str) -> Json:
    tokens = _tokens(pointer)
    if not tokens:
        raise PatchError("the whole document cannot be removed")
    parent = _parent(doc, tokens, pointer)
    last = tokens[-1]
    if isinstance(parent, dict):
        if last not in parent:
            raise PatchError(f"the path {pointer} does not exist")
        del parent[last]
    elif isinstance(parent, list):
        del parent[_index(last, len(parent))]
    else:
        raise PatchError(f"the path {pointer} does not exist")
    return doc


def copied(value: Json) -> Json:
    """A copy that shares no container with the original."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def equal(one: Json, two: Json) -> bool:
    """JSON equality: true is not 1, 1 is 1.0."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(equal(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(equal, one, two))
    return bool(one == two)


def _value(operation: dict[str, Json]) -> Json:
    if "value" not in operation:
        raise PatchError(f"the operation {operation.get('op')!r} needs a value")
    return copied(operation["value"])


def _replace(doc: Json, pointer: str, value: Json) -> Json:
    tokens = _tokens(pointer)
    if not tokens:
        return value
    parent = _parent(doc, tokens, pointer)
    _step(parent, tokens[-1], pointer)
    if isinstance(parent, dict):
        parent[tokens[-1]] = value
    else:
        parent[_index(tokens[-1], len(parent))] = value
    return doc


def _move(doc: Json, source: str, target: str) -> Json:
    if target.startswith(source + "/"):
        raise PatchError(f"{source} cannot move into its own child {target}")
    value = _get(doc, source)
    if source == target:
        return doc
    return _add(_remove(doc, source), target, value)


def _apply_one(doc: Json, operation: dict[str, Json]) -> Json:
    path = operation.get("path")
    _tokens(path)
    pointer = str(path)
    match operation.get("op"):
        case "add":
            return _add(doc, pointer, _value(operation))
        case "remove":
            return _remove(doc, pointer)
        case "replace":
            return _replace(doc, pointer, _value(operation))
        case "move":
            _tokens(operation.get("from"))
            return _move(doc, str(operation["from"]), pointer)
        case "copy":
            _tokens(operation.get("from"))
            return _add(doc, pointer, copied(_get(doc, str(operation["from"]))))
        case "test":
            if not equal(_get(doc, pointer), _value(operation)):
                raise PatchError(f"testing value {pointer} failed")
            return doc
        case other:
            raise PatchError(f"Unexpected kind: {other}")


def json_patch(doc: Json, operations: Json) -> Json:
    """The document after all operations; the given one may be changed in place.

    Raises:  PatchError at the first operation that cannot be applied.
    """
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    for operation in operations:
        if not isinstance(operation, dict):
            raise PatchError("an operation of a JSON patch is an object")
        doc = _apply_one(doc, operation)
    return doc


def merge_patch(target: Json, patch: Json) -> Json:
    """The target after the patch; the target stays as it is, and shares what did not change."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = merge_patch(out.get(key), value)
        else:
            out[key] = value
    return out
