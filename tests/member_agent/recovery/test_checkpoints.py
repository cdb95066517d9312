"""Calls for a checkpoint on pods: what stands there is what the Directive says."""

import pytest

from global_sched.shared.api.names import CHECKPOINT_CALL, CHECKPOINT_WRITTEN
from member_agent.cache import units_of
from member_agent.recovery.checkpoints import answered, calls_due
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import AGENT, member, node, owner, pod

CALL = "2026-01-31T12:00:00.000000Z"
JOB = owner("Job", "train", binding="b", spec={"parallelism": 2, "completions": 2})


def world(call, *pods):
    """A member whose Directive has this call for the gang (None: it has no entry)."""
    found = [] if call is None else [entry("b", {"main": 2}, checkpointCall=call)]
    cache = member(node("n"), JOB, list(pods), directive(*found))
    return cache.entries(), units_of(cache, frozenset({AGENT}))


def run(name, *, call="", written="", **fields):
    """A pod of the gang, with the call that stands on it and the answer of its program."""
    said = {CHECKPOINT_CALL: call, CHECKPOINT_WRITTEN: written}
    said = {key: value for key, value in said.items() if value}
    return pod(name, owner=JOB, node="n", annotations=said, **fields)


@pytest.mark.parametrize(
    ("call", "pods", "want"),
    [
        pytest.param("", [run("a")], {}, id="it is not called"),
        pytest.param(CALL, [run("a"), run("b")], {"a": CALL, "b": CALL}, id="it is called"),
        pytest.param(CALL, [run("a", call=CALL), run("b")], {"b": CALL}, id="one stands already"),
        pytest.param(CALL, [run("a", call="before")], {"a": CALL}, id="another call"),
        pytest.param("", [run("a", call=CALL)], {"a": ""}, id="the call is taken back"),
        pytest.param(CALL, [run("a", deleted=True)], {}, id="a pod that ends"),
        pytest.param(None, [run("a", call=CALL)], {}, id="a gang that was withdrawn"),
    ],
)
def test_what_is_due(call, pods, want):
    """Every pod that runs and stays, and no other; nothing where nothing differs."""
    assert {one.name: text for one, text in calls_due(*world(call, *pods))} == want


@pytest.mark.parametrize(
    ("call", "written", "want"),
    [
        pytest.param(CALL, ["", CALL], CALL, id="one answer is enough"),
        pytest.param(CALL, ["", ""], "", id="none"),
        pytest.param(CALL, ["2026-01-31T11:00:00.000000Z", ""], "", id="to another call"),
        pytest.param("", [CALL, ""], "", id="without a call"),
        pytest.param(None, [CALL, ""], "", id="without an entry"),
    ],
)
def test_what_is_answered(call, written, want):
    """The call of the Directive, where a pod of the gang names it."""
    entries, units = world(call, *(run(f"p{at}", written=one) for at, one in enumerate(written)))
    own = [unit for unit in units if unit.binding == "b"]
    assert answered(entries.get("b"), own) == want
