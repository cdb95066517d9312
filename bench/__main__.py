"""`python -m bench [GROUP …]`."""

import importlib
import sys

from bench.harness import Figure, report

GROUPS = (
    "cycle",
    "reclaim",
    "fairness",
    "fairness_exact",
    "snapshot",
    "kube",
    "flow",
    "topology",
    "live",
    "closeness",
    "packing",
    "kueue",
    "growth",
    "memory",
    "reports",
)
"""Each is a module of this package with a function `figures() -> list[Figure]`."""


def main(names: list[str]) -> int:
    """Run the named groups, all when none is named."""
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        print(f"no such group: {', '.join(unknown)}; there are {', '.join(GROUPS)}")
        return 2
    found: list[Figure] = []
    for name in names or GROUPS:
        print(f"measuring {name} …", flush=True)
        found.extend(importlib.import_module(f"bench.{name}").figures())
    report(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
