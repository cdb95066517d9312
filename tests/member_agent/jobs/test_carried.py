"""Labels that travelled with a Job from another member: on its pods and in their environment."""

import json

from global_sched.shared.api.names import RECOVERY
from tests.member_agent.jobs.job_world import Town, task

STEP, OTHER = "team.example/step", "team.example/other"


def town(labels, *, carry=(STEP,), env=()):
    """A Job of one pod with these labels, of which some travel."""
    made = Town(task("a", 1))
    rules = {
        "scopes": ["pod", "cluster"],
        "carry": [{"label": one, "jsonPath": "{.status.step}"} for one in carry],
    }
    made.job["metadata"]["annotations"] = {RECOVERY: json.dumps(rules)}
    made.job["metadata"]["labels"] = labels
    template = made.job["spec"]["tasks"][0]["template"]
    template["spec"]["containers"][0]["env"] = list(env)
    return made


def seen(made):
    """The labels of the pod that travel, and its variables."""
    pod = made.pods["train-a-0"]
    labels = {key: v for key, v in pod["metadata"]["labels"].items() if key in (STEP, OTHER)}
    env = pod["spec"]["containers"][0].get("env") or ()
    return labels, {one["name"]: one["value"] for one in env}


def test_labels_that_travel_reach_the_pods():
    """Those that its rules name, and no other."""
    made = town({STEP: "7", OTHER: "x"}).settle()
    assert seen(made) == ({STEP: "7"}, {"CARRIED_TEAM_EXAMPLE_STEP": "7"})


def test_they_stay_when_the_label_has_gone():
    """Karmada takes it off with the next change of the object; later pods have it all the same."""
    made = town({STEP: "7"}).settle()
    made.job["metadata"]["labels"] = {}
    made.run("train-a-0").evict("train-a-0").settle()
    assert seen(made) == ({STEP: "7"}, {"CARRIED_TEAM_EXAMPLE_STEP": "7"})


def test_a_variable_of_the_job_itself_stays():
    """What the template sets is not overwritten."""
    own = {"name": "CARRIED_TEAM_EXAMPLE_STEP", "value": "mine"}
    made = town({STEP: "7"}, env=[own]).settle()
    assert seen(made) == ({STEP: "7"}, {"CARRIED_TEAM_EXAMPLE_STEP": "mine"})


def test_without_rules_nothing_travels():
    """A label of the Job is its own."""
    made = town({STEP: "7"}, carry=()).settle()
    assert seen(made) == ({}, {})
