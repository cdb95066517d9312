"""Progress that a round notes, to be known after a restart: whose minimum was bound."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.ids import BindingId, DecisionId
from member_agent.scheduler.gang.placement_history import PlacementHistory, render_history
from member_agent.scheduler.plan.outcome import Situation
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, member, racks
from tests.member_agent.scheduler.rounds import round_of


def test_the_minimum_is_noted():
    """Once the minimum is bound under a decision, the round says so, and what is to be noted."""
    job, *rest = gang_objects("g", pods=2, binding="b", nodes=["r0-0", "r0-1"])
    told = directive(entry("b", {"worker": 2}))

    round_ = round_of(member(racks(1, 2), job, rest, told))

    assert round_.reached == {"b": "decision-b"}
    [(unit, text)] = round_.histories
    assert unit.key == "PodGroup/team/g-pg"
    assert round_.notes == (), "one write is enough"

    job["metadata"]["annotations"] = {names.MEMORY: text}
    assert round_of(member(racks(1, 2), job, rest, told)).histories == ()


def test_a_gang_without_a_memory_is_noted_on_its_holder():
    """Where no root owner remembers the gang, its PodGroup says that the minimum was bound."""
    [_, group, *pods] = gang_objects("g", pods=2, binding="b", nodes=["r0-0", "r0-1"])
    for each in (group, *pods):
        each["metadata"].pop("ownerReferences", None)
        each["metadata"].setdefault("labels", {})[names.BINDING_ID] = "b"

    round_ = round_of(member(racks(1, 2), group, pods, directive(entry("b", {"worker": 2}))))

    assert [(unit.key, decision) for unit, decision in round_.notes] == [
        ("PodGroup/team/g-pg", "decision-b")
    ]
    assert round_.histories == ()


@pytest.mark.parametrize(
    ("decision", "holder", "want"),
    [
        pytest.param("decision-b", "uid-group-g-pg", {"b": "decision-b"}, id="this PodGroup's"),
        pytest.param("decision-b", "uid-of-another", {}, id="another PodGroup's"),
        pytest.param("decision-a", "uid-group-g-pg", {}, id="under another decision"),
    ],
)
def test_a_minimum_that_the_job_remembers(decision, holder, want):
    """After a restart the Job's memory alone tells whose minimum was bound, and under what."""
    [job, *rest] = gang_objects("g", pods=2, binding="b", nodes=["r0-0"])
    memory = PlacementHistory(decision=DecisionId(decision), reached=frozenset({holder}))
    job["metadata"]["annotations"] = {names.MEMORY: render_history(memory)}

    round_ = round_of(member(racks(1, 2), job, rest, directive(entry("b", {"worker": 2}))))

    assert round_.reached == want


def test_a_minimum_that_was_reached_stays_reached():
    """Later losses are the Job's own business; a new decision counts anew."""
    cache = member(
        racks(1, 2),
        gang_objects("g", pods=2, binding="b", nodes=["r0-0"]),
        directive(entry("b", {"worker": 2})),
    )
    before = Situation(reached={BindingId("b"): DecisionId("decision-b")})
    assert round_of(cache, before).reached == {"b": "decision-b"}

    other = Situation(reached={BindingId("b"): DecisionId("decision-old")})
    assert round_of(cache, other).reached == {}
