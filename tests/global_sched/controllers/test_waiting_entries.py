"""Entries of a WaitingList: the jobs of one namespace."""

from dataclasses import replace

from global_sched.controllers.waiting_entries import by_namespace, waiting_list
from global_sched.shared.api.federation import WaitingJob
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.verdict import Code, Verdict
from tests.builders import NOW, decision, workload

REFUSED = Verdict(
    code=Code.NO_FIT,
    reason=Reason.TOPOLOGY_DOES_NOT_FIT,
    detail="waits for a rack with room for 5 pods",
    asks="a rack with room for 5 pods",
)


def outcome(one, position=1, verdict=REFUSED):
    """How a workload leaves the cycle."""
    return Outcome(
        workload=one.key,
        queue=one.queue,
        tenant=one.tenant,
        verdict=verdict,
        position=position,
    )


def jobs(*names):
    """Workloads by key."""
    found = [workload(name, queue="q") for name in names]
    return {one.key: one for one in found}


def test_an_entry():
    """Queue, place, reason, sentence, remedy and the instant since which it waits."""
    known = jobs("train")
    [one] = known.values()

    found = waiting_list([outcome(one, position=3)], known.get, NOW)

    assert found.jobs == [
        WaitingJob(
            name="train",
            kind=one.demand.kind,
            queue="q",
            position=3,
            reason="TopologyDoesNotFit",
            message="waits for a rack with room for 5 pods",
            runs_when="a rack with room for 5 pods comes free",
            since=format_instant(Instant(NOW - 3600 * SECOND)),
        )
    ]
    assert (found.total, found.more, found.then) == (1, 0, "")


def test_the_first_hundred_and_the_count_beyond():
    """By their places; kubectl's column has the five after the first and a count."""
    known = jobs(*(f"job-{at}" for at in range(120)))
    outcomes = [outcome(one, position=at + 1) for at, one in enumerate(known.values())]

    found = waiting_list(outcomes[::-1], known.get, NOW)

    assert [one.position for one in found.jobs] == list(range(1, 101))
    assert (found.total, found.more) == (120, 20)
    assert found.then == "job-1 (2), job-2 (3), job-3 (4), job-4 (5), job-5 (6), 114 more"


def test_what_has_no_place_comes_last():
    """A suspended job is listed, behind those that have a place."""
    known = jobs("held", "train")
    held = replace(REFUSED, code=Code.WAIT, reason=Reason.SUSPENDED)
    first, second = known.values()

    found = waiting_list([outcome(first, 0, held), outcome(second, 9)], known.get, NOW)

    assert [(one.name, one.position) for one in found.jobs] == [("train", 9), ("held", 0)]
    assert found.then == "held (-)"


def test_an_evicted_job_waits_since_it_was_withdrawn():
    """Not since its creation."""
    [one] = jobs("train").values()
    one = replace(one, decision=replace(decision(), evicted=Instant(NOW + 5 * SECOND)))

    found = waiting_list([outcome(one)], {one.key: one}.get, NOW)

    assert found.jobs[0].since == format_instant(Instant(NOW + 5 * SECOND))


def test_nothing_waits():
    """What runs, what is gone, and objects without a namespace are in no list."""
    [runs] = jobs("runs").values()
    admitted = Verdict(code=Code.FIT, reason=Reason.ADMITTED)
    copied = replace(outcome(runs), workload=WorkloadKey("/object"))

    assert by_namespace([outcome(runs, 1, admitted), copied]) == ({}, set())
    assert waiting_list([outcome(runs)], {}.get, NOW) is None


def test_what_the_next_cycle_decides():
    """A namespace is named apart where a cycle had no time for all of its jobs."""
    [soon] = jobs("soon").values()
    passing = Verdict(code=Code.WAIT, reason=Reason.CYCLE_LIMIT)

    assert by_namespace([outcome(soon, 2, passing)]) == ({}, {"jobs"})


def test_a_template_that_has_not_been_seen():
    """A new job is listed only when that lasts."""
    [new] = jobs("new").values()
    unseen = Verdict(code=Code.WAIT, reason=Reason.TEMPLATE_NOT_SEEN)
    soon, later = (Instant(new.created + some * SECOND) for some in (9, 10))

    assert waiting_list([outcome(new, 0, unseen)], {new.key: new}.get, soon) is None
    assert waiting_list([outcome(new, 0, unseen)], {new.key: new}.get, later).total == 1
