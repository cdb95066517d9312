"""`python -m bench.page`: measure the topology engine and write `docs/benchmarks/topology.md`."""

import importlib
import sys
from importlib.metadata import version

from bench.harness import ROOT, Figure, machine, report

GROUPS = ("topology", "live", "closeness", "kueue", "packing", "growth")
PAGE = ROOT / "docs" / "benchmarks" / "topology.md"

HEAD = """# The topology engine, measured

One gang at a time on one core, in process: what `Space.place`, `take` and `give_back` cost, how
close the pods lie, and how well nodes are filled. A figure that misses its target is listed as a
miss; [limits.md](../limits.md) says why.

- Command: `.venv/bin/python -m bench.page` (about five minutes on an idle machine); single groups:
  `make bench ARGS="topology"`.
- Machine: {machine}.
- Versions: {versions}.
- Time: CPU time of the process (`time.process_time`), so that waiting for a core does not count.
- Traces: `lingjun-topo`, `zhejianglab-topo` and `openb` beside the repository
  (`../shared/traces`); absent ones are said to be absent.

"""

TAIL = """
## How to read them

- **Any constraint.** Nine kinds of gangs of 64 pods: without a constraint, soft, hard at each tier,
  in groups (partitions), with a launcher, and two shapes that are both in groups. The row is the
  worst kind's p99, every kind is in its note. Before each try the room is changed, so that no
  answer is remembered, and gangs stay placed.
- **The agent's own way.** A Node event into the agent's cache, the next round's room opened, and
  how closely each of 8 shapes fits: reading the event is part of it. The same for a HyperNode.
- **Exact DP.** Written in `bench/closeness.py` for itself: over all ways to choose k free hosts of
  the tree, the least sum of pair tiers, first within the lowest tier that holds the gang, then
  without that condition ("over all tiers"). The engine is asked with a soft constraint.
- **Packing.** Pods of openb that take whole GPUs, drawn with replacement until they ask for all
  GPUs; Best Fit and FGD are in `bench/packing.py`. FGD knows the workload's population in
  advance; the engine knows, as an agent does, what runs or waits by now, and looks again after
  every 64 arrivals.
- **Kueue's shape.** The quota floor of the test is 66 s of virtual time. Kueue's own figure (37.4
  workloads/s, 401 s) includes an API server; ours is the placement in process.
- **Growth.** Least-squares slope over the logarithms of the medians:

![time for one gang against nodes and against pods of the gang](topology-growth.svg)
"""


def _row(item: Figure) -> str:
    value = "-" if item.value is None else f"{item.value:,.4g} {item.unit}".strip()
    met = "" if item.met is None else ("yes" if item.met else "**no**")
    cells = (item.figure, value, item.target, met, item.note)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def page(figures: list[Figure]) -> str:
    """The whole page."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "msgspec", "google-re2"))
    rows = ["| figure | value | target | met | how |", "| --- | --- | --- | --- | --- |"]
    rows += [_row(item) for item in figures]
    return HEAD.format(machine=machine(), versions=versions) + "\n".join(rows) + "\n" + TAIL


def main() -> int:
    """Measure every group and write the page."""
    found: list[Figure] = []
    for name in GROUPS:
        print(f"measuring {name} …", flush=True)
        found.extend(importlib.import_module(f"bench.{name}").figures())
    report(found)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found), encoding="utf-8")
    print(f"written to {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
