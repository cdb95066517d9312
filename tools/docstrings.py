"""Docstrings of fields and enum members, which Python itself does not keep."""

import ast
import inspect
from functools import cache
from pathlib import Path


@cache
def _classes(path: str) -> dict[str, dict[str, str]]:
    """Field docstrings of every class in a file, by class and field."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found: dict[str, dict[str, str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found[node.name] = _fields(node)
    return found


def _fields(node: ast.ClassDef) -> dict[str, str]:
    """A string right after an assignment documents it."""
    fields: dict[str, str] = {}
    for before, after in zip(node.body, node.body[1:], strict=False):
        name = _target(before)
        if name and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = after.value.value
            if isinstance(text, str):
                fields[name] = " ".join(text.split())
    return fields


def _target(node: ast.stmt) -> str:
    """The name that a class-level assignment defines."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def field_docs(kind: type) -> dict[str, str]:
    """Field name to its docstring, bases included, in no particular order."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if base.__module__ in ("builtins", "abc", "enum", "msgspec", "typing"):
            continue
        try:
            path = inspect.getsourcefile(base)
        except TypeError:
            continue
        if path:
            docs.update(_classes(path).get(base.__name__, {}))
    return docs
