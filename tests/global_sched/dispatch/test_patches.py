"""The bodies of the writes, whole."""

import json

from global_sched.dispatch.patches import (
    CARRIER,
    admission_patch,
    carried_patch,
    carries,
    failure_status,
    generation_status,
    left_patch,
    ours,
    success_status,
    withdrawal_patch,
)
from global_sched.shared.api.base import Condition
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Admission, Withdrawal
from global_sched.shared.model.workload import Target
from tests.builders import NOW, decision, grant

APPLIED = Condition(
    type="FullyApplied", status="True", reason="Ok", message="all", last_transition_time="then"
)
GRANT = grant("m1", Amounts.of({"main": 2}), replicas=2)


def test_admission():
    """resourceVersion, both annotations, the whole list of clusters; nothing else is touched."""
    body = admission_patch(
        Admission(
            workload=WorkloadKey("a/b"),
            uid="u",
            resource_version="7",
            decision=decision(GRANT),
            targets=(Target(cluster=ClusterName("m1"), replicas=2), Target(cluster="m2")),
        ),
        '{"clusterAffinity":{}}',
    )
    text = body["metadata"]["annotations"].pop("decision.global-sched.io/decision")

    assert json.loads(text)["grants"][0]["cluster"] == "m1"
    assert body == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {"policy.karmada.io/applied-placement": '{"clusterAffinity":{}}'},
        },
        "spec": {"clusters": [{"name": "m1", "replicas": 2}, {"name": "m2"}]},
    }


def test_withdrawal_from_several():
    """Each cluster that is left has its task; those that stay are the clusters."""
    body = withdrawal_patch(
        Withdrawal(
            workload=WorkloadKey("a/b"),
            uid="u",
            resource_version="7",
            cluster=ClusterName("m1"),
            replicas=2,
            targets=(Target(cluster=ClusterName("m4"), replicas=2),),
            decision=decision(),
            reason="PlacementTimeout",
            message="late",
            others=(Target(cluster=ClusterName("m2")),),
        ),
        [{"fromCluster": "m2"}, {"fromCluster": "m3"}],
    )
    tasks = body["spec"]["gracefulEvictionTasks"]

    assert [one["name"] for one in body["spec"]["clusters"]] == ["m4"]
    assert [(one["fromCluster"], one.get("replicas")) for one in tasks] == [
        ("m3", None),
        ("m1", 2),
        ("m2", None),
    ]
    assert {one.get("message") for one in tasks[1:]} == {"late"}


def test_withdrawal():
    """Other tasks stay as they are; an older task for the same cluster is replaced."""
    kept = {"fromCluster": "m3", "suppressDeletion": True}
    body = withdrawal_patch(
        Withdrawal(
            workload=WorkloadKey("a/b"),
            uid="u",
            resource_version="7",
            cluster=ClusterName("m1"),
            replicas=2,
            targets=(),
            decision=decision(),
            reason="PlacementTimeout",
            message="x" * 2000,
        ),
        [kept, {"fromCluster": "m1", "purgeMode": "Gracefully"}],
    )
    first, second = body["spec"]["gracefulEvictionTasks"]

    assert body["spec"]["clusters"] is None
    assert first == kept
    assert second == {
        "fromCluster": "m1",
        "purgeMode": "Directly",
        "reason": "PlacementTimeout",
        "message": "x" * 1024,
        "producer": "global-sched",
        "replicas": 2,
        "suppressDeletion": True,
    }


def test_labels_that_travel():
    """They are in the last task; when nothing is left it stays with them, until they arrived."""
    found = Withdrawal(
        workload=WorkloadKey("a/b"),
        uid="u",
        resource_version="7",
        cluster=ClusterName("m1"),
        replicas=None,
        targets=(),
        decision=decision(),
        reason="CannotBeWhole",
        message="",
    )
    older = {"fromCluster": "m0", "producer": CARRIER, "preservedLabelState": {"a": "1"}}
    other = {"fromCluster": "m3", "producer": "TaintManager"}
    body = withdrawal_patch(found, [older, other], {"team.example/step": "7"})
    first, last = body["spec"]["gracefulEvictionTasks"]
    assert first == other
    assert last["preservedLabelState"] == {"team.example/step": "7"}
    assert (last["clustersBeforeFailover"], ours(last), carries(last)) == (["m1"], True, False)

    kept = left_patch("8", [first, last], None, {"m1"})["spec"]["gracefulEvictionTasks"]
    assert kept == [other, last | {"producer": CARRIER}]
    assert (ours(kept[1]), carries(kept[1])) == (False, True)

    assert left_patch("8", [last], None, {"m2"})["spec"]["gracefulEvictionTasks"] == [last]
    karmada = {"fromCluster": "m1", "producer": "ApplicationFailover", "preservedLabelState": {}}
    karmada["preservedLabelState"] = {"team.example/step": "6"}
    assert left_patch("8", [karmada], None, {"m1"})["spec"]["gracefulEvictionTasks"] == [karmada]

    assert carried_patch("9", kept)["spec"]["gracefulEvictionTasks"] == [other]
    assert carried_patch("9", kept[1:])["spec"]["gracefulEvictionTasks"] is None


def test_success_status():
    """The generation of step one, when, and the list with the others kept in place."""
    old = Condition(type="Scheduled", status="False", last_transition_time="earlier")
    body = success_status("8", [APPLIED, old], generation=3, now=NOW, affinity="group-b")

    assert body == {
        "metadata": {"resourceVersion": "8"},
        "status": {
            "schedulerObservedGeneration": 3,
            "lastScheduledTime": "2026-01-31T12:00:00Z",
            "schedulerObservingAffinityName": "group-b",
            "conditions": [
                {
                    "type": "FullyApplied",
                    "status": "True",
                    "reason": "Ok",
                    "message": "all",
                    "lastTransitionTime": "then",
                },
                {
                    "type": "Scheduled",
                    "status": "True",
                    "reason": "Success",
                    "message": "Binding has been scheduled successfully.",
                    "lastTransitionTime": "2026-01-31T12:00:00Z",
                },
            ],
        },
    }


def test_a_gang_that_goes_on_with_fewer_is_recovering():
    """True with scope and text since the first time, and False when it lacks nothing."""
    body = success_status(
        "8", [], generation=3, now=NOW, affinity=None, shrunk="attempt 1: from 4 to 2 pods in m1"
    )
    [_, said] = body["status"]["conditions"]
    assert said == {
        "type": "Recovering",
        "status": "True",
        "reason": "GoesOnWithFewer",
        "message": "scope shrink, attempt 1: from 4 to 2 pods in m1",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }

    before = Condition(type="Recovering", status="True", last_transition_time="earlier")
    grown = success_status(
        "9", [before], generation=4, now=NOW, affinity=None, shrunk="attempt 1: 3"
    )
    told = {one["type"]: one for one in grown["status"]["conditions"]}
    assert told["Recovering"]["message"] == "scope shrink, attempt 1: 3"
    assert told["Recovering"]["lastTransitionTime"] == "earlier"

    whole = success_status("9", [before], generation=5, now=NOW, affinity=None)
    told = {one["type"]: one for one in whole["status"]["conditions"]}
    assert told["Recovering"]["status"] == "False"


def test_transition_time_moves_with_the_status_only():
    """A condition that stays True keeps its time."""
    old = Condition(type="Scheduled", status="True", last_transition_time="earlier")
    body = success_status("8", [old], generation=3, now=NOW, affinity=None)

    assert body["status"]["conditions"][0]["lastTransitionTime"] == "earlier"
    assert "schedulerObservingAffinityName" not in body["status"]


def test_failure_status():
    """Neither the observed generation nor the time of scheduling moves."""
    body = failure_status("9", [APPLIED], reason="Unschedulable", message="NO_FIT", now=NOW)

    assert set(body["status"]) == {"conditions"}
    assert [c["type"] for c in body["status"]["conditions"]] == ["FullyApplied", "Scheduled"]
    assert body["status"]["conditions"][1]["status"] == "False"


def test_generation_status():
    """Only the observed generation is behind: only that is written."""
    assert generation_status("9", 4) == {
        "metadata": {"resourceVersion": "9"},
        "status": {"schedulerObservedGeneration": 4},
    }
