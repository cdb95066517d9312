"""A restarted gang returns to where it ran, and nodes that failed are avoided for a while."""

from dataclasses import replace

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.ids import DecisionId, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.cache import Key, Kind
from member_agent.scheduler.gang.placement_history import AVOIDED, PlacementHistory, render_history
from member_agent.scheduler.plan.outcome import Situation
from member_agent.scheduler.plan.round_state import UNMANAGED
from tests.member_agent.member import feed, gang_objects, member, node, pod, racks
from tests.member_agent.scheduler.rounds import nodes_of, round_of

NOW = Instant(1_000 * SECOND)


def remembering(memory, **gang):
    """The objects of a gang whose Job carries a memory."""
    job, *rest = gang_objects("g", **gang)
    job["metadata"]["annotations"] = {names.MEMORY: render_history(memory)}
    return [job, *rest]


def placed_by_us(objects):
    """The same with a plan on the PodGroup."""
    job, group, *pods = objects
    group["metadata"]["annotations"] = {names.PLAN: "{}"}
    return [job, group, *pods]


def was_in(domain, decision=UNMANAGED, **avoid):
    return PlacementHistory(
        decision=DecisionId(decision),
        domain=DomainId(domain),
        avoid={name.replace("_", "-"): Instant(until) for name, until in avoid.items()},
    )


@pytest.mark.parametrize(
    ("memory", "others", "want"),
    [
        pytest.param(
            was_in("r1"), [], {"r1-0", "r1-1"}, id="back to its rack, though another comes first"
        ),
        pytest.param(
            was_in("r2"),
            [pod("x", gpus=1, node="r2-0")],
            {"r3-0", "r3-1"},
            id="to the closest rack when its own is taken",
        ),
        pytest.param(was_in("gone"), [], {"r0-0", "r0-1"}, id="anywhere when its rack is gone"),
        pytest.param(
            was_in("r1", decision="older"), [], {"r0-0", "r0-1"}, id="not by an older decision"
        ),
        pytest.param(
            was_in("r1", r1_0=NOW + 1), [], {"r1-1", "r1-2"}, id="without the node that failed"
        ),
        pytest.param(
            was_in("r1", r1_0=NOW), [], {"r1-0", "r1-1"}, id="with it once its time is over"
        ),
        pytest.param(
            was_in("r1", **{f"r{rack}_{at}": NOW + 1 for rack in range(4) for at in range(2)}),
            [pod("x", gpus=1, node=f"r{rack}-2") for rack in range(4)]
            + [pod("y", gpus=1, node=f"r{rack}-2") for rack in range(4)],
            {"r1-0", "r1-1"},
            id="on failed nodes rather than not at all",
        ),
    ],
)
def test_a_whole_restart(memory, others, want):
    """All pods are new, the PodGroup is new: the Job's annotation alone tells where they ran."""
    tree = racks(4, 3)
    spine = tree.pop()
    spine["spec"]["members"] = spine["spec"]["members"][:2]
    near = {**spine, "metadata": {**spine["metadata"], "name": "near", "uid": "uid-near"}}
    near["spec"] = {**spine["spec"]}
    near["spec"]["members"] = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": name}}} for name in ("r2", "r3")
    ]
    if any(o["metadata"]["name"] == "x" and len(others) == 1 for o in others):
        others = [*others, pod("z", gpus=1, node="r2-1"), pod("w", gpus=1, node="r2-2")]
    cache = member(tree, [spine, near], remembering(memory, pods=2, tier=1), others)

    round_ = round_of(cache, Situation(now=NOW))

    assert set(nodes_of(round_).values()) == want


def told(round_):
    return {unit.name: text for unit, text in round_.histories}


def test_the_memory_is_written_once_the_minimum_runs():
    """What is remembered is where all pods are; then nothing is written any more."""
    objects = placed_by_us(gang_objects("g", pods=2, tier=1, nodes=["r1-0", "r1-1"]))
    cache = member(racks(2, 2), objects)

    memory = replace(was_in("r1"), reached=frozenset({"uid-group-g-pg"}))
    assert told(round_of(cache, Situation(now=NOW))) == {"g-pg": render_history(memory)}

    known = remembering(memory, pods=2, tier=1, nodes=["r1-0", "r1-1"])
    done = member(racks(2, 2), placed_by_us(known))
    assert told(round_of(done, Situation(now=NOW))) == {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda cache: feed(cache, [node("r0-1", ready=False)]), id="not ready"),
        pytest.param(lambda cache: cache.delete(Kind.NODE, Key(("", "r0-1"))), id="deleted"),
        pytest.param(
            lambda cache: feed(
                cache,
                [pod("g-old", node="r0-1", phase="Failed", reason="NodeShutdown", group="g-pg")],
            ),
            id="it shut down",
        ),
    ],
)
def test_a_failed_node_is_remembered(change):
    """A node that fails under a gang is avoided from then on, for its time."""
    objects = remembering(was_in("r0"), pods=2, tier=1, nodes=["r0-0", "r0-1"])
    cache = member(racks(2, 2), placed_by_us(objects))
    change(cache)

    text = told(round_of(cache, Situation(now=NOW)))["g-pg"]

    assert f'"avoid":{{"r0-1":{NOW + AVOIDED}}}' in text


def test_a_memory_that_cannot_be_read_is_none():
    """Edited text changes nothing."""
    job, *rest = gang_objects("g", pods=2, tier=1)
    job["metadata"]["annotations"] = {names.MEMORY: '{"domain": 7'}

    round_ = round_of(member(racks(2, 2), job, rest), Situation(now=NOW))

    assert set(nodes_of(round_).values()) == {"r0-0", "r0-1"}


@pytest.mark.parametrize(
    ("blamed", "want"),
    [
        pytest.param({("g", "r0-0")}, "r0-1", id="blamed by a pod of its Job"),
        pytest.param({("uid-other", "r0-0")}, "r0-0", id="blamed by another Job"),
        pytest.param({("g", "r0-0"), ("g", "r0-1")}, "r0-0", id="both: better than none"),
    ],
)
def test_a_node_that_an_exit_code_blames_is_avoided_by_its_job_alone(blamed, want):
    """At once, before anything is written down, and as long as it fits without."""
    gang = gang_objects("g", pods=2, gpus=8, nodes=["r0-2"])
    named = frozenset((gang[0]["metadata"]["uid"] if o == "g" else o, node) for o, node in blamed)
    found = round_of(member(racks(1, 3), gang), Situation(blamed=named, now=NOW))

    assert nodes_of(found) == {"g-worker-1": want}
