"""`python -m bench.page [PAGE[/GROUP] …]`: measure groups and write pages of `docs/benchmarks`.

`reliability/faults` measures that group alone: the rows of the others stay as they are on the page,
with the commit at which each was measured.
"""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from bench.__main__ import measured
from bench.harness import ROOT, Figure, commit, machine, report


@dataclass(frozen=True, slots=True)
class Page:
    """Groups of figures, and the text around their table."""

    name: str
    groups: tuple[str, ...]
    head: str
    tail: str

    def text(self, rows: Mapping[str, Sequence[str]]) -> str:
        """The whole page, from the rows of each group."""
        versions = ", ".join(
            f"{name} {version(name)}" for name in ("numpy", "msgspec", "google-re2")
        )
        lines = ["| figure | value | target | met | how | group and commit |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
        lines += [line for group in self.groups for line in rows.get(group, ())]
        head = self.head.format(machine=machine(), versions=versions, commit=commit())
        return head + "\n".join(lines) + "\n" + self.tail


TOPOLOGY = Page(
    "topology",
    ("topology", "live", "closeness", "kueue", "packing", "growth"),
    head="""# The topology engine, measured

One gang at a time on one core, in process: what `Space.place`, `take` and `give_back` cost, how
close the pods lie, and how well nodes are filled. A figure that misses its target is listed as a
miss; [misses.md](misses.md) says why.

- Command: `.venv/bin/python -m bench.page topology` (about five minutes on an idle machine); single
  groups: `make bench ARGS="topology"`.
- Machine: {machine}.
- Versions: {versions}. Commit: {commit}.
- Time: CPU time of the process (`time.process_time`), so that waiting for a core does not count.
- Traces: `lingjun-topo`, `zhejianglab-topo` and `openb` beside the repository
  (`../shared/traces`); absent ones are said to be absent.

""",
    tail="""
## How to read them

- **Any constraint.** Nine kinds of gangs of 64 pods: without a constraint, soft, hard at each tier,
  in groups (partitions), with a launcher, and two shapes that are both in groups. The row is the
  worst kind's p99, every kind is in its note. Before each try the room is changed, so that no
  answer is remembered, and gangs stay placed.
- **The agent's own way.** A Node event into the agent's cache, the next round's room opened, and
  how closely each of 8 shapes fits: reading the event is part of it. The same for a HyperNode.
- **Exact DP.** Written in `bench/micro/closeness.py` for itself: over all ways to choose k free
  hosts of the tree, the least sum of pair tiers, first within the lowest tier that holds the gang,
  then without that condition ("over all tiers"). The engine is asked with a soft constraint.
- **Packing.** Pods of openb that take whole GPUs, drawn with replacement until they ask for all
  GPUs; Best Fit and FGD are in `bench/micro/packing.py`. FGD knows the workload's population in
  advance; the engine knows, as an agent does, what runs or waits by now, and looks again after
  every 64 arrivals. Pods with a part of a GPU are left out, because the engine places none. Their
  authors find FGD before Best Fit: it keeps parts of GPUs usable, and here there are no parts, so
  that Best Fit comes before it in three of the four workloads.
- **Kueue's shape.** The quota floor of the test is 66 s of virtual time. Kueue's own figure (37.4
  workloads/s, 401 s) includes an API server; ours is the placement in process.
- **Growth.** Least-squares slope over the logarithms of the medians:

![time for one gang against nodes and against pods of the gang](topology-growth.svg)
""",
)

FAIRNESS = Page(
    "fairness",
    ("reclaim", "cycle", "fairness", "fairness_exact"),
    head="""# The decision core, measured

Whole cycles in process on one core: order, quota, tenants' shares, choice of clusters, claims and
reservations, all of it on. A figure that misses its target is listed as a miss;
[misses.md](misses.md) says why.

- Command: `.venv/bin/python -m bench.page fairness` (some minutes on an idle machine);
  single groups: `make bench ARGS="cycle"`.
- Machine: {machine}.
- Versions: {versions}. Commit: {commit}.
- Time: CPU time of the process (`time.process_time`).

""",
    tail="""
## How to read them

- **A search for victims.** 100 clusters of 5,000 nodes in which 20,000 gangs run, as agents report
  them: from the refusal to the claim or to the reason why no workload leaves. One cycle makes
  `searches_per_cycle` at most.
- **A cycle.** 10,000 jobs wait for 100 clusters of 96 nodes in which 20,000 gangs run; 200 queues
  of 100 tenants, each of which deserves an equal part, and half of them hold everything. "Full" has
  no free GPU, "90 % full" a tenth, "empty" gangs without GPUs only. What the process remembers of
  unchanged clusters is warm. The rows say how many were admitted, because an admission costs some
  twenty times as much as a refusal: figures of different mixtures are not compared.
- **Slopes.** A full federation, in which all are refused and searches are off; 2,000 pending but
  where pending grows. Clusters have 32 nodes and 60 gangs where their number grows.
- **Searches and reservations.** The same cycle twice in one process, with and without.
- **Kueue's test.** Its shape and quota floor; arrivals, run times and priorities are Kueue's. The
  clock is virtual and stands still while a cycle runs. Kueue's own figures, with an API server:
  351 s (66 s floor) and 1,179 s (4 s floor).
- **Exactness.** A million random steps: submit, finish, delete, grow, shrink, cut or raise a quota,
  change a priority. What is kept is compared with what is counted anew after each batch.
""",
)

RELIABILITY = Page(
    "reliability",
    ("chaos", "faults", "many", "rights", "restored", "versions", "real"),
    head="""# Faults, measured

How often the programs broke a promise while they were killed, stopped, cut off and lied to, and how
long it took until all was well again. A figure that misses its target is listed as a miss.

- Command: `.venv/bin/python -m bench.page reliability`, or of one group, as
  `… bench.page reliability/many`: the other rows stay, each with the commit of its run. Before the
  group `chaos`, as long as there is time: `python -m bench.reliability.sweep seeds` and the same
  with `points`; the page shows what they have noted in `build`, with its commit.
- Machine: {machine}.
- Versions: {versions}. Commit of the page: {commit}.

""",
    tail="""
## How to read them

- **Seeds and crash points** run in virtual time: the real programs, servers and controllers in one
  process, two schedulers and two members. Each state of every object is judged by the checker
  (`tests/checker.py`). The gate looks at ten of each for every commit;
  [contributing.md](../contributing.md) says more.
- **A seeded bug is seen** when a short run shows a violation with it, and none without it.
- **Late writes.** A leader is killed while its placement is in the network; the next leader gives
  the same quota to another job; then the placement arrives, and its resourceVersion still holds.
  The embedded servers have no admission policies, so they accept it, and the leader withdraws it.
  With its judgement switched off the queue stays above its limit.
- **Failover** has the default times of the Lease: 15 s without a renewal, looked at every 2 s at
  least and when it runs out.
- **Agents that hang** get no answer to any call and see nothing of their watches. Time is virtual,
  so the row shows whether the others wait for them, and not what their CPU costs.
- **Rights** are asked of the embedded server's authorizer, with the Roles of `deploy/`.
- **A restore** puts the embedded server back to all of its objects of a moment, as
  `etcdutl snapshot restore --bump-revision --mark-compacted` does ([deploy.md](../deploy.md)).
- **The last release** has no tag: it is the commit that gave CHANGELOG.md its section. Objects are
  those of a federation whose jobs run, wait and have ended (`tests/golden.py`), made by one version
  and found by the other; `tests/flows/test_golden_objects.py` holds each commit to those of 0.1.0.
  Side by side both versions run as real processes, exchanged one after the other.
- **A real API server**: `tests/e2e/test_admission_terms.py` sends decisions of earlier terms as
  global-sched, with the policy P3 and while it only looks on. Abuses are those of
  `tests/e2e/test_admission_tenants.py`.
- **Churn** is `make faults ARGS="-k churn"`: real processes, whose own metrics are read.
""",
)

PAGES = {page.name: page for page in (TOPOLOGY, FAIRNESS, RELIABILITY)}


def row(item: Figure) -> str:
    """One line of a table."""
    value = "-" if item.value is None else f"{item.value:,.4g} {item.unit}".strip()
    met = "" if item.met is None else ("yes" if item.met else "**no**")
    cells = (item.figure, value, item.target, met, item.note)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def rows_of(figures: Iterable[Figure], group: str, at: str) -> list[str]:
    """The lines of a group that was measured at a commit."""
    return [f"{row(item)} {group} at {at} |" for item in figures]


def kept(text: str) -> dict[str, list[str]]:
    """The lines of a page's table by group."""
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if told := re.fullmatch(r"\|.*\| (\w+) at \S+ \|", line):
            found.setdefault(told[1], []).append(line)
    return found


def main(names: list[str]) -> int:
    """Measure and write the named pages or groups of pages, all when none is named."""
    wanted: dict[str, set[str]] = {}
    for name in names or PAGES:
        page, _, group = name.partition("/")
        if page not in PAGES or group not in ("", *PAGES[page].groups):
            parts = (f"{one.name}/{group}" for one in PAGES.values() for group in one.groups)
            print(f"no such page: {name}; there are {', '.join((*PAGES, *parts))}")
            return 2
        wanted.setdefault(page, set()).update((group,) if group else PAGES[page].groups)
    for name, groups in wanted.items():
        _write(PAGES[name], groups)
    return 0


def _write(page: Page, groups: set[str]) -> None:
    path = ROOT / "docs" / "benchmarks" / f"{page.name}.md"
    rows = kept(path.read_text(encoding="utf-8")) if path.exists() else {}
    found: list[Figure] = []
    for group in page.groups:
        if group in groups:
            print(f"measuring {group} …", flush=True)
            figures = measured(group)
            rows[group] = rows_of(figures, group, commit())
            found.extend(figures)
    report(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page.text(rows), encoding="utf-8")
    print(f"written to {path.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
