"""Pure rooms remember nothing by themselves: what is kept belongs to the object that asks."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.generate import ROOT

MAKERS = ("dict", "list", "set", "defaultdict", "OrderedDict", "Counter")


def pure_rooms() -> list[str]:
    """The rooms under the purity contract."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    return next(one["source_modules"] for one in contracts if one["name"].startswith("Pure rooms"))


def files(room: str) -> list[Path]:
    """The files of a room, or of a single module."""
    path = ROOT / room.replace(".", "/")
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def memory(path: Path) -> Iterator[str]:
    """Names at module level that remember between calls: caches, and containers that fill."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and any(map(_is_cache, node.decorator_list)):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and _fills(node.value):
                yield target.id


def _is_cache(decorator: ast.expr) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id in ("lru_cache", "cache")
        for one in ast.walk(decorator)
    )


def _fills(value: ast.expr) -> bool:
    """An empty container, or an object whose class is made to keep things."""
    if isinstance(value, ast.Dict | ast.List):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Call):
        return False
    function = value.func
    if _is_cache(function):
        return True
    while isinstance(function, ast.Subscript):
        function = function.value
    name = function.id if isinstance(function, ast.Name) else ""
    empty = not value.args and not value.keywords
    return (name in MAKERS and empty) or name.startswith("Weak") or "Cache" in name


def test_no_module_of_a_pure_room_remembers():
    """No cache outlives the objects that asked."""
    found = {
        f"{path.relative_to(ROOT).as_posix()}:{name}"
        for room in pure_rooms()
        for path in files(room)
        for name in memory(path)
    }

    assert found == set()
