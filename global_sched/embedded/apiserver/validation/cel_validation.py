"""`x-kubernetes-validations`: CEL rules of a custom resource's schema.

Strategy run on the parts of an object that changed. A rule that names `oldSelf` runs only where an
old value can be recognised as the same part.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.patch.field_sets import item_key
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.validation.cel_functions import FUNCTIONS, to_cel
from global_sched.embedded.apiserver.validation.schemas import Schema, shape_of_schema
from global_sched.embedded.extra import needs_demo_extra

with needs_demo_extra():
    import cel

Json = Any
Obj = dict[str, Any]

_OPTIONAL: Final = re.compile(r"([A-Za-z_][\w.]*(?:\[[^\]]*\])?)((?:\.\?[A-Za-z_]\w*)+)")
_OLD: Final = re.compile(r"\boldSelf\b")


class RuleError(ValueError):
    """A rule cannot be compiled; the message says why."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program, and whether it looks at the old value."""

    program: cel.Program
    uses_old: bool


def _balanced(text: str, start: int) -> int:
    """The index after the parenthesis that closes the one at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    raise RuleError("a parenthesis is not closed")


def _without_optionals(rule: str) -> str:
    """The rule with `a.?b.orValue(c)` and `a.?b.hasValue()` written as conditions."""
    while True:
        match = _OPTIONAL.search(rule)
        if match is None:
            return rule
        base, fields = match.group(1), match.group(2).split(".?")[1:]
        paths = [".".join((base, *fields[: n + 1])) for n in range(len(fields))]
        there = " && ".join(f"has({path})" for path in paths)
        rest = rule[match.end() :]
        if rest.startswith(".orValue("):
            end = _balanced(rest, len(".orValue"))
            other = rest[len(".orValue(") : end - 1]
            new = f"(({there}) ? {paths[-1]} : ({other}))"
        elif rest.startswith(".hasValue()"):
            end, new = len(".hasValue()"), f"({there})"
        else:
            raise RuleError(f"the optional field {match.group(0)} needs .orValue() or .hasValue()")
        rule = rule[: match.start()] + new + rest[end:]


@lru_cache(maxsize=4096)
def compile_rule(rule: str) -> Compiled:
    """A rule as a program.

    Raises:  RuleError for a rule that is no CEL here.
    """
    text = _without_optionals(rule)
    try:
        program = cel.compile(text)
    except ValueError as error:
        raise RuleError(" ".join(str(error).split())) from error
    return Compiled(program, _OLD.search(rule) is not None)


def rule_problems(raw: Obj, field: str) -> Iterator[StatusCause]:
    """What is wrong with the rules in a schema, for the author of the definition."""
    for index, rule in enumerate(raw.get("x-kubernetes-validations") or ()):
        where = f"{field}.x-kubernetes-validations[{index}]"
        text = rule.get("rule") or ""
        if not text.strip():
            yield field_errors.required(f"{where}.rule", "rule is not specified")
            continue
        try:
            compile_rule(text)
        except RuleError as error:
            yield field_errors.invalid(f"{where}.rule", text, f"compilation failed: {error}")
    for key, part in (raw.get("properties") or {}).items():
        yield from rule_problems(part, f"{field}.properties[{key}]")
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            yield from rule_problems(raw[key], f"{field}.{key}")


def rule_causes(schema: Schema, new: Obj, old: Obj | None) -> list[StatusCause]:
    """What the rules refuse."""
    return list(_walk(schema, new, old, ""))


def _walk(schema: Schema, new: Json, old: Json, path: str) -> Iterator[StatusCause]:
    if not schema.ruled or (old is not None and (new is old or new == old)):
        return
    if schema.rules:
        yield from _run(schema, new, old, path)
    if isinstance(new, dict):
        before: Mapping[str, Json] = old if isinstance(old, dict) else {}
        for key, part in new.items():
            child = schema.child(key)
            if child is not None and part is not None:
                where = f"{path}.{key}" if key in schema.properties else f"{path}[{key}]"
                where = where if path else key
                yield from _walk(child, part, before.get(key), where)
    elif isinstance(new, list) and schema.items is not None:
        known = _keyed(schema, old)
        shape = shape_of_schema(schema) if known else None
        for index, part in enumerate(new):
            same = known.get(item_key(shape, part)) if shape is not None else None
            yield from _walk(schema.items, part, same, f"{path}[{index}]")


def _keyed(schema: Schema, old: Json) -> dict[str, Json]:
    """Old items by key, where a list's items have one."""
    if schema.raw.get("x-kubernetes-list-type") != "map" or not isinstance(old, list):
        return {}
    shape = shape_of_schema(schema)
    return {item_key(shape, item): item for item in old}


def _run(schema: Schema, new: Json, old: Json, path: str) -> Iterator[StatusCause]:
    context: cel.Context | None = None
    kind = schema.type
    for rule in schema.rules:
        where = path + rule.get("fieldPath", "") if path else rule.get("fieldPath", "")[1:]
        where = where or "<nil>"
        try:
            compiled = compile_rule(rule["rule"])
        except RuleError as error:
            yield field_errors.invalid(where, kind, f"rule compile error: {error}")
            continue
        if compiled.uses_old and old is None:
            continue
        if context is None:
            context = _context(schema, new, old)
        try:
            held = compiled.program.execute(context)
        except (TypeError, KeyError, ValueError, RuntimeError, IndexError) as error:
            why = f"{_reason(error)} evaluating rule: {_rule_text(rule)}"
            yield field_errors.invalid(where, kind, why)
            continue
        if held is not True:
            yield _refusal(rule, where, new, _detail(rule, context))


def _context(schema: Schema, new: Json, old: Json) -> cel.Context:
    context = cel.Context()
    context.add_variable("self", to_cel(schema, new))
    if old is not None:
        context.add_variable("oldSelf", to_cel(schema, old))
    for name, function in FUNCTIONS.items():
        context.add_function(name, function)
    return context


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"no such key: {error.args[0] if error.args else ''}"
    return str(error)


def _rule_text(rule: Obj) -> str:
    return str(rule.get("message") or rule["rule"]).strip()


def _detail(rule: Obj, context: cel.Context) -> str:
    """The message of a refused rule: computed, given, or the rule itself."""
    expression = rule.get("messageExpression")
    if expression:
        try:
            text = compile_rule(expression).program.execute(context)
        except (RuleError, TypeError, KeyError, ValueError, RuntimeError, IndexError):
            text = None
        if isinstance(text, str) and text.strip() and "\n" not in text.strip():
            return text.strip()
    if rule.get("message"):
        return str(rule["message"]).strip()
    return f"failed rule: {_rule_text(rule)}"


def _refusal(rule: Obj, where: str, value: Json, detail: str) -> StatusCause:
    match rule.get("reason"):
        case "FieldValueForbidden":
            return field_errors.forbidden(where, detail)
        case "FieldValueRequired":
            return field_errors.required(where, detail)
        case "FieldValueDuplicate":
            return field_errors.duplicate(where, value)
        case _:
            if isinstance(value, dict | list):
                return StatusCause("FieldValueInvalid", f"Invalid value: {detail}", where)
            return field_errors.invalid(where, value, detail)
