"""The plan annotation: written, read back, and refused when it was edited."""

import pytest

from global_sched.shared.model.ids import DecisionId
from member_agent.cache import PodUid
from member_agent.scheduler.gang.bind_plan import (
    TEXT_LIMIT,
    BindPlan,
    PlanError,
    parse_plan,
    plan_hash,
    render_plan,
)


def plan(pods, *, decision="d"):
    nodes = {PodUid(f"{at:08x}-0000-4000-8000-{at:012x}"): f"node-{at % 7}" for at in range(pods)}
    return BindPlan(decision=DecisionId(decision), nodes=nodes)


@pytest.mark.parametrize("pods", [0, 1, 64, 6000])
def test_round_trip(pods):
    """Every pod has its node back, in as much text as an annotation may hold."""
    made = plan(pods)
    text = render_plan(made)
    read = parse_plan(text)

    assert len(text) <= TEXT_LIMIT + 50
    assert read.decision == "d"
    assert {uid: read.node_of(uid) for uid in made.nodes} == made.nodes
    assert read.node_of(PodUid("ffffffff-somebody-else")) == ""


def test_text_is_readable():
    """Hash, decision, and pod uid to node."""
    assert render_plan(BindPlan(decision=DecisionId("d"), nodes={PodUid("u"): "n"})) == (
        f'{{"hash":"{plan_hash({PodUid("u"): "n"})}","decision":"d","pods":{{"u":"n"}}}}'
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("{}", "cannot be read", id="no hash"),
        pytest.param("[" * 5000, "cannot be read", id="nested beyond measure"),
        pytest.param('{"hash":"x","pods":{"a":"n"}}', "does not match", id="an edited plan"),
    ],
)
def test_forged_plans(text, want):
    """A plan that is not ours is refused with a reason; it is then written anew."""
    with pytest.raises(PlanError, match=want):
        parse_plan(text)


def test_no_annotation_is_no_plan():
    """An object without the annotation has no plan."""
    assert parse_plan("") is None
