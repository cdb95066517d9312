"""Label and field selectors: text to a predicate, with a real server's complaints."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from global_sched.embedded.apiserver.field_errors import spell
from global_sched.embedded.apiserver.status_error import StatusError, bad_request
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.apiserver.validation.metadata import LABEL_VALUE_WHY, qualified_problems
from global_sched.shared.model.label_selectors import Labels, json_selects
from global_sched.shared.model.pods import Operator, Requirement, matches

LabelTest = Callable[[Labels], bool]
RecordTest = Callable[[Record], bool]

_TOKEN: Final = re.compile(r"\s*(==|!=|[=!<>(),]|[^\s=!<>(),]+)")
_SIGNS: Final = frozenset({"==", "!=", "=", "!", "<", ">", "(", ")", ","})
_OPERATORS: Final = "in, notin, =, ==, !=, gt, lt"
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_OPERATOR: Final = {
    "=": Operator.IN,
    "==": Operator.IN,
    "!=": Operator.NOT_IN,
    "<": Operator.LT,
    ">": Operator.GT,
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
}


class SelectorError(ValueError):
    """A text is no label selector."""


class _Parser:
    """Requirements from tokens; an empty word is the end of the text."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = [*_TOKEN.findall(text), ""]
        self.at = 0

    def peek(self) -> str:
        return self.tokens[self.at]

    def take(self) -> str:
        word = self.tokens[self.at]
        self.at += word != ""
        return word

    def requirements(self) -> list[Requirement]:
        found: list[Requirement] = []
        while True:
            word = self.peek()
            if word == "":
                return found
            if word in _SIGNS and word != "!":
                raise SelectorError(f"found '{word}', expected: !, identifier, or 'end of string'")
            try:
                found.append(self.requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            word = self.take()
            if word == "":
                return found
            if word != ",":
                raise SelectorError(f"found '{word}', expected: ',' or 'end of string'")
            after = self.peek()
            if after == "" or (after in _SIGNS and after != "!"):
                raise SelectorError(f"found '{after}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        word = self.take()
        absent = word == "!"
        if absent:
            word = self.take()
        if word == "" or word in _SIGNS:
            raise SelectorError(f"found '{word}', expected: identifier")
        key = word
        problems = qualified_problems(key)
        if problems:
            raise SelectorError(f"<nil>: Invalid value: {spell(key)}: {'; '.join(problems)}")
        if self.peek() in {"", ","}:
            return Requirement(key, Operator.DOES_NOT_EXIST if absent else Operator.EXISTS)
        operator = self.take()
        if operator not in _OPERATOR:
            raise SelectorError(f"found '{operator}', expected: {_OPERATORS}")
        if operator in {"in", "notin"}:
            return Requirement(key, _OPERATOR[operator], tuple(sorted(self.values(key))))
        return _compared(key, operator, self.value(key))

    def value(self, key: str) -> str:
        if self.peek() in {"", ","}:
            return ""
        word = self.take()
        if word in _SIGNS:
            raise SelectorError(f"found '{word}', expected: identifier")
        return _checked(key, word)

    def values(self, key: str) -> frozenset[str]:
        word = self.take()
        if word != "(":
            raise SelectorError(f"found '{word}' expected: '('")
        found: set[str] = set()
        last = ","
        while True:
            word = self.take()
            if word == ")":
                if last == ",":
                    found.add("")
                return frozenset(found)
            if word == ",":
                if last == ",":
                    found.add("")
            elif word == "" or word in _SIGNS:
                raise SelectorError(f"found '{word}', expected: ',', or identifier")
            elif last != ",":
                raise SelectorError(f"found '{word}', expected: ',' or ')'")
            else:
                found.add(_checked(key, word))
            last = word


def _checked(key: str, value: str) -> str:
    why = "must be no more than 63 bytes" if len(value) > 63 else LABEL_VALUE_WHY
    if len(value) > 63 or not _LABEL_VALUE.fullmatch(value):
        raise SelectorError(f"values[0][{key}]: Invalid value: {spell(value)}: {why}")
    return value


def _compared(key: str, operator: str, value: str) -> Requirement:
    if operator in {"<", ">"}:
        try:
            int(value)
        except ValueError as error:
            why = "for 'Gt', 'Lt' operators, the value must be an integer"
            raise SelectorError(f"values[0]: Invalid value: {spell(value)}: {why}") from error
    return Requirement(key, _OPERATOR[operator], (value,))


def label_test(text: str) -> LabelTest | None:
    """A predicate on labels; None when everything matches.

    Raises:  StatusError (400) for a text that is no selector.
    """
    try:
        found = _Parser(text).requirements()
    except SelectorError as error:
        raise bad_request(str(error)) from error
    if not found:
        return None
    return lambda labels: all(matches(requirement, labels) for requirement in found)


def parse_fields(text: str) -> list[tuple[str, bool, str]]:
    """The terms of a field selector: path, whether it must be equal, value.

    Raises:  StatusError (400) for a term without an operator.
    """
    terms: list[tuple[str, bool, str]] = []
    for part in text.split(","):
        if not part:
            continue
        for sign in ("!=", "==", "="):
            if sign in part:
                path, value = part.split(sign, 1)
                terms.append((path, sign != "!=", value))
                break
        else:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return terms


def field_test(
    text: str, known: frozenset[str], unsupported: Callable[[str], StatusError]
) -> RecordTest | None:
    """A predicate on records; None when everything matches.

    Raises:  StatusError (400) for a field which the resource does not offer.
    """
    terms = parse_fields(text)
    for path, _, _ in terms:
        if path not in known:
            raise unsupported(path)
    if not terms:
        return None

    def test(record: Record) -> bool:
        for path, equal, value in terms:
            if path == "metadata.name":
                actual = record.name
            elif path == "metadata.namespace":
                actual = record.namespace
            else:
                actual = record.fields.get(path, "")
            if (actual == value) is not equal:
                return False
        return True

    return test


def record_test(labels: LabelTest | None, fields: RecordTest | None) -> RecordTest | None:
    """Both predicates as one on records."""
    if labels is None:
        return fields
    label = labels
    if fields is None:
        return lambda record: label(record.labels)
    field = fields
    return lambda record: label(record.labels) and field(record)


def match_selector(selector: Mapping[str, Any] | None, labels: Labels) -> bool:
    """Whether a LabelSelector object selects the labels; an absent one selects nothing."""
    return selector is not None and json_selects(selector, labels)


def selector_text(selector: Any) -> str:
    """What the scale subresource and the selector column show: `app=web,tier in (a,b)`."""
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        matched = selector
    else:
        matched = selector.get("matchLabels") or {}
    parts = [f"{key}={value}" for key, value in sorted(matched.items())]
    for item in selector.get("matchExpressions") or ():
        key, values = item["key"], ",".join(item.get("values") or ())
        match item["operator"]:
            case "In":
                parts.append(f"{key} in ({values})")
            case "NotIn":
                parts.append(f"{key} notin ({values})")
            case "Exists":
                parts.append(key)
            case _:
                parts.append(f"!{key}")
    return ",".join(parts)
