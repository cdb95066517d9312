"""Figures of a run, worked out by hand."""

import pytest

from global_sched.shared.model.instant import SECOND
from global_sched.sim.baselines import BASELINES
from global_sched.sim.engine import Stage
from global_sched.sim.gates import nodes
from global_sched.sim.jobs import Gangs, Job
from global_sched.sim.member import Member
from global_sched.sim.metrics import figures

HOUR = 3600


def ran(*rows, weights=None, gpus=8, sizes=()):
    """The figures of jobs of (submit, duration, GPUs, tenant) on one node, strict FIFO."""
    jobs = [
        Job(
            number=at,
            name=f"job-{at}",
            submit=submit * SECOND,
            duration=duration * SECOND,
            pods=1,
            gpus=width,
            tenant=tenant,
        )
        for at, (submit, duration, width, tenant) in enumerate(rows)
    ]
    stage = Stage(jobs, [Member("east", nodes(1, gpus), sizes)], Gangs())
    stage.run(BASELINES["fifo-strict-like"](stage))
    return figures(stage, weights or {})


def test_utilisation_is_an_integral_over_the_arrivals():
    """Four of eight GPUs for half of the time; what runs after the last submission is left out."""
    found = ran((0, 50, 4, "a"), (100, 900, 8, "a"))

    assert found.utilisation == 0.25
    assert found.utilisation_warm == pytest.approx(4 * 40 / (8 * 90))
    assert found.goodput == 0.25
    assert found.offered == 0.25
    assert (found.makespan, found.jobs, found.unfinished, found.events) == (1000, 2, 0, 4)


def test_waits_and_completion_times():
    """The second waits for the first, the third for both."""
    found = ran((0, 100, 8, "a"), (10, 20, 8, "a"), (20, 10, 8, "a"))

    assert found.wait == pytest.approx((0 + 90 + 100) / 3)
    assert (found.wait_p50, found.wait_p99) == (90, 100)
    assert found.jct == pytest.approx((100 + 110 + 110) / 3)
    assert found.slowdown == pytest.approx((1 + 110 / 20 + 110 / 10) / 3)
    assert (found.big_jobs, found.wait_big) == (0, None)


def test_big_gangs_are_shown_by_themselves():
    """More than eight GPUs, and sixty-four and more."""
    found = ran((0, 10, 100, "a"), (0, 10, 9, "a"), (0, 10, 64, "a"), gpus=100)

    assert found.big_jobs == 3
    assert found.wait_big == pytest.approx((0 + 10 + 10) / 3)
    assert found.wait_huge == 5


def test_tenants_are_served_up_to_what_they_are_entitled_to():
    """By weight 1 to 3 of 8 GPUs: what a tenant borrows counts for nothing and harms nothing."""
    rows = [(0, HOUR, 4, "a"), (0, HOUR, 2, "b"), (HOUR, 1, 1, "a")]

    one, two = ran(*rows, weights={"a": 1, "b": 3}).tenants

    assert (one.tenant, one.jobs, one.received_gpu_hours, one.entitled_gpu_hours) == ("a", 2, 4, 2)
    assert (one.served, two.served) == (1, 1)
    assert (two.demand_gpu_hours, two.received_gpu_hours) == (2, 2)


def test_jain_is_one_when_all_are_served_alike_and_less_when_one_starves():
    """Two tenants of thirty jobs, of which one comes second for an hour."""
    first = [(0, 100, 8, "a")] * 30
    second = [(1, 100, 8, "b")] * 30

    found = ran(*first, *second, (3100, 1, 1, "c"))

    served = [one.served for one in found.tenants[:2]]
    assert served[0] == 1
    assert found.jain == pytest.approx(sum(served) ** 2 / (2 * sum(x * x for x in served)))
    assert found.jain < 0.6


def test_fragmentation_is_the_share_of_free_gpus_of_no_use():
    """One GPU is bound for half of the time: then pods of eight, half of all, cannot use seven."""
    sizes = ((1, 0.5), (8, 0.5))

    found = ran((0, 50, 1, "a"), (100, 1, 1, "a"), sizes=sizes)

    assert found.fragmentation == pytest.approx(0.25)
