"""`docs/benchmarks/peers.md` and the table of the README, from one run."""

from pathlib import Path
from typing import Final

from bench.harness import ROOT, Figure, machine, percentile
from bench.page import row
from bench.peers.run import Found

PAGE: Final = ROOT / "docs" / "benchmarks" / "peers.md"
README: Final = ROOT / "README.md"
_BEGIN: Final = "## Beside karmada-scheduler\n"
_BEFORE: Final = "## Next steps\n"

_HEAD: Final = """# Side by side with its peers

One run on one real Karmada, as `make karmada-up` starts it: one system at a time on the same API server, with
Karmada's webhooks on and karmada-controller-manager stopped. A figure that misses its target is listed as a miss.

| | |
| --- | --- |
| command | `make bench-peers{arguments}` |
| machine | {machine} |
| versions | {versions} |
| size | {size} |

"""  # noqa: E501 - lines of a page

_TAIL: Final = """
## How to read them

- **Bindings.** Deployments of one replica of two CPUs and their bindings of about 2 KB, as Karmada's detector makes them, stored
  while no scheduler runs. The rate is bindings over the time from the first write to the last answer, by the API
  server's audit log, so that no watcher is needed; reading the list and deciding before the first write is not in it
  for any system, but its CPU is. A system that is not done after 260 s is rated by what it has done.
- **W** is a bare asyncio loop with 64 bindings in flight that sends the very bodies which global-sched has just
  sent, spec first, then status, and decides nothing. It runs after each run of global-sched; the better one counts.
- **Limits lifted** is `--kube-api-qps=2000 --kube-api-burst=4000` for karmada-scheduler. global-sched has no client
  limit; its lifted run has 256 writes in flight where its default is 64.
- **karmada-scheduler's CPU** grows with room over request: its resource models play every replica that could be placed
  (a CPU profile shows three quarters of it there). A small
  request would count against it, so replicas ask for two CPUs.
- **Lone bindings** come every 0.1 s at the earliest; the time is between two events of one watch.
- **Gangs** are submitted to the member's API server. The bare loop makes the same Jobs, PodGroups, Services, pods,
  bindings and two statuses per Job from what the agent has made, with 32 writes in flight; not the ConfigMap that every such Job
  mounts, nor the plan on its PodGroup. With all Jobs abreast it binds no pod before nearly all are made, so that what the cluster
  does when pods start (kwok's statuses, EndpointSlices) comes after its end. Jobs in turn are eight at once, as the agent has
  them: there the first ones start while the last ones wait. The target is set against the first.
- **Placements.** Jobs and policies go through Karmada's detector; every policy asks for one of two clusters, and
  dispatching is suspended. `narrow` has nine nodes in racks of three, `wide` four in one rack. karmada-scheduler
  sees sums per cluster (no estimator: its default), and says nothing of racks because nothing reports them to it.
- **Processes** are all that ran, at the last look before each one's end.
"""  # noqa: E501 - lines of a page


def write(found: Found, rows: list[Figure], arguments: str) -> list[Path]:
    """Write both; where they are."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found, rows, arguments), encoding="utf-8")
    README.write_text(with_table(README.read_text(encoding="utf-8"), table(found)), "utf-8")
    return [PAGE, README]


def page(found: Found, rows: list[Figure], arguments: str) -> str:
    """The whole page."""
    ask = found.ask
    head = _HEAD.format(
        arguments=f' ARGS="{arguments}"' if arguments else "",
        machine=machine(),
        versions=", ".join(f"{name} {version}" for name, version in found.versions.items()),
        size=f"{ask.bindings:,} bindings, {ask.lone} lone ones, {ask.jobs} Jobs of 8 pods",
    )
    lines = ["| figure | value | target | met | how |", "| --- | --- | --- | --- | --- |"]
    return head + "\n".join([*lines, *map(row, rows)]) + "\n" + _TAIL


def table(found: Found) -> str:
    """The README's: what most people ask first."""
    ours, lifted = found.ours, found.peer_lifted
    waits = [percentile(one, 0.5) for one in (found.lone_ours, found.lone_peer)]
    right = {
        name: sum(one.right for one in found.answers if one.system == name)
        for name in ("global-sched", "karmada-scheduler")
    }
    cases = len({one.case.name for one in found.answers})
    spent = sum(spent for name, spent in ours.cpu.items() if name.startswith("member-"))
    agents = spent / max(ours.asked, 1) * 1000
    rows = [
        ("", "global-sched", "karmada-scheduler, its client limits lifted"),
        ("---", "---", "---"),
        (
            f"{ours.asked:,} bindings wait; all are placed after",
            *(f"{one.asked / one.rate:.0f} s" for one in (ours, lifted)),
        ),
        (
            "CPU time for one binding, without and with the member-agents",
            f"{ours.cpu_per_binding_ms:.0f} ms, {ours.cpu_per_binding_ms + agents:.0f} ms",
            f"{lifted.cpu_per_binding_ms:.0f} ms",
        ),
        (
            "one new binding on an idle control plane is placed after (median)",
            *(f"{one:.0f} ms" for one in waits),
        ),
        (
            f"of {cases} gangs that one cluster can run and another cannot, placed rightly",
            *(str(count) for count in right.values()),
        ),
    ]
    lines = ["| " + " | ".join(cells) + " |" for cells in rows]
    return "\n".join(lines) + "\n"


def with_table(text: str, rows: str) -> str:
    """The README with its section of figures, new or in the place of the old one."""
    fresh = (
        f"{_BEGIN}\nOne run on one machine with two cores and a real Karmada, each scheduler alone "
        f"([all figures](docs/benchmarks/peers.md)):\n\n{rows}\n"
    )
    head, _, tail = text.partition(_BEFORE)
    return head.partition(_BEGIN)[0] + fresh + _BEFORE + tail
