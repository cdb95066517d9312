"""Notes of longer runs (`sweep.py`), and whether seeded bugs are seen."""

from collections import Counter
from typing import Final

from bench.harness import Figure, at_least, at_most, shown
from bench.reliability.sweep import lines
from tests.chaos.choice import ALL_SEEDS
from tests.chaos.crashes import points
from tests.chaos.mutations import MUTATIONS, applied

GROUP: Final = "chaos"


def figures() -> list[Figure]:
    """All that is noted; what never ran is said."""
    return [*_runs("seeds"), *_runs("points"), _over(), *_mutations()]


def _runs(kind: str) -> list[Figure]:
    found = lines(kind)
    what = "seeds of five virtual minutes" if kind == "seeds" else "crash points"
    if not found:
        how = f"not run: python -m bench.reliability.sweep {kind}"
        return [shown(GROUP, f"{what} run", None, "", how)]
    commits = Counter(one["commit"] for one in found)
    bad = [one["number"] for one in found if one["violations"]]
    numbers, every = {one["number"] for one in found}, ALL_SEEDS if kind == "seeds" else _crashes()
    cpu = sum(one["cpu"] for one in found)
    wall = sum(one["seconds"] for one in found)
    note = (
        f"at {', '.join(f'{name} ({runs})' for name, runs in commits.items())}; {cpu:.0f} CPU "
        f"seconds, {wall / 60:.0f} minutes, added up over processes beside others"
    )
    text = f"numbers {', '.join(map(str, bad))}" if bad else ""
    figures = [
        at_least(GROUP, f"{what} run", len(numbers), "", every, note),
        at_most(GROUP, f"{what} with a violation", len(bad), "", 0, text),
    ]
    if kind == "seeds":
        fewest = min(sum(one["fired"].values()) for one in found)
        figures.append(at_least(GROUP, "fewest faults that a seed fired", fewest, "", 3))
    return figures


def _crashes() -> int:
    """How many crash points the script has."""
    return len(list(points()))


def _over() -> Figure:
    """A queue above its limit in any state of any of these runs."""
    found = [*lines("seeds"), *lines("points")]
    over = sum(1 for one in found if any("holds" in text for text in one["violations"]))
    states = sum(one["states"] for one in found)
    note = f"{states:,} states judged; a late write of a former leader has 5 s to be withdrawn"
    return at_most(GROUP, "runs with a queue above its limit", over, "", 0, note)


def _mutations() -> list[Figure]:
    """Seeded bugs that their witness sees."""
    missed = []
    for one in MUTATIONS:
        with applied(one):
            if not one.witness():
                missed.append(one.name)
    seen = len(MUTATIONS) - len(missed)
    return [at_least(GROUP, "seeded bugs seen", seen, "", len(MUTATIONS), ", ".join(missed))]
