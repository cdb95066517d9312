"""The page of the simulator's figures: what it says of the runs that are kept, and of others."""

import pytest

from bench import simulated, simulated_page


def row(arm, *, begin="7", goodput=0.4, wait=100.0, **more):
    """A kept run of the Philly windows."""
    found = dict.fromkeys(simulated.COLUMNS, "0")
    end = str(int(begin) + 14)
    found |= {"experiment": simulated.PHILLY, "arm": arm, "begin": begin, "end": end, "load": "1"}
    found |= {
        "goodput": f"{goodput}",
        "utilisation": f"{goodput}",
        "wait": f"{wait}",
        "wait_big": "",
        "jain": "0.9",
    }
    return found | {name: str(value) for name, value in more.items()}


@pytest.fixture
def kept(monkeypatch):
    """Two windows: in the second, sharing gains little and ours waits longer than early binding."""
    found = [
        row("silos-like"),
        row("global-sched", goodput=0.62, wait=20),
        row("karmada-dynamic-like", goodput=0.58),
        row("easy-like", goodput=0.5, wait=25),
        row("silos-like", begin="21"),
        row("global-sched", begin="21", goodput=0.42, wait=90, utilisation=0.5),
        row("karmada-dynamic-like", begin="21", goodput=0.46),
    ]
    monkeypatch.setattr(simulated_page, "rows", lambda: found)
    return found


@pytest.mark.usefixtures("kept")
def test_the_headline_begins_with_the_worst_window_and_names_the_best_federated_model():
    """Its median and its best stand beside it."""
    assert simulated_page.headline().startswith(
        "**Goodput against one cluster for each tenant: +5% in the worst of 2 windows and loads, "
        "+30% in the median, +55% in the best; the best federated model of each: +15%, +30%, "
        "+45%.** Nodes are as busy with ours: utilisation, in which work that evictions undid "
        "counts, is +25%, +40%, +55%. "
    )


@pytest.mark.usefixtures("kept")
def test_a_target_is_met_only_where_every_place_meets_it():
    """Else it says in how many; what no run says anything of is no target that is met."""
    lines = {line.split(" | ")[0][2:]: line for line in simulated_page.targets().splitlines()}

    assert "0.55 [0.20, 0.90] of 2 | ≤ 0.5 | **in 1 of 2**" in lines["mean wait ÷ early binding's"]
    assert lines["Jain's index"].endswith("≥ 0.8 | yes |")
    assert lines["wait of big gangs ÷ backfill's"].endswith("none was run | ≤ 1 | - |")


@pytest.mark.usefixtures("kept")
def test_what_was_planned_and_not_run_is_listed():
    """By experiment, load, windows and arms."""
    lines = simulated_page.missing().splitlines()

    (of_second,) = [one for one in lines if "| load 1, days 21-35 |" in one]
    assert "easy-like" in of_second
    assert "silos-like" not in of_second
    (ablation,) = [one for one in lines if one.startswith("| ablation |")]
    assert "no reservations" in ablation
