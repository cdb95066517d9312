"""Pods of a partition start and leave in whole groups, whatever number the Directive says."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.gang import Gang, Partition
from tests.builders import gang, pod_set
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import feed, member, pod, pod_group, racks, volcano_job
from tests.member_agent.scheduler.rounds import bind, nodes_of, reasons_of, round_of

SIZE, TOTAL = 3, 3


def rule(task, size=SIZE):
    return {
        "name": task,
        "subGroupSize": size,
        "minSubGroups": 1,
        "matchLabelKeys": [names.PARTITION_ID],
        "labelSelector": {"matchLabels": {names.TASK_SPEC: task}},
    }


def template(*tasks: str) -> Gang:
    return gang(
        *(
            pod_set(
                task,
                pods=SIZE * TOTAL,
                minimum=SIZE,
                gpus=1,
                cpu=1,
                partition=Partition(size=SIZE, total=TOTAL, minimum=1),
            )
            for task in tasks
        )
    )


def job(admitted, nodes, *, gone=(), ended=(), tasks=("worker",), give_up=0):
    """A job of three groups: pods by index on nodes ("" waits), without those that are gone."""
    owner = volcano_job("j", binding="b", tasks=[{"name": t, "replicas": 9} for t in tasks])
    group = pod_group(
        "g", minimum=SIZE, controller=owner, subGroupPolicy=[rule(task) for task in tasks]
    )
    pods = [
        pod(
            f"{task}-{at}",
            gpus=1,
            owner=owner,
            group="g",
            task=task,
            index=at,
            labels={names.PARTITION_ID: str(at // SIZE)},
            node=nodes.get(at, ""),
            phase="Succeeded" if at in ended else "",
        )
        for task in tasks
        for at in range(SIZE * TOTAL)
        if at not in gone
    ]
    fields = {"giveUp": dict.fromkeys(tasks, give_up)} if give_up else {}
    told = directive(entry("b", dict.fromkeys(tasks, admitted), gang=template(*tasks), **fields))
    return [owner, group, *pods, told]


FIRST_TWO = {at: f"r{at // 3}-{at % 3}" for at in range(6)}


def without(*lost):
    return {at: node for at, node in FIRST_TWO.items() if at not in lost}


@pytest.mark.parametrize(
    ("admitted", "nodes", "fields", "want"),
    [
        pytest.param(9, {}, {}, set(range(9)), id="all that is admitted starts"),
        pytest.param(6, {}, {}, set(range(6)), id="two groups"),
        pytest.param(7, {}, {}, set(range(6)), id="no part of a third one"),
        pytest.param(6, without(1), {}, {1}, id="a lost pod comes back to its group"),
        pytest.param(
            6, without(1), {"gone": [1]}, set(), id="before it is made, no other takes its place"
        ),
        pytest.param(
            6, without(1, 4), {"gone": [1]}, {4}, id="nor is another group's kept from coming back"
        ),
        pytest.param(
            6, without(0, 1, 2), {"gone": [0, 1]}, {2}, id="of a lost group the pods come as made"
        ),
        pytest.param(
            9, without(), {"gone": [7, 8]}, {6}, id="growth by a group whose pods are still coming"
        ),
        pytest.param(
            6,
            without(0, 1, 2),
            {"ended": [0, 1]},
            {2},
            id="the last pod of a group whose others succeeded",
        ),
    ],
)
@pytest.mark.parametrize("tasks", [("worker",), ("prefill", "decode")])
def test_pods_that_start(admitted, nodes, fields, want, tasks):
    """Of groups that have begun what they lack; of others all that is admitted, or nothing."""
    cache = member(racks(3, 3), job(admitted, nodes, tasks=tasks, **fields))

    placed = nodes_of(round_of(cache))

    assert set(placed) == {f"{task}-{at}" for task in tasks for at in want}


def test_a_lost_pod_is_not_kept_from_its_group_for_good():
    """Its room waits for it while it is made, and it is bound when it comes."""
    cache = member(racks(3, 3), job(6, without(1), gone=[1]))
    found = round_of(cache)
    reasons = reasons_of(found)
    assert {reasons[f"worker-{at}"] for at in (6, 7, 8)} == {
        "growth not admitted: the Directive admits 6 pods of worker, which are placed already"
    }
    situation = bind(cache, found)

    for one in job(6, without(1)):
        if one["metadata"]["name"] == "worker-1":
            feed(cache, [one])

    assert set(nodes_of(round_of(cache, situation))) == {"worker-1"}


ALL = {at: f"r{at // 3}-{at % 3}" for at in range(9)}


def but(*lost):
    return {at: node for at, node in ALL.items() if at not in lost}


@pytest.mark.parametrize(
    ("admitted", "give_up", "nodes", "want"),
    [
        pytest.param(6, 3, but(), {6, 7, 8}, id="the last group"),
        pytest.param(3, 6, but(), {3, 4, 5, 6, 7, 8}, id="the last two"),
        pytest.param(6, 3, but(4), {6, 7, 8}, id="whole, though a group that stays lost a pod"),
        pytest.param(6, 3, but(7), {6, 8}, id="what is left of it, where it lost a pod itself"),
        pytest.param(6, 3, but(4, 7, 8), {6}, id="the last of it after a restart"),
        pytest.param(6, 3, but(3, 4, 5), set(), id="not in place of a group that is lost whole"),
        pytest.param(6, 3, but(6, 7, 8), set(), id="what is admitted stays"),
        pytest.param(3, 3, but(1), {6, 7, 8}, id="no more than was asked for"),
    ],
)
@pytest.mark.parametrize("tasks", [("worker",), ("prefill", "decode")])
def test_pods_that_leave(admitted, give_up, nodes, want, tasks):
    """Surplus of a partition leaves in whole groups, whatever was lost meanwhile."""
    cache = member(racks(3, 3), job(admitted, nodes, tasks=tasks, give_up=give_up))

    given = {pod.name for giving in round_of(cache).given for pod in giving.pods}

    assert given == {f"{task}-{at}" for task in tasks for at in want}
