"""The shape of the source tree, room by room: files, lines, floors, circles, short files.

A room is a package. Its floors are the longest chain of imports among its own modules, each
above those that it imports; a circle is a set of modules that import each other. `python -m
tools.rooms [room ...]` prints one line per room, of all rooms where none is named.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parent.parent
PROGRAMS = ("global_sched", "member_agent")
SHORT_FILE_LINES = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomState:
    """What is measured of one room; sub-packages count to it."""

    files: int
    lines: int
    floors: int
    circles: int
    arrows: int
    short_files: int


def modules(root: Path = ROOT) -> dict[str, Path]:
    """Every module of both programs by its dotted name; a package by its own."""
    found = {}
    for program in PROGRAMS:
        for path in sorted((root / program).rglob("*.py")):
            parts = path.relative_to(root).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules of the programs that a file imports from, the most exact name of each."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def graph(root: Path = ROOT) -> nx.DiGraph:
    """Who imports whom, module by module."""
    known = modules(root)
    drawn = nx.DiGraph()
    drawn.add_nodes_from(known)
    for name, path in known.items():
        drawn.add_edges_from((name, other) for other in imports(path, known) if other != name)
    return drawn


def state(room: str, drawn: nx.DiGraph, paths: Mapping[str, Path]) -> RoomState:
    """What is measured of one room; the front page of a package (`__init__`) has no floor."""
    inside = [n for n in drawn if n == room or n.startswith(room + ".")]
    part = drawn.subgraph(n for n in inside if paths[n].name != "__init__.py")
    condensed = nx.condensation(part)
    circles = sum(1 for some in nx.strongly_connected_components(part) if len(some) > 1)
    lines = {n: len(paths[n].read_text().splitlines()) for n in inside}
    return RoomState(
        files=len(inside),
        lines=sum(lines.values()),
        floors=nx.dag_longest_path_length(condensed) + 1 if len(condensed) else 0,
        circles=circles,
        arrows=part.number_of_edges(),
        short_files=sum(1 for n, long in lines.items() if long < SHORT_FILE_LINES and n in part),
    )


def main() -> None:
    """Print the state of the rooms that are named, or of all of them."""
    paths, drawn = modules(), graph()
    rooms = sys.argv[1:] or sorted(
        {name for name, path in paths.items() if path.name == "__init__.py"}
    )
    print("| room | files | lines | floors | circles | arrows | files below 60 lines |")
    print("|---|---|---|---|---|---|---|")
    for room in rooms:
        one = state(room, drawn, paths)
        print(
            f"| `{room}` | {one.files} | {one.lines} | {one.floors} | {one.circles} | {one.arrows} "
            f"| {one.short_files} |"
        )


if __name__ == "__main__":
    main()
