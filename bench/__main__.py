"""`python -m bench [GROUP …]`."""

import importlib
import sys

from bench.harness import Figure, report

GROUPS = {
    "cycle": "micro.cycle",
    "reclaim": "micro.reclaim",
    "fairness": "micro.fairness",
    "fairness_exact": "micro.fairness_exact",
    "snapshot": "micro.snapshot",
    "kube": "flow.list_watch",
    "flow": "flow.admission",
    "topology": "micro.topology",
    "live": "micro.live",
    "closeness": "micro.closeness",
    "packing": "micro.packing",
    "kueue": "micro.kueue",
    "growth": "micro.growth",
    "elastic": "micro.elastic",
    "memory": "flow.memory",
    "moves": "flow.moves",
    "recovery": "flow.recovery",
    "dashboard": "flow.dashboard",
    "reports": "micro.reports",
    "chaos": "reliability.records",
    "faults": "reliability.trials",
    "many": "reliability.many",
    "rights": "reliability.rights",
    "restored": "reliability.restored",
    "versions": "reliability.versions",
    "real": "reliability.real",
}
"""The module of each group, with a function `figures() -> list[Figure]`."""


def measured(group: str) -> list[Figure]:
    """The figures of one group, measured now."""
    figures: list[Figure] = importlib.import_module(f"bench.{GROUPS[group]}").figures()
    return figures


def main(names: list[str]) -> int:
    """Run the named groups, all when none is named."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
        return 2
    found: list[Figure] = []
    for name in names or GROUPS:
        print(f"measuring {name} …", flush=True)
        found.extend(measured(name))
    report(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
