"""Leaders whose writes arrive at any time: no world stays over a limit."""

import copy
import json
from itertools import permutations

import pytest

from global_sched.core import run_cycle
from global_sched.dispatch.patches import admission_patch, withdrawal_patch
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from tests.global_sched.cache.worlds import state_of
from tests.wire import NOW, binding, cluster_object, decode, queue, report, vcjob

POLICY = Policy(patience_seconds=0)
LIMIT = 5
MEMBERS = ("m1", "m2")


class Server:
    """Bindings with versions: a write counts when it names the present version."""

    def __init__(self, jobs):
        self.version = 10
        self.bindings = {}
        self.log = []
        self.waiting = [binding(job, created=10 - i) for i, job in enumerate(jobs)]
        self.submit()

    def submit(self):
        """The next job, which goes before those that are there."""
        if self.waiting:
            self._store(self.waiting.pop(0))

    def _store(self, one):
        self.version += 1
        one["metadata"]["resourceVersion"] = str(self.version)
        self.bindings[one["metadata"]["name"]] = one
        self.log.append(copy.deepcopy(one))

    def patch(self, name, body):
        one = copy.deepcopy(self.bindings[name])
        if body["metadata"]["resourceVersion"] != one["metadata"]["resourceVersion"]:
            return False
        one["metadata"].setdefault("annotations", {}).update(body["metadata"]["annotations"])
        one["spec"]["clusters"] = body["spec"]["clusters"] or []
        self._store(one)
        return True

    def held(self):
        """GPUs of everything that has clusters."""
        return sum(
            sum(grant["amounts"]["worker"] for grant in decision["grants"])
            for one in self.bindings.values()
            if one["spec"].get("clusters")
            for decision in [
                json.loads(one["metadata"]["annotations"]["decision.global-sched.io/decision"])
            ]
        )


class Leader:
    """One process with its own view of the server, and writes that are under way."""

    def __init__(self, server, jobs, epoch):
        self.server, self.seen, self.writes = server, 0, []
        members = [cluster_object(name) for name in MEMBERS]
        reports = [report(name, nodes=4) for name in MEMBERS]
        limits = queue("default", capability={"nvidia.com/gpu": str(LIMIT)})
        self.state = state_of(*members, *reports, limits, *jobs)
        self.watch(len(server.log))
        self.state.begin_term(epoch)
        self.epoch = epoch

    def watch(self, events):
        """Take in the next events."""
        for one in self.server.log[self.seen : self.seen + events]:
            self.state.upsert_binding(decode(one, ResourceBinding))
            self.seen += 1

    def decide(self, now):
        """One cycle; its writes are under way from then on. Whether there were any."""
        plan = run_cycle(self.state.snapshot(), POLICY, now)
        for action in (*plan.admissions, *plan.withdrawals):
            self.state.assume(action, now)
        for admission in plan.admissions:
            self.writes.append((admission, admission_patch(admission, "{}")))
        for withdrawal in plan.withdrawals:
            body = withdrawal_patch(withdrawal, [])
            self.writes.append((withdrawal, body))
        return bool(plan.admissions or plan.withdrawals)

    def land(self):
        """The oldest write that is under way arrives."""
        if self.writes:
            action, body = self.writes.pop(0)
            name = str(action.workload).partition("/")[2]
            if self.server.patch(name, body):
                self.state.refresh(decode(self.server.bindings[name], ResourceBinding))
            self.state.forget(action.workload)


STEPS = ("submit", "elect", "decide", "land new", "land old", "watch")


def play(sizes, steps):
    """An old leader has decided and writes; what comes then; the world when it is at rest."""
    jobs = [vcjob(f"j{i}", replicas=size, gpus=1) for i, size in enumerate(sizes)]
    server = Server(jobs)
    old = new = Leader(server, jobs, 1)
    old.decide(NOW)
    now, epoch = NOW, 1
    for what in steps:
        now = Instant(now + SECOND)
        if what == "submit":
            server.submit()
        elif what == "elect":
            epoch += 1
            new = Leader(server, jobs, epoch)
        elif what == "decide":
            new.decide(now)
        elif what == "watch":
            new.watch(1)
        else:
            (new if what == "land new" else old).land()
    for _ in range(12):
        while old.writes or new.writes:
            old.land()
            new.land()
        new.watch(len(server.log))
        now = Instant(now + SECOND)
        if not new.decide(now):
            return server
    raise AssertionError("it does not come to rest")


@pytest.mark.parametrize("sizes", [[5, 5], [2, 4], [3, 3, 3]], ids=str)
def test_no_world_stays_over_a_limit(sizes):
    """Whatever order submissions, elections, decisions, writes and events come in."""
    for steps in permutations(STEPS):
        if not steps.index("elect") < steps.index("decide") < steps.index("land new"):
            continue
        held = play(sizes, steps).held()
        assert 0 < held <= LIMIT, steps


def test_a_late_write_that_keeps_to_the_limits_stays():
    """It is written anew under the present term, once."""
    server = play([2, 3], ("submit", "elect", "decide", "land new", "land old", "watch"))

    assert server.held() == LIMIT
    text = "decision.global-sched.io/decision"
    notes = [one["metadata"]["annotations"][text] for one in server.bindings.values()]
    assert [json.loads(note)["epoch"] for note in notes] == [2, 2]


def test_a_late_write_over_the_limit_is_withdrawn_with_its_reason():
    """What was decided meanwhile stays."""
    server = play([5, 5], ("submit", "elect", "decide", "land new", "land old", "watch"))

    assert [bool(one["spec"]["clusters"]) for one in server.bindings.values()] == [False, True]
