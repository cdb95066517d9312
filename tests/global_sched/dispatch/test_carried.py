"""Labels that travel with a gang: from its status, where they may be labels; else dropped."""

import pytest

from global_sched.dispatch.carried import carried
from global_sched.shared.model.recovery_spec import Carry

STATUS = {
    "step": "1200",
    "running": 4,
    "done": True,
    "empty": "",
    "long": "x" * 64,
    "spaced": "a b",
    "conditions": [{"type": "Running"}],
}
BINDING = {
    "status": {
        "aggregatedStatus": [
            {"clusterName": "other", "status": {"step": "7"}},
            {"clusterName": "m1", "status": STATUS},
        ]
    }
}


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param("{.status.step}", "1200", id="a text"),
        pytest.param("{ .status.step }", "1200", id="with spaces"),
        pytest.param("{.status.running}", "4", id="a whole number"),
        pytest.param("{.status.done}", "true", id="yes or no"),
        pytest.param("{.status.conditions[0].type}", "Running", id="an entry of a list"),
    ],
)
def test_what_travels(path, want):
    """The value in the member that it leaves, as the text of a label."""
    found = carried([Carry(label="team.example/step", json_path=path)], BINDING, "m1")
    assert found == ({"team.example/step": want}, ())


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("{.status.missing}", "is no text or whole number there", id="missing"),
        pytest.param("{.status.conditions[1].type}", "is no text", id="beyond a list"),
        pytest.param("{.status.conditions}", "is no text", id="a list"),
        pytest.param("{.status..step}", "is no text", id="a path that is none"),
        pytest.param("{.metadata.name}", "is no text", id="what is no status"),
        pytest.param("{.status.empty}", "'' is no value of a label", id="empty"),
        pytest.param("{.status.long}", "is no value of a label", id="too long"),
        pytest.param("{.status.spaced}", "'a b' is no value of a label", id="with a space"),
    ],
)
def test_what_is_dropped(path, why):
    """Each with its reason; the others travel."""
    step = Carry(label="team.example/step", json_path="{.status.step}")
    bad = Carry(label="team.example/bad", json_path=path)
    labels, dropped = carried([bad, step], BINDING, "m1")

    assert labels == {"team.example/step": "1200"}
    [said] = dropped
    assert said.startswith("team.example/bad: ")
    assert why in said


def test_a_member_that_shows_no_status():
    """Nothing travels."""
    step = Carry(label="team.example/step", json_path="{.status.step}")
    assert carried([step], {}, "m1")[0] == carried([step], BINDING, "m2")[0] == {}
