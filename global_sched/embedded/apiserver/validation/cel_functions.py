"""CEL functions of Kubernetes: on strings, lists and quantities; escaped field names."""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from global_sched.embedded.apiserver.codec.quantity import QuantityError, value_of
from global_sched.embedded.apiserver.validation.schemas import Schema

Json = Any

_RESERVED: Final = frozenset(
    {
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    }
)
_ESCAPES: Final = (
    ("__", "__underscores__"),
    (".", "__dot__"),
    ("-", "__dash__"),
    ("/", "__slash__"),
)
_DURATION: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_SECONDS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


def escaped(name: str) -> str:
    """A field's name as rules write it: `a-b` is `a__dash__b`, `namespace` is `__namespace__`."""
    if name in _RESERVED:
        return f"__{name}__"
    for mark, word in _ESCAPES:
        name = name.replace(mark, word)
    return name


def to_cel(schema: Schema | None, value: Json) -> Json:
    """A JSON value as rules see it: escaped names, doubles and durations by the schema."""
    if isinstance(value, dict):
        properties = schema.properties if schema is not None else {}
        out = {}
        for key, part in value.items():
            child = schema.child(key) if schema is not None else None
            named = escaped(key) if key in properties else key
            out[named] = to_cel(child, part)
        return out
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return [to_cel(items, part) for part in value]
    if schema is None:
        return value
    if schema.type == "number" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if schema.raw.get("format") == "duration" and isinstance(value, str):
        return _duration(value)
    return value


def _duration(text: str) -> timedelta:
    sign = -1 if text.startswith("-") else 1
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in _DURATION.findall(text))
    return timedelta(seconds=sign * seconds)


def _index_of(text: str, part: str, start: int = 0) -> int:
    return text.find(part, start)


def _last_index_of(text: str, part: str) -> int:
    return text.rfind(part)


def _split(text: str, mark: str, most: int = -1) -> list[str]:
    if not mark:
        return list(text)
    if most == 0:
        return []
    return text.split(mark, most - 1 if most > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if start < 0 or start > len(text) or (end is not None and not start <= end <= len(text)):
        raise ValueError("index out of range")
    return text[start:end]


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    return text.replace(old, new, most)


def _find(text: str, pattern: str) -> str:
    match = re.search(pattern, text)
    return match.group(0) if match else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [match.group(0) for match in re.finditer(pattern, text)]
    return found if most < 0 else found[:most]


def _is_sorted(items: list[Json]) -> bool:
    return all(items[i] <= items[i + 1] for i in range(len(items) - 1))


def _quantity(text: str) -> dict[str, float]:
    try:
        return {"quantity": float(value_of(text))}
    except QuantityError as error:
        raise ValueError(str(error)) from error


def _is_quantity(text: str) -> bool:
    try:
        value_of(text)
    except QuantityError:
        return False
    return True


def _amount(value: Json) -> float:
    return float(value["quantity"]) if isinstance(value, dict) else float(value)


def _compare_to(one: Json, two: Json) -> int:
    left, right = _amount(one), _amount(two)
    return (left > right) - (left < right)


FUNCTIONS: Final[Mapping[str, Callable[..., Json]]] = {
    "charAt": lambda text, index: text[index],
    "indexOf": _index_of,
    "lastIndexOf": _last_index_of,
    "lowerAscii": lambda text: text.lower(),
    "upperAscii": lambda text: text.upper(),
    "trim": lambda text: text.strip(),
    "split": _split,
    "join": lambda items, mark="": mark.join(items),
    "replace": _replace,
    "substring": _substring,
    "find": _find,
    "findAll": _find_all,
    "isSorted": _is_sorted,
    "sum": sum,
    "quantity": _quantity,
    "isQuantity": _is_quantity,
    "compareTo": _compare_to,
    "isGreaterThan": lambda one, two: _compare_to(one, two) > 0,
    "isLessThan": lambda one, two: _compare_to(one, two) < 0,
    "asInteger": lambda value: int(_amount(value)),
    "asApproximateFloat": _amount,
    "sign": lambda value: _compare_to(value, 0),
    "isInteger": lambda value: _amount(value).is_integer(),
}
