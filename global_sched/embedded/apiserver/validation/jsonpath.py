"""JSONPath as printer columns, selectable fields and scale paths use it.

Fields, quoted keys, indices, slices, wildcards, recursive descent and simple filters.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver.field_errors import spell

Json = Any

_STEP: Final = re.compile(
    r"""\.\.(?P<deep>[\w\-/$]+|\*)
    |\.(?P<field>(?:\\.|[^.\[\]\\])+)
    |\[(?:'(?P<quoted>(?:\\'|[^'])*)'|"(?P<double>(?:\\"|[^"])*)")\]
    |\[(?P<index>-?\d+)\]
    |\[(?P<slice>-?\d*:-?\d*)\]
    |\[(?P<star>\*)\]
    |\[\?\(@(?P<left>[^=!<>()]*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<right>[^)]*))?\)\]""",
    re.VERBOSE,
)


class PathError(ValueError):
    """A text is no JSONPath that is known here."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a path."""

    kind: str
    text: str = ""
    operator: str = ""
    operand: Json = None
    inner: "tuple[Step, ...]" = ()


def parse_path(text: str) -> tuple[Step, ...]:
    """The steps of a path.

    Raises:  PathError at the first part that is not understood.
    """
    body = text.strip().removeprefix("{").removesuffix("}").removeprefix("$")
    if body and body[0] not in ".[":
        body = "." + body
    steps: list[Step] = []
    at = 0
    while at < len(body):
        if body[at:] == ".":
            break
        match = _STEP.match(body, at)
        if match is None:
            raise PathError(f"{text!r} is not a JSONPath at {body[at:]!r}")
        steps.append(_step(match))
        at = match.end()
    return tuple(steps)


def _step(match: re.Match[str]) -> Step:
    kind = match.lastgroup or ""
    groups = match.groupdict()
    if groups["field"] is not None:
        name = groups["field"].replace("\\", "")
        return Step("star") if name == "*" else Step("field", name)
    for quoted in ("quoted", "double"):
        if groups[quoted] is not None:
            return Step("field", groups[quoted].replace("\\", ""))
    if groups["left"] is not None:
        right = (groups["right"] or "").strip()
        operand: Json = right.strip("'\"")
        if right and right[0] not in "'\"":
            operand = _literal(right)
        return Step("filter", "", groups["op"] or "", operand, parse_path(groups["left"]))
    return Step(kind, groups[kind] or "")


def _literal(text: str) -> Json:
    if text in {"true", "false"}:
        return text == "true"
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def _deep(value: Json, name: str) -> list[Json]:
    found: list[Json] = []
    if isinstance(value, dict):
        if name == "*":
            found += value.values()
        elif name in value:
            found.append(value[name])
        for part in value.values():
            found += _deep(part, name)
    elif isinstance(value, list):
        for part in value:
            found += _deep(part, name)
    return found


def _holds(step: Step, item: Json) -> bool:
    left = find(step.inner, item)
    if not step.operator:
        return bool(left)
    if not left:
        return False
    one, two = left[0], step.operand
    if step.operator == "==":
        return bool(one == two)
    if step.operator == "!=":
        return bool(one != two)
    if isinstance(one, str) != isinstance(two, str):
        return False
    order = (one > two) - (one < two)
    holds: dict[str, bool] = {
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }
    return holds[step.operator]


def _apply(step: Step, value: Json) -> list[Json]:
    match step.kind:
        case "field":
            return [value[step.text]] if isinstance(value, dict) and step.text in value else []
        case "index":
            index = int(step.text)
            inside = isinstance(value, list) and -len(value) <= index < len(value)
            return [value[index]] if inside else []
        case "slice":
            low, high = (int(part) if part else None for part in step.text.split(":"))
            return value[low:high] if isinstance(value, list) else []
        case "star":
            if isinstance(value, dict):
                return list(value.values())
            return value if isinstance(value, list) else []
        case "deep":
            return _deep(value, step.text)
        case _:
            items = value if isinstance(value, list) else []
            return [item for item in items if _holds(step, item)]


def find(path: tuple[Step, ...], value: Json) -> list[Json]:
    """Every value at the path."""
    found = [value]
    for step in path:
        found = [inner for item in found for inner in _apply(step, item)]
    return found


def simple_text(path: tuple[Step, ...], value: Json) -> str:
    """The one scalar at a path as text; empty when it is absent."""
    found = find(path, value)
    if not found or found[0] is None:
        return ""
    first = found[0]
    return first if isinstance(first, str) else spell(first)
