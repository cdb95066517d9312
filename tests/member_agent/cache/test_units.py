"""Units: which pods start together, whose they are, and how many make their minimum."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import PodSetName
from member_agent.cache import units_of
from tests.member_agent.member import (
    AGENT,
    gang_objects,
    member,
    owner,
    pod,
    pod_group,
    volcano_job,
)

OURS = frozenset({AGENT})


def amounts(**pods):
    return Amounts.of({PodSetName(name): count for name, count in pods.items()})


def units(*objects):
    return units_of(member(*objects), OURS)


DEPLOYMENT = owner("Deployment", "web", api_version="apps/v1", binding="b-web")
OLD = owner("ReplicaSet", "web-1", api_version="apps/v1", controller=DEPLOYMENT)
NEW = owner("ReplicaSet", "web-2", api_version="apps/v1", controller=DEPLOYMENT)
BATCH = owner("Job", "sweep", binding="b-sweep", spec={"parallelism": 4, "completions": 8})


@pytest.mark.parametrize(
    ("objects", "want_key", "want_binding"),
    [
        pytest.param(
            [DEPLOYMENT, OLD, NEW, pod("a", owner=OLD), pod("b", owner=NEW)],
            "Deployment/team/web/uid-Deployment-web",
            "b-web",
            id="a Deployment's pods over two ReplicaSets are one unit",
        ),
        pytest.param(
            [BATCH, pod("a", owner=BATCH), pod("b", owner=BATCH)],
            "Job/team/sweep/uid-Job-sweep",
            "b-sweep",
            id="a batch Job's pods are one unit",
        ),
        pytest.param(
            gang_objects("train", pods=2, binding="b-train"),
            "PodGroup/team/train-pg",
            "b-train",
            id="a PodGroup's pods are one unit, and the Job above tells the binding",
        ),
        pytest.param(
            [
                pod_group("bare", minimum=1) | {},
                pod("a", group="bare", labels={names.BINDING_ID: "b-bare"}),
            ],
            "PodGroup/team/bare",
            "b-bare",
            id="a bare pod that came through Karmada carries the binding itself",
        ),
        pytest.param(
            [pod("lonely")],
            "Pod/team/lonely/uid-lonely",
            None,
            id="a bare pod is a unit of its own, and free",
        ),
    ],
)
def test_grouping(objects, want_key, want_binding):
    """Pods belong together by PodGroup, else by root owner; the first permanent id above counts."""
    [unit] = units(*objects)

    assert (unit.key, unit.binding) == (want_key, want_binding)


def test_binding_of_a_cluster_scoped_template():
    """A ClusterResourceBinding's permanent id counts like a ResourceBinding's."""
    job = owner("Job", "sweep", spec={"parallelism": 1})
    job["metadata"]["labels"] = {names.CLUSTER_BINDING_ID: "c-1"}

    [unit] = units(job, pod("a", owner=job))

    assert unit.binding == "c-1"


def task(name, replicas, *, after=()):
    found = {"name": name, "replicas": replicas}
    return found | ({"dependsOn": {"name": list(after)}} if after else {})


JOB = volcano_job("j", tasks=[task("master", 1), task("worker", 4, after=["master"])])


def members(*tasks):
    return [pod(f"p{at}", group="g", task=one, owner=JOB) for at, one in enumerate(tasks)]


@pytest.mark.parametrize(
    ("group", "pods", "want_minimum", "want_floor"),
    [
        pytest.param(
            pod_group("g", minimum=5, tasks={"master": 1, "worker": 4}),
            members("master"),
            amounts(master=1),
            1,
            id="a task that waits for others is not part of the minimum",
        ),
        pytest.param(
            pod_group("g", minimum=5, tasks={"master": 1, "worker": 4}),
            members("master", "worker"),
            amounts(master=1, worker=4),
            5,
            id="it is as soon as it has a pod, even if not all are made yet",
        ),
        pytest.param(
            pod_group("g", minimum=5, tasks={"master": 1, "worker": 4}),
            members("worker"),
            amounts(master=1, worker=4),
            5,
            id="a task that waits for nobody is, also before it has pods",
        ),
        pytest.param(
            pod_group("g", minimum=2, tasks={"master": 1, "worker": 4}),
            members("master", "worker"),
            Amounts(),
            2,
            id="task minimums do not bind when minMember is below their sum",
        ),
        pytest.param(
            pod_group("g", minimum=3),
            members("worker"),
            Amounts(),
            3,
            id="without task minimums any pods make it up",
        ),
    ],
)
def test_minimum_of_a_pod_group(group, pods, want_minimum, want_floor):
    """Tasks whose dependsOn is not met are left out of what minMember and minTaskMember ask."""
    [unit] = units(JOB, group, pods)

    assert (unit.minimum, unit.floor) == (want_minimum, want_floor)


def training(**spec):
    replicas = {"Master": {"replicas": 1}, "Worker": {"replicas": 3}}
    return owner(
        "PyTorchJob",
        "t",
        api_version="kubeflow.org/v1",
        spec={"pytorchReplicaSpecs": replicas} | spec,
    )


@pytest.mark.parametrize(
    ("root", "want_minimum"),
    [
        pytest.param(BATCH, amounts(main=4), id="a Job needs what runs at once"),
        pytest.param(
            owner("Job", "few", spec={"parallelism": 4, "completions": 2}),
            amounts(main=2),
            id="but not more than it completes",
        ),
        pytest.param(
            owner(
                "Job",
                "min",
                spec={"parallelism": 4},
                annotations={names.MIN_PARALLELISM: "2"},
            ),
            amounts(main=2),
            id="or what its annotation says",
        ),
        pytest.param(training(), amounts(master=1, worker=3), id="a PyTorchJob needs all"),
        pytest.param(
            training(elasticPolicy={"minReplicas": 2}),
            amounts(master=1, worker=2),
            id="an elastic one its minReplicas of workers",
        ),
        pytest.param(
            owner("StatefulSet", "db", api_version="apps/v1", spec={}),
            Amounts(),
            id="a service starts pod by pod",
        ),
    ],
)
def test_minimum_without_a_pod_group(root, want_minimum):
    """Kinds without a PodGroup tell their minimum themselves."""
    [unit] = units(root, pod("a", owner=root))

    assert unit.minimum == want_minimum
    assert unit.floor == max(1, want_minimum.pods())


def test_pods_are_sorted_by_template_and_index():
    """Lower pod index first, in the template's order of tasks."""
    pods = [
        pod(f"p-{task}-{at}", group="g", task=task, index=at, owner=JOB)
        for task in ("worker", "master")
        for at in (10, 2, 0)
    ]

    [unit] = units(JOB, pod_group("g", minimum=1), pods)

    assert [one.name for one in unit.waiting] == [
        "p-master-0",
        "p-master-2",
        "p-master-10",
        "p-worker-0",
        "p-worker-2",
        "p-worker-10",
    ]


@pytest.mark.parametrize(
    ("objects", "want_problem"),
    [
        pytest.param(
            [pod("a", group="absent")],
            "PodGroup absent: it has not been seen yet",
            id="its PodGroup does not exist",
        ),
        pytest.param(
            [pod_group("g", minimum=-1), pod("a", group="g")],
            "PodGroup g: spec.minMember is -1: expected 0 to 1000000",
            id="its PodGroup cannot be used",
        ),
        pytest.param(
            [pod("a", owner=BATCH)],
            "its owner Job sweep has not been seen yet",
            id="its owner has not been seen, so it may have come through Karmada",
        ),
    ],
)
def test_problems(objects, want_problem):
    """A unit of which something is unknown waits, and says for what."""
    [unit] = units(*objects)

    assert unit.problem == want_problem


def test_other_schedulers():
    """Pods of other schedulers are counted and left alone."""
    assert units(pod("a", scheduler="default-scheduler")) == []

    [unit] = units(BATCH, pod("a", owner=BATCH, scheduler="volcano"))
    assert unit.waiting == ()
    assert (unit.others, unit.unbound) == (("volcano",), amounts(main=1))


def test_states_of_pods():
    """Succeeded pods count towards the minimum; failed, ending and gated ones are left alone."""
    [unit] = units(
        BATCH,
        pod("done", owner=BATCH, node="n", phase="Succeeded"),
        pod("failed", owner=BATCH, node="n", phase="Failed"),
        pod("running", owner=BATCH, node="n"),
        pod("ending", owner=BATCH, deleted=True),
        pod("gated", owner=BATCH, spec={"schedulingGates": [{"name": "g"}]}),
        pod("new", owner=BATCH),
    )

    assert unit.succeeded == amounts(main=1)
    assert [one.name for one in unit.placed] == ["running"]
    assert [one.name for one in unit.waiting] == ["new"]


def test_owner_kinds_that_cannot_be_watched():
    """A chain of owners ends below a kind that cannot be watched, instead of waiting for ever."""
    flow = owner("Flow", "f", api_version="other.example/v1")
    job = owner("Job", "j", controller=flow, spec={})
    cache = member(job, pod("a", owner=job))

    [unit] = units_of(cache, OURS)
    assert unit.problem == "its owner Flow f has not been seen yet"

    [unit] = units_of(cache, OURS, frozenset({("other.example/v1", "Flow")}))
    assert (unit.problem, unit.key) == ("", "Job/team/j/uid-Job-j")
