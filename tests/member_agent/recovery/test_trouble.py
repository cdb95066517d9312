"""The state machine of a node: trouble, probation and its caps, leaves in trouble."""

from dataclasses import replace

import pytest

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from member_agent.recovery.health import NodeHealth, health_of
from member_agent.recovery.store import parse, render
from member_agent.recovery.trouble import (
    FAILURES,
    HOUR,
    MOST_KEPT,
    PROBATION,
    Blame,
    PodFailure,
    Signal,
    TroubleState,
    next_change,
    on_probation,
    step,
)

NOW = Instant(1_000_000 * SECOND)
GRACE = 20 * SECOND
LEAVES = {f"r{rack}-{at}": f"r{rack}" for rack in range(10) for at in range(8)}


def later(seconds: float) -> Instant:
    """An instant so many seconds after NOW."""
    return Instant(NOW + round(seconds * SECOND))


def lost(*nodes: str) -> list[Signal]:
    """Nodes whose condition Ready is lost."""
    return [Signal(node=node, cause=Cause.NODE_NOT_READY, grace=GRACE) for node in nodes]


def broken(*nodes: str) -> list[Signal]:
    """Nodes with an unhealthy device."""
    return [Signal(node=node, cause=Cause.DEVICE_UNHEALTHY) for node in nodes]


def stepped(state, at, signals=(), failures=(), leaves=LEAVES, blames=()):
    """One step that a second one on the same world does not change."""
    world = {"signals": signals, "failures": failures, "leaf_of": leaves, "blames": blames}
    once = step(state, **world, now=at)
    again = step(once, **world, now=at)
    assert again == once
    return once


def after_fault(state, at, signals):
    """The state when a fault has stood for a minute and is over."""
    for seconds in (0, 30):
        state = stepped(state, Instant(at + seconds * SECOND), signals)
    return stepped(state, Instant(at + 60 * SECOND))


def test_ready_counts_as_lost_after_its_grace():
    """20 s of silence are suspicious, then the node is in trouble, from that moment."""
    first = stepped(TroubleState(), NOW, lost("r0-0"))
    early = stepped(first, later(19.9), lost("r0-0"))
    fallen = stepped(early, later(20), lost("r0-0"))

    assert (early.standing(), early.suspects) == (frozenset(), {"r0-0": NOW})
    assert next_change(early, lost("r0-0"), later(19.9)) == later(20)
    assert fallen.standing() == {"r0-0"}
    assert (fallen.nodes["r0-0"].since, fallen.nodes["r0-0"].leaf) == (later(20), "r0")
    assert health_of(fallen, LEAVES, later(20)).closed == {"r0-0"}


def test_a_blink_is_forgotten():
    """Ready that returns within the grace leaves nothing behind."""
    first = stepped(TroubleState(), NOW, lost("r0-0"))

    assert stepped(first, later(10)) == TroubleState()


def test_a_flapping_node_is_on_probation_after_the_second_time():
    """The first loss of Ready within a day is forgiven, the second one costs six hours."""
    once = after_fault(TroubleState(), NOW, lost("r0-0"))
    twice = after_fault(once, later(3600), lost("r0-0"))

    assert on_probation(once, LEAVES, later(61)) == frozenset()
    assert twice.nodes["r0-0"].count == 2
    assert twice.nodes["r0-0"].until == Instant(later(3660) + PROBATION)
    assert on_probation(twice, LEAVES, later(3661)) == {"r0-0"}
    assert on_probation(twice, LEAVES, Instant(later(3660) + PROBATION)) == frozenset()


@pytest.mark.parametrize("cause", [Cause.NODE_GONE, Cause.OUT_OF_SERVICE, Cause.DEVICE_UNHEALTHY])
def test_a_hardware_cause_is_followed_by_probation_at_once(cause):
    """Six hours from its end, not from its beginning."""
    state = after_fault(TroubleState(), NOW, [Signal(node="r0-0", cause=cause)])

    assert state.nodes["r0-0"].until == Instant(later(60) + PROBATION)
    assert health_of(state, LEAVES, later(61)).last_resort == {"r0-0"}


def test_a_taint_closes_its_node_itself():
    """A NoExecute taint is shown, and pods that tolerate it may go on going there."""
    state = stepped(TroubleState(), NOW, [Signal(node="r0-0", cause=Cause.NODE_TAINTED)])

    assert state.standing() == {"r0-0"}
    assert health_of(state, LEAVES, NOW).closed == frozenset()
    assert stepped(state, later(1)).nodes["r0-0"].until == later(1)


def test_one_namespace_alone_blames_no_node():
    """A thousand failed pods of one namespace on every node leave every node to the others."""
    crashes = [
        PodFailure(node=node, namespace="hostile", at=Instant(NOW - at))
        for node in LEAVES
        for at in range(13)
    ]
    state = stepped(TroubleState(), NOW, failures=crashes)

    assert health_of(state, LEAVES, NOW) == health_of(TroubleState(), LEAVES, NOW)


def test_two_namespaces_put_a_node_on_probation_for_an_hour():
    """An hour from the last failed pod; the node goes on taking pods where nothing else does."""
    crashes = [PodFailure(node="r0-0", namespace=space, at=NOW) for space in ("a", "b")]
    blamed = stepped(TroubleState(), NOW, failures=crashes)
    again = PodFailure(node="r0-0", namespace="b", at=later(600))
    longer = stepped(blamed, later(600), failures=[*crashes, again])

    assert health_of(blamed, LEAVES, NOW) == NodeHealth(
        probation=frozenset({"r0-0"}), last_resort=frozenset({"r0-0"})
    )
    assert blamed.nodes["r0-0"].cause is Cause.PODS_FAILING
    assert blamed.nodes["r0-0"].until == Instant(NOW + FAILURES)
    assert longer.nodes["r0-0"] == replace(
        blamed.nodes["r0-0"], until=Instant(later(600) + FAILURES)
    )
    assert health_of(longer, LEAVES, Instant(later(600) + FAILURES)).probation == frozenset()


def test_a_tenant_of_many_namespaces_closes_no_node():
    """Its failed pods on every node leave every node open, and all but a few no last resort."""
    crashes = [
        PodFailure(node=node, namespace=f"hostile-{at}", at=NOW)
        for node in LEAVES
        for at in range(13)
    ]
    found = health_of(stepped(TroubleState(), NOW, failures=crashes), LEAVES, NOW)

    assert (found.closed, found.leaves) == (frozenset(), frozenset())
    assert len(found.last_resort) == max(1, len(LEAVES) // 20)


@pytest.mark.parametrize("how", ["failed pods", "exit codes"])
def test_what_pods_do_keeps_no_broken_node_out_of_the_caps(how):
    """Four of eighty nodes are on probation: those that broke, however many pods end elsewhere."""
    broke = {"r1-0", "r3-1", "r5-2", "r7-3"}
    state = after_fault(TroubleState(), NOW, broken(*broke))
    crashes = [
        PodFailure(node=node, namespace=space, at=later(90)) for node in LEAVES for space in "ab"
    ]
    if how == "failed pods":
        state = stepped(state, later(90), failures=crashes)
    else:
        state = stepped(state, later(90), blames=blamed(*LEAVES, at=later(90)))

    assert health_of(state, LEAVES, later(90)).probation == broke


def test_what_pods_do_is_no_fall_of_their_node():
    """Ready that is lost for the first time afterwards is no second time."""
    crashes = [PodFailure(node="r0-0", namespace=space, at=NOW) for space in "ab"]
    state = stepped(TroubleState(), NOW, failures=crashes)
    for seconds in (10, 40):
        state = stepped(state, later(seconds), lost("r0-0"))
    state = stepped(state, later(50))

    assert state.nodes["r0-0"].count == 1
    assert state.nodes["r0-0"].until == Instant(NOW + FAILURES)


def test_failed_pods_make_no_probation_shorter():
    """A node that is on probation for a fault of its own stays so, for the cause that it had."""
    state = after_fault(TroubleState(), NOW, broken("r0-0"))
    crashes = [PodFailure(node="r0-0", namespace=space, at=later(90)) for space in "ab"]

    assert stepped(state, later(90), failures=crashes).nodes == state.nodes


def test_a_failure_an_hour_ahead_counts_from_now():
    """A node's clock that runs ahead does not blame it for longer."""
    ahead = [PodFailure(node="r0-0", namespace=s, at=Instant(NOW + HOUR)) for s in ("a", "b")]
    blamed = stepped(TroubleState(), NOW, failures=ahead)

    assert set(blamed.failures["r0-0"].values()) == {NOW}


def test_a_clock_that_runs_ahead_makes_no_write_per_look():
    """The first look's time stays until the clock of the node is reached."""
    ahead = [PodFailure(node="r0-0", namespace="a", at=Instant(NOW + HOUR))]
    first = stepped(TroubleState(), NOW, failures=ahead)

    assert stepped(first, later(5), failures=ahead) == first


def blamed(*nodes, code=79, at=NOW):
    """Pods that ended on these nodes with an exit code of the Policy."""
    return [Blame(node=node, code=code, at=at) for node in nodes]


def test_an_exit_code_of_the_policy_puts_its_node_on_probation():
    """For six hours from the end of the pod; the node is not closed, and one pod counts once."""
    state = stepped(TroubleState(), later(5), blames=blamed("r0-0"))
    found = health_of(state, LEAVES, later(5))

    assert (found.closed, found.last_resort) == (frozenset(), {"r0-0"})
    assert state.nodes["r0-0"].detail == "exit code 79"
    assert state.nodes["r0-0"].until == Instant(NOW + PROBATION)
    assert stepped(state, later(60), blames=blamed("r0-0")) == state
    again = stepped(state, later(60), blames=blamed("r0-0", at=later(30))).nodes["r0-0"]
    assert (again.since, again.count) == (later(30), 0)


def test_exit_codes_leave_nearly_every_node_to_the_others():
    """A hostile job that ends so everywhere: no node closed, 5 % a last resort, no leaf."""
    found = health_of(stepped(TroubleState(), NOW, blames=blamed(*LEAVES)), LEAVES, NOW)

    assert (len(found.last_resort), found.closed, found.leaves) == (4, frozenset(), frozenset())


@pytest.mark.parametrize(
    ("state", "blames"),
    [
        pytest.param(TroubleState(), blamed("elsewhere"), id="a node that is not there"),
        pytest.param(
            TroubleState(), blamed("r0-0", at=Instant(NOW - PROBATION)), id="its time is over"
        ),
        pytest.param(
            stepped(TroubleState(), NOW, broken("r0-0")), blamed("r0-0"), id="in trouble already"
        ),
    ],
)
def test_exit_codes_that_say_nothing_new(state, blames):
    """The state stays as it is."""
    signals = broken(*state.standing())

    assert stepped(state, NOW, signals, blames=blames) == state


def test_probation_is_capped_per_cluster_and_leaf_and_the_worst_stay():
    """Of 80 nodes four (5 %), of a leaf of eight two (a quarter); those that fell twice first."""
    state = after_fault(TroubleState(), NOW, broken("r0-5"))
    state = after_fault(state, later(700), broken(*(f"r0-{at}" for at in range(8)), "r1-0", "r2-0"))

    assert on_probation(state, LEAVES, later(800)) == {"r0-5", "r0-0", "r1-0", "r2-0"}


def test_at_least_one_node_may_be_on_probation():
    """However small the cluster and its leaves are."""
    small = {"r0-0": "r0", "r0-1": "r0"}
    state = after_fault(TroubleState(), NOW, broken("r0-0", "r0-1"))

    assert on_probation(state, small, later(61)) == {"r0-0"}


def test_trouble_is_not_capped():
    """Every node in trouble is closed, were it all of them."""
    state = stepped(TroubleState(), NOW, broken(*LEAVES))

    assert health_of(state, LEAVES, NOW).closed == frozenset(LEAVES)


def test_three_nodes_of_a_leaf_put_it_in_trouble():
    """Its other nodes are a last resort for ten minutes, or as long as the three stand so."""
    state = TroubleState()
    for at, node in enumerate(("r0-0", "r0-1", "r0-2")):
        fallen = [f"r0-{one}" for one in range(at + 1)]
        state = stepped(state, later(200 * at), broken(*fallen))
        if node != "r0-2":
            assert health_of(state, LEAVES, later(200 * at)).leaves == frozenset()
    found = health_of(state, LEAVES, later(5000))

    assert found.leaves == {"r0"}
    assert found.last_resort == {f"r0-{at}" for at in range(3, 8)}
    assert health_of(stepped(state, later(5000)), LEAVES, later(5001)).leaves == frozenset()


def test_failing_pods_put_no_leaf_in_trouble():
    """Only signals of the nodes themselves do: tenants cannot close a rack."""
    crashes = [
        PodFailure(node=f"r0-{at}", namespace=space, at=NOW) for at in range(3) for space in "ab"
    ]
    state = stepped(TroubleState(), NOW, failures=crashes)

    assert len(state.nodes) == 3
    assert health_of(state, LEAVES, NOW).leaves == frozenset()


def test_ten_thousand_nodes_in_trouble_are_bounded():
    """None of them takes pods, and what is written of them fits into a ConfigMap."""
    leaves = {f"n{at}": f"leaf-{at // 16}" for at in range(10_000)}
    signals = [Signal(node=node, cause=Cause.DEVICE_UNHEALTHY, detail="x" * 120) for node in leaves]
    state = stepped(TroubleState(), NOW, signals, leaves=leaves)

    assert health_of(state, leaves, NOW).closed == set(leaves)
    assert len(parse(render(state), NOW).nodes) == MOST_KEPT
    assert sum(len(text) for text in render(state).values()) < 900_000


def test_what_was_written_is_read_again():
    """A restarted agent goes on where the last one stood."""
    crashes = [PodFailure(node="r0-1", namespace=space, at=NOW) for space in "ab"]
    state = stepped(
        after_fault(TroubleState(), NOW, broken("r0-0")), later(60), lost("r0-2"), crashes
    )

    again = parse(render(state), later(60))

    assert (again.nodes, again.failures) == (state.nodes, state.failures)


def test_a_clock_an_hour_ahead_is_cut():
    """No time lies further ahead than it could by the clock of the agent that reads it."""
    state = after_fault(TroubleState(), Instant(NOW + HOUR), broken("r0-0"))

    read = parse(render(state), NOW).nodes["r0-0"]

    assert (read.since, read.until) == (NOW, Instant(NOW + PROBATION))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": {"cause": "Magic", "since": 1}}'])
def test_a_damaged_memory_says_nothing(text):
    """The nodes' own signals are read again."""
    assert parse({"nodes": text}, NOW) == TroubleState()
