"""The filters, one table each: who may use which cluster, and in which words it is refused."""

from dataclasses import replace

import pytest

from global_sched.core.fit import filters
from global_sched.core.statement import Statement
from global_sched.shared.model.cluster import Readiness
from global_sched.shared.model.gang import Partition
from global_sched.shared.model.placement_rule import ClusterField, PlacementRule, SpreadRule
from global_sched.shared.model.pods import Effect, Taint, Toleration
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Division
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    demand,
    gang,
    hard,
    pod,
    pod_set,
    resources,
    rule,
    snapshot,
    soft,
    workload,
)

DOWN = Taint("down", "yes", Effect.NO_SCHEDULE)
TOLERATED = rule(tolerations=[Toleration(key="down", exists=True)])
RING = gang(pod_set(pods=2, gpus=1), constraint=hard(1))


def ask(name, one, member, policy=POLICY):
    """The filter's verdict as (code, reason, detail)."""
    view = Statement(snapshot(clusters=[member]), policy, NOW)
    verdict = getattr(filters, name)(one, member, view)
    return verdict.code.value, verdict.reason.value, verdict.detail


PASS = ("FIT", "Fits", "")


@pytest.mark.parametrize(
    ("name", "one", "member", "want"),
    [
        pytest.param("affinity", workload("a"), cluster("c1"), PASS, id="no affinity selects all"),
        pytest.param(
            "affinity",
            workload("a", clusters=["c2"]),
            cluster("c1"),
            ("NEVER", "ClusterAffinity", "the policy does not select this cluster"),
            id="a cluster that is not named is not selected",
        ),
        pytest.param(
            "terminating", workload("a"), cluster("c1"), PASS, id="a cluster that stays is taken"
        ),
        pytest.param(
            "terminating",
            workload("a"),
            cluster("c1", terminating=True),
            ("NEVER", "ClusterTerminating", "the cluster is being removed"),
            id="a cluster that goes takes nothing new",
        ),
        pytest.param("ready", workload("a"), cluster("c1"), PASS, id="a Ready cluster is taken"),
        pytest.param(
            "ready",
            workload("a"),
            cluster("c1", readiness=Readiness.UNKNOWN),
            ("WAIT", "ClusterNotReady", "the cluster's Ready condition is Unknown"),
            id="an unknown cluster is waited for",
        ),
        pytest.param(
            "taints",
            workload("a"),
            cluster("c1", taints=[DOWN]),
            (
                "NEVER",
                "ClusterTaint",
                "the policy does not tolerate the cluster's taint down=yes:NoSchedule",
            ),
            id="a taint keeps workloads off",
        ),
        pytest.param(
            "taints",
            workload("a"),
            cluster("c1", taints=[Taint("down", "", Effect.NO_EXECUTE)]),
            (
                "NEVER",
                "ClusterTaint",
                "the policy does not tolerate the cluster's taint down:NoExecute",
            ),
            id="a taint without a value is shown without one",
        ),
        pytest.param(
            "taints",
            workload("a", placement=TOLERATED),
            cluster("c1", taints=[DOWN]),
            PASS,
            id="a toleration lets them in",
        ),
        pytest.param(
            "taints",
            workload("a"),
            cluster("c1", taints=[Taint("down", "", Effect.PREFER_NO_SCHEDULE)]),
            PASS,
            id="PreferNoSchedule forbids nothing",
        ),
        pytest.param(
            "spread_field",
            workload("a", placement=PlacementRule(spread=(SpreadRule(by=ClusterField.REGION),))),
            cluster("c1"),
            (
                "NEVER",
                "ClusterSpread",
                "the policy spreads by region and the cluster has no region",
            ),
            id="a cluster without a region cannot be spread by region",
        ),
        pytest.param(
            "spread_field",
            workload("a", placement=PlacementRule(spread=(SpreadRule(by=ClusterField.ZONE),))),
            cluster("c1", zones=["z1"]),
            PASS,
            id="a cluster with a zone can be spread by zone",
        ),
        pytest.param(
            "kind_enabled",
            workload("a"),
            cluster("c1", kinds=None),
            (
                "WAIT",
                "KindNotEnabled",
                "not known yet whether the cluster serves batch.volcano.sh/v1alpha1/Job",
            ),
            id="unknown kinds are waited for",
        ),
        pytest.param(
            "kind_enabled",
            workload("a"),
            cluster("c1", kinds=["batch/v1/Job"]),
            (
                "NEVER",
                "KindNotEnabled",
                "the cluster does not serve batch.volcano.sh/v1alpha1/Job",
            ),
            id="a cluster without the CRD refuses",
        ),
        pytest.param(
            "kind_enabled", workload("a"), cluster("c1"), PASS, id="an enabled kind is taken"
        ),
    ],
)
def test_static_filters(name, one, member, want):
    """Policy, state and API of a cluster are asked before its room."""
    assert ask(name, one, member) == want


@pytest.mark.parametrize(
    ("one", "member", "policy", "want"),
    [
        pytest.param(workload("a"), cluster("c1", report_age=30), POLICY, PASS, id="just fresh"),
        pytest.param(
            workload("a"),
            cluster("c1", report_age=31),
            POLICY,
            ("WAIT", "ReportStale", "the capacity report is 31 s old, more than 30 s"),
            id="older than the trust",
        ),
        pytest.param(
            workload("a"),
            cluster("c1", report_age=31, period=11),
            POLICY,
            PASS,
            id="three periods of a slow agent are longer than the trust",
        ),
        pytest.param(
            workload("a"),
            cluster("c1", agent=False, capacity_problem=""),
            POLICY,
            ("WAIT", "NoReport", "no agent reports its capacity"),
            id="no agent",
        ),
        pytest.param(
            workload("a"),
            cluster("c1", agent=False, capacity_problem="slice 2 of 3 is missing"),
            POLICY,
            ("WAIT", "ReportInvalid", "slice 2 of 3 is missing"),
            id="a report that cannot be used says why",
        ),
        pytest.param(
            workload("a"),
            cluster("c1", agent=False, capacity_problem="", summary=resources(cpu=8)),
            POLICY,
            ("WAIT", "NoReport", "no agent reports its capacity"),
            id="a summary counts only where the Policy says so",
        ),
        pytest.param(
            workload("a"),
            cluster("c1", agent=False, capacity_problem="", summary=resources(cpu=8)),
            Policy(allow_summary=True),
            PASS,
            id="an allowed summary stands in for the report",
        ),
        pytest.param(
            workload("a", constraint=soft()),
            cluster("c1", agent=False, capacity_problem="", summary=resources(cpu=8)),
            Policy(allow_summary=True),
            (
                "WAIT",
                "NoReport",
                "no agent reports its capacity, and a summary cannot answer a topology constraint",
            ),
            id="a summary knows no topology",
        ),
    ],
)
def test_reported(one, member, policy, want):
    """A cluster's room must be known and fresh; unknown is never zero and never infinity."""
    assert ask("reported", one, member, policy) == want


@pytest.mark.parametrize(
    ("asks", "member", "want"),
    [
        pytest.param(
            demand(RING, scheduler="member-agent"), cluster("c1"), PASS, id="the agent binds it"
        ),
        pytest.param(
            demand(RING, scheduler=""),
            cluster("c1", schedulers=[]),
            PASS,
            id="Kubernetes binds its default scheduler's pods everywhere",
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", schedulers=[], volcano=(True, False)),
            PASS,
            id="Volcano's scheduler runs there",
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", schedulers=["member-agent"]),
            (
                "NEVER",
                "NobodyBinds",
                (
                    "no scheduler there binds pods with schedulerName volcano: set schedulerName:"
                    " member-agent in the pod template, or by an OverridePolicy"
                ),
            ),
            id="no scheduler answers for the name",
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", schedulers=["own", "other"]),
            (
                "NEVER",
                "NobodyBinds",
                (
                    "no scheduler there binds pods with schedulerName volcano: set schedulerName:"
                    " other in the pod template, or by an OverridePolicy"
                ),
            ),
            id="the agent answers for other names",
        ),
        pytest.param(
            demand(RING, scheduler="volcano", overrides=[("c1", "member-agent")]),
            cluster("c1", schedulers=["member-agent"]),
            PASS,
            id="the name after overrides counts",
        ),
        pytest.param(
            demand(RING, scheduler="member-agent", overrides=[("c2", None)]),
            cluster("c1"),
            PASS,
            id="an override for another cluster does not count",
        ),
        pytest.param(
            demand(RING, overrides=[("c1", None)]),
            cluster("c1"),
            (
                "WAIT",
                "SchedulerUnknown",
                "an override policy changes schedulerName there in a way that cannot be read",
            ),
            id="an override that cannot be read is unknown",
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", agent=False),
            (
                "WAIT",
                "NoReport",
                "no report says whether a scheduler there binds pods with schedulerName volcano",
            ),
            id="without a report nobody is known to bind",
        ),
    ],
)
def test_binder(asks, member, want):
    """A scheduler in the cluster has to bind the pods."""
    assert ask("binder", workload("a", asks=asks), member) == want


@pytest.mark.parametrize(
    ("asks", "member", "want"),
    [
        pytest.param(
            demand(RING, scheduler="member-agent"), cluster("c1"), PASS, id="the agent honours it"
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", schedulers=[], volcano=(True, True)),
            PASS,
            id="Volcano's scheduler with its topology plugin honours it",
        ),
        pytest.param(
            demand(RING, scheduler="volcano"),
            cluster("c1", schedulers=[], volcano=(True, False)),
            (
                "NEVER",
                "ConstraintNotHonoured",
                "scheduler volcano would ignore the hard topology constraint there",
            ),
            id="Volcano's scheduler without it does not",
        ),
        pytest.param(
            demand(RING, scheduler=""),
            cluster("c1"),
            (
                "NEVER",
                "ConstraintNotHonoured",
                (
                    "scheduler default-scheduler would ignore the hard topology constraint there:"
                    " set schedulerName: member-agent in the pod template, or by an OverridePolicy"
                ),
            ),
            id="the default scheduler never does",
        ),
        pytest.param(
            demand(replace(RING, constraint=soft()), scheduler=""),
            cluster("c1"),
            PASS,
            id="a soft constraint needs nobody",
        ),
        pytest.param(
            demand(
                gang(pod_set(partition=Partition(size=1, total=1, constraint=hard(1)))),
                scheduler="",
            ),
            cluster("c1"),
            (
                "NEVER",
                "ConstraintNotHonoured",
                (
                    "scheduler default-scheduler would ignore the hard topology constraint there:"
                    " set schedulerName: member-agent in the pod template, or by an OverridePolicy"
                ),
            ),
            id="a partition's hard constraint counts too",
        ),
        pytest.param(
            demand(division=Division.COPIED), cluster("c1"), PASS, id="copies have no constraint"
        ),
    ],
)
def test_honoured(asks, member, want):
    """A hard topology constraint needs a scheduler in the cluster that keeps to it."""
    assert ask("honoured", workload("a", asks=asks), member) == want


def shared_gpus(resource):
    """A gang whose second pod set asks for a part of a shared GPU."""
    return gang(
        pod_set("plain", cpu=1), pod_set("odd", shape=pod(cpu=1, others=[(resource, 60_000)]))
    )


def not_handed_out(name, resource):
    """The refusal for this scheduler and resource."""
    return (
        "NEVER",
        "DevicesNotHonoured",
        (
            f"scheduler {name} does not hand out {resource} there: only Volcano's scheduler does; "
            "use schedulerName volcano in a cluster where it runs, or request whole devices"
        ),
    )


@pytest.mark.parametrize(
    "resource",
    [
        "volcano.sh/vgpu-number",
        "volcano.sh/vgpu-memory",
        "volcano.sh/vgpu-memory-percentage",
        "volcano.sh/vgpu-cores",
        "volcano.sh/gpu-memory",
        "volcano.sh/gpu-number",
    ],
)
@pytest.mark.parametrize(
    ("scheduler", "member", "honoured"),
    [
        pytest.param("member-agent", cluster("c1"), False, id="the agent binds by its own name"),
        pytest.param(
            "volcano",
            cluster("c1", schedulers=["volcano"]),
            False,
            id="the agent binds for volcano",
        ),
        pytest.param("", cluster("c1"), False, id="the default scheduler binds"),
        pytest.param(
            "volcano",
            cluster("c1", schedulers=["member-agent"], volcano=(True, False)),
            True,
            id="Volcano's own scheduler binds",
        ),
    ],
)
def test_shared_gpus(resource, scheduler, member, honoured):
    """Parts of shared GPUs are used only where Volcano's own scheduler hands them out."""
    asks = demand(shared_gpus(resource), scheduler=scheduler)
    want = PASS if honoured else not_handed_out(scheduler or "default-scheduler", resource)

    assert ask("devices", workload("a", asks=asks), member) == want


@pytest.mark.parametrize(
    "asks",
    [
        pytest.param(demand(RING, scheduler=""), id="whole GPUs"),
        pytest.param(demand(division=Division.COPIED), id="no pods"),
    ],
)
def test_no_shared_gpus(asks):
    """What asks for no shared GPU is bound by any scheduler."""
    assert ask("devices", workload("a", asks=asks), cluster("c1")) == PASS
