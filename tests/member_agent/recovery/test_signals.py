"""Signals of nodes, and names that may be freed, by a cache."""

import pytest

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from member_agent.recovery.freeing import Fencing, LeaseSeen, names_to_free, nodes_off
from member_agent.recovery.signals import blames, leaf_of, node_signals, parse_conditions
from member_agent.recovery.trouble import NodeTrouble, TroubleState
from tests.member_agent import member

NOW = Instant(1_000_000 * SECOND)
OFF = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}
CONDITIONS = parse_conditions(("GpuHealthy=False", "KernelDeadlock=True"))


def signals(cache):
    """(node, cause, detail, grace in seconds) of every signal."""
    found = node_signals(
        cache, grace=20 * SECOND, conditions=CONDITIONS, dedicated=("team.example/own",)
    )
    return [(one.node, one.cause, one.detail, one.grace // SECOND) for one in found]


def node(name, *, conditions=(), **fields):
    """A node with further conditions."""
    made = member.node(name, **fields)
    made["status"]["conditions"] += [{"type": t, "status": s} for t, s in conditions]
    return made


def test_a_sound_node_has_no_signal():
    """Nor has one whose NoExecute taint reserves it, or repeats what Ready says."""
    own = {"key": "team.example/own", "effect": "NoExecute"}
    again = {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}
    healthy = [("GpuHealthy", "True"), ("KernelDeadlock", "False"), ("Hostile" * 100, "True")]

    cache = member.member(
        node("n1", conditions=healthy), node("n2", taints=[own]), node("n3", taints=[again])
    )

    assert signals(cache) == []


def test_every_signal():
    """Each with its cause; only Ready and a missing Node have a grace."""
    drain = {"key": "maintenance", "effect": "NoExecute"}
    cache = member.member(
        node("n1", ready=False),
        node("n2", taints=[OFF]),
        node("n3", taints=[drain]),
        node("n4", conditions=[("GpuHealthy", "False")]),
        member.pod("a", node="gone"),
    )

    assert signals(cache) == [
        ("gone", Cause.NODE_GONE, "", 20),
        ("n1", Cause.NODE_NOT_READY, "Ready is False", 20),
        ("n2", Cause.OUT_OF_SERVICE, "", 0),
        ("n3", Cause.NODE_TAINTED, "taint maintenance", 0),
        ("n4", Cause.DEVICE_UNHEALTHY, "GpuHealthy is False", 0),
    ]


def test_a_hostile_node_makes_one_short_signal_of_each_cause():
    """Ten thousand conditions and taints, an endless status, a word that a terminal obeys."""
    many = [("GpuHealthy", "False")] * 10_000
    taints = [{"key": f"{'x' * 300}{at:04}", "effect": "NoExecute"} for at in range(1000)]
    made = node("n1", conditions=many, taints=taints, ready=False)
    made["status"]["conditions"][0]["status"] = "\x1b[2J" + "y" * 5000

    found = signals(member.member(made))

    assert [cause for _, cause, _, _ in found] == [
        Cause.NODE_TAINTED,
        Cause.DEVICE_UNHEALTHY,
        Cause.NODE_NOT_READY,
    ]
    assert all(len(detail) < 140 and detail.isprintable() for _, _, detail, _ in found)


def test_leaves_are_the_smallest_hyper_nodes():
    """A node outside the tree has none."""
    cache = member.member(*member.racks(1, 2), node("alone"))

    assert leaf_of(cache) == {"r0-0": "r0", "r0-1": "r0", "alone": ""}


@pytest.mark.parametrize("text", ["GpuHealthy", "=True", "Ready=False", "A=maybe"])
def test_a_condition_that_is_none_is_refused(text):
    """With what to write instead."""
    with pytest.raises(ValueError, match=r"is not TYPE=STATUS .* write for example"):
        parse_conditions((text,))


def test_any_container_of_a_lost_pod_may_blame_its_node():
    """Only codes of the Policy do, and only of pods that failed as a whole."""
    ends = [
        {"name": name, "state": {"terminated": {"exitCode": code}}}
        for name, code in (("a", 1), ("b", 79))
    ]
    lost = member.pod("lost", node="n1", phase="Failed")
    lost["status"]["containerStatuses"] = ends
    runs = member.pod("runs", node="n2")
    runs["status"]["containerStatuses"] = ends
    cache = member.member(lost, runs)
    taken = cache.take_losses()

    assert [(one.node, one.code) for one in blames(taken, (79, 80))] == [("n1", 79)]
    assert blames(taken, ()) == []


def freed(cache, state, fencing, leases=None, now=NOW):
    """Names of pods that may be freed, with the cause."""
    off = nodes_off(cache, state, fencing=fencing, leases=leases or {}, now=now)
    return [(pod.name, cause) for pod, cause in names_to_free(cache, off, {member.AGENT})]


def trouble(name, cause):
    """A state with one node in trouble."""
    return TroubleState(nodes={name: NodeTrouble(cause=cause, since=NOW)})


def test_a_name_is_freed_where_the_node_is_gone_or_out_of_service():
    """And never by a node that only is not ready, nor with the rule `never`."""
    gone = member.member(member.pod("a", node="n1"))
    off = member.member(member.pod("a", node="n1"), node("n1", ready=False, taints=[OFF]))
    alive = member.member(member.pod("a", node="n1"), node("n1", taints=[OFF]))
    lost = member.member(member.pod("a", node="n1"), node("n1", ready=False))
    rule = Fencing.OUT_OF_SERVICE

    assert freed(gone, trouble("n1", Cause.NODE_GONE), rule) == [("a", Cause.NODE_GONE)]
    assert freed(off, trouble("n1", Cause.OUT_OF_SERVICE), rule) == [("a", Cause.OUT_OF_SERVICE)]
    assert freed(alive, trouble("n1", Cause.OUT_OF_SERVICE), rule) == []
    assert freed(lost, trouble("n1", Cause.NODE_NOT_READY), rule) == []
    assert freed(gone, trouble("n1", Cause.NODE_GONE), Fencing.NEVER) == []


def test_a_node_that_came_back_frees_nothing():
    """Though its trouble still says that it was gone."""
    back = member.member(member.pod("a", node="n1"), node("n1"))

    assert freed(back, trouble("n1", Cause.NODE_GONE), Fencing.OUT_OF_SERVICE) == []


def test_a_missed_lease_frees_where_the_admin_switched_it_on():
    """After twice its duration since its renewal was seen last, never for another scheduler."""
    forever = [{"operator": "Exists"}]
    cache = member.member(
        member.pod("a", node="n1"),
        member.pod("stays", node="n1", spec={"tolerations": forever}),
        member.pod("other", node="n1", scheduler="default-scheduler"),
        node("n1", ready=False),
    )
    state = trouble("n1", Cause.NODE_NOT_READY)
    seen = {"n1": LeaseSeen(renewed="x", seen=NOW, duration=40 * SECOND)}
    early, due = Instant(NOW + 80 * SECOND - 1), Instant(NOW + 80 * SECOND)

    assert freed(cache, state, Fencing.LEASE, seen, early) == []
    assert freed(cache, state, Fencing.LEASE, seen, due) == [("a", Cause.NODE_NOT_READY)]
    assert freed(cache, state, Fencing.LEASE, {}, due) == []
    assert freed(cache, state, Fencing.OUT_OF_SERVICE, seen, due) == []
