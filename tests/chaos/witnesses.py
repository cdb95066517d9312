"""Short runs that a seeded bug makes fail: each shows nothing as long as the programs are right."""

from collections.abc import Sequence
from typing import Any

from tests.chaos.run import run
from tests.chaos.story import Act
from tests.flows.federation import gang
from tests.wire import placement, priority_class, task

LEADER = "global-sched"
JOB = {"pods": 2, "gpus": 8, "tier": None, "seconds": 600}
CLASSES = Act(0, "apply", more={"objects": (priority_class("high", 1000),)})
HIGH = {"priorityClassName": "high"}
FIRST_M1 = {
    "clusterAffinities": [
        {"affinityName": "a", "clusterNames": ["m1"]},
        {"affinityName": "b", "clusterNames": ["m2"]},
    ]
}


def _submit(at: float, name: str, **more: Any) -> Act:
    return Act(at, "submit", name, JOB | more)


def _play(*acts: Act, seconds: float = 60, schedulers: int = 2, **more: Any) -> Sequence[str]:
    told = (CLASSES, *acts)
    return run(0, told, seconds=seconds, schedulers=schedulers, **more).violations


def late_write() -> Sequence[str]:
    """The placement of a leader that died arrives after the next one has given the quota away."""
    return _play(*LATE, seconds=LATE_SECONDS)


LATE_SECONDS = 80
_WRITE = {"path": "second-job"}
LATE = (
    _submit(1, "first", queue="small", seconds=12),
    _submit(5, "second", queue="small"),
    Act(8, "hold", LEADER, _WRITE),
    Act(28, "kill", LEADER),
    _submit(29, "third", queue="small", spec=HIGH),
    Act(55, "release", LEADER, _WRITE),
)


def stale_write() -> Sequence[str]:
    """The placement of a leader that died arrives after the next one has placed the same job."""
    write = {"path": "first-job"}
    return _play(
        Act(1, "hold", LEADER, write),
        _submit(2, "first", where=FIRST_M1),
        Act(8, "kill", LEADER),
        *(Act(9, "cordon", "m1", {"number": one}) for one in range(4)),
        *(Act(45, "uncordon", "m1", {"number": one}) for one in range(4)),
        Act(49, "split", "karmada", {"server": "m2"}),
        Act(50, "release", LEADER, write),
        Act(70, "join", "karmada", {"server": "m2"}),
        seconds=80,
    )


def slow_victim() -> Sequence[str]:
    """Pods of a victim go on for half a minute: its queue holds them until they have ended."""
    return _play(
        _submit(1, "low", queue="small"),
        *(Act(14, "split", "karmada", {"server": one}) for one in ("m1", "m2")),
        _submit(15, "high", queue="small", spec=HIGH, seconds=20),
        *(Act(45, "join", "karmada", {"server": one}) for one in ("m1", "m2")),
        schedulers=1,
    )


def victim_out_of_reach() -> Sequence[str]:
    """A victim runs on in a member that Karmada does not reach, and so nowhere else."""
    return _play(
        _submit(1, "low", pods=3, where=FIRST_M1),
        Act(14, "split", "karmada", {"server": "m1"}),
        _submit(15, "high", pods=4, spec=HIGH, where=placement("m1"), seconds=20),
        Act(70, "join", "karmada", {"server": "m1"}),
        seconds=90,
        schedulers=1,
    )


def forged_term() -> Sequence[str]:
    """A Lease names the last term that it can hold; the leader dies, and a job comes."""
    return _play(
        _submit(1, "first"),
        Act(10, "kill", LEADER),
        Act(11, "term", more={"term": 2**31 - 1}),
        _submit(40, "second"),
    )


def no_number() -> Sequence[str]:
    """A job that asks for more GPUs than a number holds; NaN itself an API server refuses."""
    return _play(_submit(1, "first", gpus="1e30", pods=1), seconds=30, schedulers=1)


def two_tasks() -> Sequence[str]:
    """The room of a gang's launcher goes after it was admitted: its workers do not begin alone."""
    small, large = (gang("of", gpus=gpus)["spec"]["tasks"][0]["template"] for gpus in (2, 8))
    tasks = [
        task("worker", 3, template=small, minAvailable=1),
        task("launcher", 1, template=large, minAvailable=1),
    ]
    spec = {"tasks": tasks, "minAvailable": 2}
    return _play(
        _submit(1, "filler", pods=1, gpus=4, where=placement("m2")),
        Act(12, "pause", "m2"),
        _submit(13, "pair", spec=spec, where=placement("m2")),
        *(Act(18, "cordon", "m2", {"number": one}) for one in (1, 2)),
        Act(20, "resume", "m2"),
        seconds=120,
        schedulers=1,
    )


def one_gang() -> Sequence[str]:
    """A gang is bound."""
    return _play(_submit(1, "first", tier=1), seconds=20, schedulers=1)


def refused_writes() -> Sequence[str]:
    """The control plane says ten times that a binding was written meanwhile."""
    refused = {"path": "first-job", "times": 10}
    return _play(Act(1, "refuse", LEADER, refused), _submit(2, "first"), seconds=90, schedulers=1)


def clock_ahead() -> Sequence[str]:
    """The clock of the second scheduler is a minute ahead of all others."""
    return _play(_submit(1, "first"), seconds=30, skew={"global-sched-2": 60.0})


def deleted_job() -> Sequence[str]:
    """A job that runs is deleted."""
    return _play(
        _submit(1, "first", queue="small"), Act(15, "delete", "first"), seconds=30, schedulers=1
    )


def part_of_a_name() -> Sequence[str]:
    """A policy names a cluster that is not there, and that is the beginning of another's name."""
    return _play(_submit(1, "first", where=placement("m")), seconds=20, schedulers=1)
