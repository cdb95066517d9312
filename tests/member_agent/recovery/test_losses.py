"""Losses of workloads: their causes, and how long and how many are kept."""

from dataclasses import replace

import pytest

from global_sched.shared.api.federation import ReportLoss, ReportWorkload
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.recovery import Cause
from member_agent.recovery.losses import (
    PER_WORKLOAD,
    PodLost,
    explained,
    from_reports,
    to_wire,
    with_losses,
)
from tests.member_agent import member

NOW = Instant(1_000_000 * SECOND)
DAY = 86_400 * SECOND
JOB = BindingId("b")
LOST = PodLost(uid="u1", pod="p", node="n1", cause=Cause.EXIT_CODE, detail="3", at=NOW)


def ended(code, reason="Error"):
    """A container that ended."""
    terminated = {"exitCode": code, "reason": reason}
    return {"containerStatuses": [{"name": "c", "state": {"terminated": terminated}}]}


def disrupted(reason):
    """What Kubernetes writes before it ends a pod."""
    return {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": reason}]}


CAUSES = [
    (ended(3), "", Cause.EXIT_CODE, "3"),
    (ended(137, "OOMKilled"), "", Cause.OOM_KILLED, ""),
    (ended(137), "", Cause.EXIT_CODE, "137"),
    ({}, "OutOfcpu", Cause.REFUSED, "OutOfcpu"),
    ({}, "NodeLost", Cause.NODE_NOT_READY, "NodeLost"),
    ({}, "DeadlineExceeded", Cause.UNKNOWN, "DeadlineExceeded"),
    (disrupted("PreemptionByScheduler"), "", Cause.PREEMPTED, "PreemptionByScheduler"),
    (disrupted("EvictionByEvictionAPI"), "", Cause.EVICTED, "EvictionByEvictionAPI"),
    (disrupted("DeletionByTaintManager"), "", Cause.NODE_TAINTED, "DeletionByTaintManager"),
    (disrupted("DeletionByPodGC"), "", Cause.NODE_GONE, "DeletionByPodGC"),
]


@pytest.mark.parametrize(("status", "reason", "cause", "detail"), CAUSES)
def test_the_cause_that_a_failed_pod_tells(status, reason, cause, detail):
    """Once, when it is seen first; it is asked for no more after that."""
    pod = member.pod("a", node="n1", phase="Failed", reason=reason)
    pod["status"] |= status
    cache = member.member(pod)

    assert [(p.name, p.cause, p.detail) for p in cache.take_losses()] == [("a", cause, detail)]
    member.feed(cache, [pod])
    assert cache.take_losses() == []


def test_a_pod_that_was_only_asked_to_go_is_no_loss():
    """Nor is one that succeeded, or one that never had a node."""
    cache = member.member(
        member.pod("a", node="n1", deleted=True),
        member.pod("b", node="n1", phase="Succeeded"),
        member.pod("c", phase="Failed"),
    )

    assert cache.take_losses() == []


def test_the_trouble_of_a_node_explains_what_it_led_to():
    """Not what the program did by itself there."""
    troubled = {"n1": Cause.NODE_NOT_READY}

    assert explained(Cause.NODE_TAINTED, "n1", troubled) is Cause.NODE_NOT_READY
    assert explained(Cause.EXIT_CODE, "n1", troubled) is Cause.EXIT_CODE
    assert explained(Cause.EVICTED, "n2", troubled) is Cause.EVICTED


def test_each_pod_counts_once_and_for_a_day():
    """The last ten of a workload are kept."""
    many = [(JOB, replace(LOST, uid=f"u{at}", at=Instant(NOW + at))) for at in range(30)]
    book = with_losses({}, [*many, *many], Instant(NOW + 30))

    assert [one.uid for one in book[JOB]] == [f"u{at}" for at in range(20, 30)]
    assert len(book[JOB]) == PER_WORKLOAD
    assert with_losses(book, (), Instant(NOW + DAY + 30)) == {}


def test_the_next_agent_goes_on_with_what_was_reported():
    """What cannot be read is left out, and no time lies ahead of its clock."""
    bad = ReportLoss(uid="x", pod="p", cause="Magic", at=format_instant(NOW))
    told = [*(to_wire([LOST]) or ()), bad]
    ahead = [ReportLoss(uid="y", cause="Evicted", at=format_instant(Instant(NOW + DAY)))]
    reported = [
        ReportWorkload(binding="b", losses=told),
        ReportWorkload(binding="c", losses=ahead),
        ReportWorkload(binding="d"),
    ]

    book = from_reports(reported, NOW)

    assert book[JOB] == (LOST,)
    assert [one.at for one in book[BindingId("c")]] == [NOW]
    assert sorted(book) == ["b", "c"]
