"""Kinds that make pods which nothing counts are refused; all others without demand are copied."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, demand, snapshot, workload
from tests.worlds import after

CRON = ("batch/v1", "CronJob")
DAEMON = ("apps/v1", "DaemonSet")
INVENTED = ("example.com/v1", "Training")
PLAIN = ("v1", "ConfigMap")
SERVED = ("apps/v1/DaemonSet", "batch/v1/CronJob", "example.com/v1/Training", "v1/ConfigMap")
ANY_VERSION = ("batch/v2", "CronJob")
WHY = (
    "the kind makes pods, and the binding has no replicas, requirements or components to count "
    "them by; use a kind that is read (docs/kinds.md), give the kind a resource interpreter in "
    "Karmada, or have {0} listed in the Policy's copied_kinds"
)


def job(kind, **fields):
    return workload("j", asks=demand(division=Division.COPIED, kind=kind), **fields)


def world_of(*running, pending=()):
    clusters = [cluster(name, gpus=8, kinds=(*SERVED, "batch/v2/CronJob")) for name in ("a", "b")]
    return snapshot(clusters, running=running, pending=pending)


def result(world, policy):
    """Where it is after a cycle, and with which verdict."""
    plan = run_cycle(world, policy, NOW)
    [outcome] = [one for one in plan.outcomes if one.workload == "jobs/j"]
    then = after(world, plan)
    assert run_cycle(then, policy, NOW).admissions == ()
    verdict = outcome.verdict
    clusters = [target.cluster for target in then.workload("j").targets]
    return clusters, verdict.code.value, verdict.reason.value, verdict.detail


@pytest.mark.parametrize(
    ("kind", "fields", "name"),
    [
        pytest.param(CRON, {}, "CronJob.batch", id="a CronJob"),
        pytest.param(ANY_VERSION, {}, "CronJob.batch", id="whatever its version"),
        pytest.param(DAEMON, {}, "DaemonSet.apps", id="a DaemonSet"),
        pytest.param(
            INVENTED,
            {"pod_kinds": ("Training.example.com",)},
            "Training.example.com",
            id="a kind that operators add to the table",
        ),
    ],
)
def test_a_kind_whose_pods_nothing_counts_is_refused(kind, fields, name):
    """It enters no cluster; the refusal names the object, why, and what would help."""
    policy = replace(POLICY, **fields)
    world = world_of(pending=[job(kind)])

    want = ("NEVER", "KindNotCounted", f"{name} jobs/j: {WHY.format(name)}")
    assert result(world, policy) == ([], *want)
    found = explain_workload(world, policy, NOW, "jobs/j")
    assert found is not None
    verdict = found.outcome.verdict
    assert (verdict.code.value, verdict.reason.value, verdict.detail) == want


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        pytest.param(PLAIN, {}, id="a kind without pods"),
        pytest.param(INVENTED, {}, id="a kind that is in no list"),
        pytest.param(INVENTED, {"pod_kinds": ("Training",)}, id="a namesake in another group"),
        pytest.param(
            DAEMON, {"copied_kinds": ("DaemonSet.apps",)}, id="a kind that operators have copied"
        ),
        pytest.param(
            INVENTED,
            {"pod_kinds": ("Training.example.com",), "copied_kinds": ("Training.example.com",)},
            id="one that both lists name",
        ),
    ],
)
def test_other_kinds_are_copied(kind, fields):
    """They go to every cluster that the policy selects."""
    world = world_of(pending=[job(kind)])

    assert result(world, replace(POLICY, **fields)) == (["a", "b"], "FIT", "Admitted", "")


def test_a_copy_from_before_stays_and_enters_no_further_cluster():
    """What runs is not taken away; nothing more of it starts."""
    world = world_of(job(CRON, on="a"))

    assert result(world, POLICY)[:2] == (["a"], "FIT")
    assert run_cycle(world, POLICY, NOW).admissions == ()
