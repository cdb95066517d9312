"""Events in virtual time: what runs when, and what evictions, pauses and growth cost."""

import pytest

from global_sched.shared.model.instant import SECOND
from global_sched.sim.engine import Stage
from global_sched.sim.gates import nodes
from global_sched.sim.jobs import Gangs, Job
from global_sched.sim.member import Member


def job(number, submit, duration, **more):
    """A job by seconds; one pod of one GPU unless it says otherwise."""
    fields = {"pods": 1, "gpus": 1} | more
    return Job(
        number=number,
        name=f"job-{number}",
        submit=submit * SECOND,
        duration=duration * SECOND,
        **fields,
    )


class Script:
    """An arm that does what is written, at the times that are written."""

    def __init__(self, acts):
        self.acts, self.log = acts, []

    def arrive(self, one):
        self.log.append(("arrive", one.name))

    def ended(self, one):
        self.log.append(("ended", one.name))

    def decide(self, now):
        self.log.append(("decide", now // SECOND))
        for act in self.acts.pop(now // SECOND, ()):
            act()
        return min((at * SECOND for at in self.acts), default=None)


def played(jobs, acts, gpus=4, tick=0, checkpoint=0):
    """The stage and the script after the last event; `acts` by second take the stage."""
    stage = Stage(jobs, [Member("east", nodes(1, gpus))], Gangs(), checkpoint * SECOND)
    script = Script({at: [lambda act=act: act(stage) for act in those] for at, those in acts})
    stage.run(script, tick=tick * SECOND)
    return stage, script


def test_all_events_of_an_instant_come_before_one_decision():
    """Ends first, then arrivals, then one decision."""
    first, second, third = job(0, 0, 10), job(1, 10, 5), job(2, 10, 5)

    stage, script = played([first, second, third], [(0, [lambda s: s.start(first, 0)])])

    at_ten = script.log[script.log.index(("decide", 0)) + 1 :]
    assert at_ten[:4] == [
        ("ended", "job-0"),
        ("arrive", "job-1"),
        ("arrive", "job-2"),
        ("decide", 10),
    ]
    assert stage.history[0].ended == 10 * SECOND


def test_an_evicted_job_does_all_its_work_again():
    """What it had done is lost, and counted in GPU time."""
    one = job(0, 0, 100, gpus=2)

    stage, _ = played(
        [one],
        [
            (0, [lambda s: s.start(one, 0)]),
            (60, [lambda s: s.evict(one)]),
            (90, [lambda s: s.start(one, 0)]),
        ],
    )

    history = stage.history[0]
    assert history.started == 0
    assert history.ended == 190 * SECOND
    assert (history.evictions, history.lost) == (1, 120 * SECOND)
    assert history.spans == [(0, 60 * SECOND, 1, 0), (90 * SECOND, 190 * SECOND, 1, 0)]


def test_an_evicted_job_goes_on_from_its_last_checkpoint():
    """Of 90 seconds of work of two pods the first 80 are kept with one after each 40."""
    one = job(0, 0, 100, pods=2, gpus=1)
    acts = [
        (0, [lambda s: s.start(one, 0)]),
        (90, [lambda s: s.evict(one)]),
        (95, [lambda s: s.start(one, 0)]),
    ]

    stage, _ = played([one], acts, checkpoint=40)

    history = stage.history[0]
    assert (history.evictions, history.lost) == (1, 20 * SECOND)
    assert history.ended == (95 + 20) * SECOND


def test_a_paused_job_goes_on_where_it_stopped():
    """As simulators of preemption at no cost have it."""
    one = job(0, 0, 100)

    stage, _ = played(
        [one],
        [
            (0, [lambda s: s.start(one, 0)]),
            (60, [lambda s: s.pause(one)]),
            (90, [lambda s: s.start(one, 0)]),
        ],
    )

    assert stage.history[0].ended == 130 * SECOND
    assert stage.history[0].lost == 0


def test_an_elastic_job_works_as_fast_as_it_has_pods():
    """Half of the pods for half of the work, then all of them."""
    one = job(0, 0, 100, pods=4, minimum=2)

    stage, _ = played(
        [one],
        [(0, [lambda s: s.start(one, 0, pods=2)]), (100, [lambda s: s.resize(one, 4)])],
    )

    assert stage.history[0].ended == 150 * SECOND
    assert [span[2] for span in stage.history[0].spans] == [2, 4]


def test_a_decision_without_room_is_counted_and_starts_nothing():
    """What a member cannot bind is a defect of the arm."""
    first, second = job(0, 0, 10, gpus=4), job(1, 0, 10, gpus=4)

    stage, _ = played(
        [first, second], [(0, [lambda s: s.start(first, 0), lambda s: s.start(second, 0)])]
    )

    assert stage.misplaced == 1
    assert stage.history[1].started is None


@pytest.mark.parametrize(("tick", "decided"), [(0, [0, 7, 10]), (5, [0, 10])])
def test_a_tick_joins_the_events_before_it(tick, decided):
    """Jobs come and end at their own times; decisions wait for the tick."""
    first, second = job(0, 0, 10), job(1, 7, 3)

    _, script = played([first, second], [(0, [lambda s: s.start(first, 0)])], tick=tick)

    assert [at for what, at in script.log if what == "decide"] == decided


def test_moments_say_what_is_bound_and_what_waits():
    """Each moment holds until the next."""
    first, second = job(0, 0, 10, gpus=3), job(1, 4, 10, gpus=2)

    stage, _ = played(
        [first, second],
        [(0, [lambda s: s.start(first, 0)]), (10, [lambda s: s.start(second, 0)])],
    )

    shown = [(m.at // SECOND, m.bound, m.waiting, m.waiting_gpus) for m in stage.moments]
    assert shown == [(0, 3, 0, 0), (4, 3, 1, 2), (10, 2, 0, 0), (20, 0, 0, 0)]
