"""Notes of real servers and real processes in `build`: of e2e tests and of `make faults`.

make e2e ARGS="tests/e2e/test_admission_terms.py tests/e2e/test_admission_tenants.py"
make faults ARGS="-k churn"
"""

import json
from typing import Any, Final

from bench.harness import ROOT, Figure, at_least, at_most, shown

GROUP: Final = "real"
BUILD: Final = ROOT / "build"
LONG: Final = 900
"""Seconds of churn that the page asks for."""


def figures() -> list[Figure]:
    """All that is noted; what never ran is said."""
    return [*_late(), *_tenants(), *_churn()]


def _noted(path: str) -> dict[str, Any]:
    file = BUILD / path
    found: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return found


def _late() -> list[Figure]:
    name = "late writes that a real API server accepted"
    found = _noted("e2e/late.json")
    if not found:
        return [shown(GROUP, name, None, "", "not run: tests/e2e/test_admission_terms.py")]
    how = f"of {found['tried']}, by the policy P3 on a real Karmada, at {found['commit']}"
    return [
        at_most(GROUP, name, found["accepted"], "", 0, how),
        shown(
            GROUP, "the same while P3 only looks on", found["without"], "", f"of {found['tried']}"
        ),
    ]


def _tenants() -> list[Figure]:
    name = "abuses by tenants that a real API server accepted"
    found = _noted("e2e/tenants.json")
    if not found:
        return [shown(GROUP, name, None, "", "not run: tests/e2e/test_admission_tenants.py")]
    how = f"of {found['tried']} at {found['commit']}: an editor, an admin of the namespace, a "
    how += "tenant and another member's agent try each abuse of tests/e2e/test_admission_tenants.py"
    text = "; ".join([how, *found["passed"][:3]])
    return [
        at_least(GROUP, "abuses by tenants that were tried", found["tried"], "", 60),
        at_most(GROUP, name, len(found["passed"]), "", 0, text),
    ]


def _churn() -> list[Figure]:
    found = _noted("faults/churn.json")
    if not found:
        return [shown(GROUP, "seconds of churn", None, "s", 'not run: make faults ARGS="-k churn"')]
    slopes = found["per job"]

    def worst(what: str) -> tuple[str, float]:
        name = max(slopes, key=lambda program: slopes[program][what])
        return name, slopes[name][what]

    rows = [
        at_least(
            GROUP, "seconds of churn", found["seconds"], "s", LONG,
            f"{found['jobs']} jobs at {found['commit']}: real processes, one job after the other "
            "and older ones deleted; slopes by least squares without the first third",
        )
    ]  # fmt: skip
    for what, unit, most in (("memory", "KB", 0), ("files", "", 0.05), ("tasks", "", 0.05)):
        program, value = worst(what)
        value /= 1000 if what == "memory" else 1
        last = found["last"][f"{program} {what}"]
        now = f"{last / 1e6:.0f} MB" if what == "memory" else f"{last:.0f}"
        note = f"{program}, the worst of {len(slopes)} programs, which has {now} at the end"
        name = f"{what} for each further job"
        if most:
            rows.append(at_most(GROUP, name, value, unit, most, note))
        else:
            rows.append(shown(GROUP, name, value, unit, note))
    return rows
