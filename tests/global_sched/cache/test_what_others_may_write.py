"""Forged decisions: the most that each field can do (docs/design/0006)."""

import json
from dataclasses import replace

import pytest

from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.decision import Backoff, Claim, ClaimPart, Decision, Grant, sealed
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from tests.global_sched.cache.worlds import state_of, workload_in
from tests.wire import NOW, binding, cluster_object, decode, report, vcjob

DECISION_KEY = "decision.global-sched.io/decision"
FAR = parse_instant("9999-12-31T23:59:59Z")
WEEK = 7 * 24 * 3600 * SECOND
JOB = vcjob("train", replicas=4, gpus=8)
KEY = "team-a/train-job"


def forged(**fields):
    """A decision of four pods in m1 with these fields, and the id that its content has."""
    content = {
        "grants": (Grant(cluster="m1", amounts=Amounts.of({"worker": 4}), domain="rack-0"),),
        "at": NOW - 60 * SECOND,
        "order": 3,
        "epoch": 5,
    } | fields
    return sealed(Decision(id="", **content), "id-train-job")


def read(decision, *, clusters=("m1",), term=5, text=None):
    """The State of a leader that gets the binding with this decision NOW, and its workload."""
    state = state_of(cluster_object("m1"), report("m1", nodes=4), JOB)
    state.begin_term(term)
    notes = {DECISION_KEY: text or render_decision(decision)}
    wire = decode(binding(JOB, clusters=list(clusters), annotations=notes), ResourceBinding)
    state.upsert_binding(wire, NOW)
    return state, workload_in(state, KEY)


def test_epochs_of_the_present_term_and_before_are_believed():
    """No decision is dropped for its epoch alone."""
    for epoch in (0, 1, 5):
        decision = forged(epoch=epoch)
        state, workload = read(decision)
        assert not state.beyond_term()
        assert (workload.decision, workload.forged) == (decision, "")


@pytest.mark.parametrize("epoch", [6, 2**31 - 1, 2**62])
def test_an_epoch_beyond_the_term_is_asked_about_and_not_believed(epoch):
    """It waits for the Lease's word; then amounts come from spec.clusters, and all is reported."""
    decision = forged(epoch=epoch)
    state, workload = read(decision)
    assert state.beyond_term() == {KEY: decision}
    assert workload.forged == ""

    state.disbelieve(state.beyond_term())

    workload = workload_in(state, KEY)
    assert not state.beyond_term()
    assert f"its term {epoch} is one that the Lease has not given" in workload.forged
    [grant] = workload.decision.grants
    assert (grant.cluster, grant.amounts) == ("m1", Amounts.of({"worker": 4}))
    assert [one.topic for one in state.notices.take()] == ["DecisionNotBelieved"]
    [usage] = state.snapshot().usage
    assert usage.amount.get("nvidia.com/gpu") == 32


def test_a_follower_judges_no_epochs():
    """Only a leader knows the present term."""
    state, workload = read(forged(epoch=2**62), term=0)

    assert not state.beyond_term()
    assert workload.forged == ""


def test_a_later_term_believes_what_it_has_passed():
    """A term that has reached the epoch has no reason to doubt it."""
    state, _ = read(forged(epoch=9))
    state.disbelieve(state.beyond_term())
    state.end_term()
    state.begin_term(9)

    assert workload_in(state, KEY).forged == ""
    assert not state.beyond_term()


@pytest.mark.parametrize("field", ["at", "claimed", "evicted", "started"])
@pytest.mark.parametrize(
    ("when", "want"),
    [
        pytest.param(FAR, NOW, id="the year 9999"),
        pytest.param(NOW + SECOND, NOW, id="a second ahead"),
        pytest.param(NOW - SECOND, NOW - SECOND, id="the past stays"),
    ],
)
def test_nothing_was_decided_after_it_arrived(field, when, want):
    """Timeouts and holds begin at the arrival at the latest."""
    _, workload = read(forged(**{field: Instant(when)}))

    assert workload.forged == ""
    assert getattr(workload.decision, field) == want
    assert workload.decision.grants[0].domain == "rack-0"


def test_a_claim_began_when_it_arrived():
    """Its place in the order in which room is given is not in the future."""
    claim = Claim(
        parts=(ClaimPart(cluster="m1", amounts=Amounts.of({"worker": 4})),), since=FAR, until=FAR
    )
    _, workload = read(forged(grants=(), claim=claim), clusters=())

    assert workload.decision.claim == replace(claim, since=NOW)


def test_a_back_off_lasts_a_week_at_most():
    """A forged one keeps its own workload from a cluster, and not for ever."""
    short = Backoff(cluster="m3", until=Instant(NOW + SECOND), failures=2**62)
    decision = forged(backoffs=(Backoff(cluster="m2", until=FAR), short))
    _, workload = read(decision)

    assert workload.decision.backoffs == (
        Backoff(cluster="m2", until=Instant(NOW + WEEK)),
        short,
    )


@pytest.mark.parametrize(
    ("grant", "clusters", "want"),
    [
        pytest.param({"cluster": "m2"}, ["m1"], "spec.clusters names m1", id="another cluster"),
        pytest.param({"replicas": 9}, ["m1"], "it gives m1 9 replicas", id="other replicas"),
        pytest.param({"amounts": Amounts.of({"worker": 2**62})}, ["m1"], "", id="2^62 pods"),
        pytest.param({"amounts": Amounts.of({"x": 9, "worker": 9})}, ["m1"], "", id="a pod set"),
        pytest.param({"domain": "nowhere", "tier": -7}, ["m1"], "", id="a domain that is not"),
    ],
)
def test_grants_take_what_the_template_asks_for(grant, clusters, want):
    """Whatever is granted on paper, the queue is charged for the job, and its room is taken."""
    fields = {"cluster": "m1", "amounts": Amounts.of({"worker": 4})} | grant
    state, workload = read(forged(grants=(Grant(**fields),)), clusters=clusters)

    assert (want in workload.forged) if want else workload.forged == ""
    snapshot = state.snapshot()
    [usage] = snapshot.usage
    assert (usage.cluster, usage.amount.get("nvidia.com/gpu")) == ("m1", 32)
    [cluster] = snapshot.clusters
    assert [leaf.free[1] for leaf in cluster.capacity.topology.leaves] == [0]


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"id": "0" * 20}, "does not match its content", id="id"),
        pytest.param({"at": "yesterday"}, "cannot be read", id="at"),
        pytest.param({"epoch": -1}, "cannot be read", id="a negative epoch"),
        pytest.param({"priority": 2**31}, "cannot be read", id="priority"),
        pytest.param({"order": 2**63}, "cannot be read", id="order"),
    ],
)
def test_what_no_leader_writes_is_decided_anew(fields, want):
    """It is reported, and the room is taken as spec.clusters says."""
    text = json.dumps(json.loads(render_decision(forged())) | fields)
    _, workload = read(None, text=text)

    assert want in workload.forged
    assert workload.decision.grants[0].amounts == Amounts.of({"worker": 4})


def test_pending_is_what_the_template_lacks():
    """A forged growth asks for nothing."""
    _, workload = read(forged(pending=Amounts.of({"worker": 10**6})))

    assert not workload.lacking().entries
    assert not workload.settled()


def test_evictions_double_a_hold_three_times_at_most():
    """More are cut when they are read."""
    _, workload = read(forged(evictions=3))
    text = render_decision(forged(evictions=3)).replace('"evictions":3', '"evictions":4000')
    _, more = read(None, text=text)

    assert workload.decision.evictions == more.decision.evictions == 3
