"""Demand of a JobSet: all pods of all its Jobs, as one gang."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.job_set import OwnedSet, facts
from global_sched.shared.model.gang import Mode, TopologyConstraint
from global_sched.shared.model.verdict import Code
from tests.wire_templates import decode, job_set, pod_template, replicated_job

KIND = KINDS["jobset.x-k8s.io/v1alpha2", "JobSet"]
EXCLUSIVE = {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
HARD_1 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}


def read(obj):
    """What it asks for."""
    return KIND.reading(decode(obj, KIND.wire))


def after(*names):
    """`dependsOn`: these have completed."""
    return [{"name": name, "status": "Complete"} for name in names]


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            job_set("j", replicated_job("a", 1), replicated_job("b", 3, pods=4)),
            [("a", 1, 1), ("b", 12, 12)],
            id="replicas times the pods that run at once, in their order",
        ),
        pytest.param(
            job_set("j", replicated_job("a", None, pods=2)),
            [("a", 2, 2)],
            id="a part without a number is one Job",
        ),
        pytest.param(
            job_set(
                "j",
                {
                    "name": "a",
                    "replicas": 2,
                    "template": {
                        "spec": {"parallelism": 5, "completions": 3, "template": pod_template()}
                    },
                },
            ),
            [("a", 6, 6)],
            id="no more pods than completions",
        ),
        pytest.param(
            job_set("j", replicated_job("a"), replicated_job("b", 2, dependsOn=after("a"))),
            [("a", 1, 1), ("b", 2, 2)],
            id="what starts later has its room from the start",
        ),
    ],
)
def test_pod_sets(job, want):
    """Every replicated job is a pod set, and all pods are the minimum."""
    found = read(job)

    assert found.problem is None
    assert [(p.name, p.count, p.minimum) for p in found.pod_sets] == want
    assert found.minimum == sum(least for *_, least in want)
    assert not found.carries_replicas


def test_queue_priority_and_topology_of_the_pod_templates():
    """They stand where users of Jobs put them."""
    pod = pod_template(
        labels={"volcano.sh/queue-name": "gold"}, annotations=HARD_1, priorityClassName="high"
    )
    found = read(job_set("j", replicated_job("a", template=pod)))

    assert (found.queue, found.priority_class) == ("gold", "high")
    assert found.constraint == TopologyConstraint(mode=Mode.HARD, highest_tier=1)


def test_the_longest_deadline_is_the_run_limit():
    """Where every Job has a deadline the set ends by the last of them."""
    parts = [replicated_job("a"), replicated_job("b")]
    for part, seconds in zip(parts, (60, 90), strict=True):
        part["template"]["spec"]["activeDeadlineSeconds"] = seconds

    assert read(job_set("j", *parts)).run_limit == 90


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            job_set("j", replicated_job("a"), spec={"suspend": True}),
            "spec.suspend is true; set it to false to start the JobSet",
            id="suspended",
        ),
        pytest.param(
            job_set("j", replicated_job("a", 0)),
            "spec.replicatedJobs add up to 0 pods; raise replicas to start the JobSet",
            id="no replicas",
        ),
    ],
)
def test_held(job, want):
    """What its owner holds back waits without penalty."""
    problem = read(job).problem

    assert (problem.code, problem.reason) == (Code.WAIT, Reason.SUSPENDED)
    assert problem.detail == f"JobSet.jobset.x-k8s.io team-a/j: {want}"


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param(
            job_set("j"),
            "spec.replicatedJobs: is empty; a JobSet needs at least one replicated job",
            id="nothing to run",
        ),
        pytest.param(
            job_set("j", replicated_job("a"), spec={"ttlSecondsAfterFinished": 60}),
            "spec.ttlSecondsAfterFinished: is 60: Karmada brings back what is deleted in a member, "
            "and it would run again; leave it out, and delete the object on the control plane",
            id="a time to live, which the member would keep and Karmada not",
        ),
        pytest.param(
            job_set("j", replicated_job("")),
            "spec.replicatedJobs[0].name: is missing; name every replicated job",
            id="a part without a name",
        ),
        pytest.param(
            job_set("j", replicated_job("a"), replicated_job("a")),
            "spec.replicatedJobs: has two replicated jobs of one name; names must be unique",
            id="two parts of one name",
        ),
        pytest.param(
            job_set("j", replicated_job("a", -1)),
            "spec.replicatedJobs[0].replicas: is -1; use a whole number of at least 0",
            id="a negative number of Jobs",
        ),
        pytest.param(
            job_set("j", replicated_job("a", 2000, pods=1000)),
            "spec.replicatedJobs[*].replicas × parallelism: add up to 2000000 pods; "
            "at most 1000000 are accepted",
            id="two million pods",
        ),
        pytest.param(
            job_set("j", replicated_job("a", dependsOn=after("b")), replicated_job("b")),
            "spec.replicatedJobs[0].dependsOn: names 'b', which is no replicated job before it; "
            "name one that comes earlier in the list",
            id="a part that waits for a later one",
        ),
        pytest.param(
            job_set("j", replicated_job("a", template={"spec": {}})),
            "spec.replicatedJobs[0].template.spec.template.spec.containers: is empty; "
            "a pod needs at least one container",
            id="a pod without containers",
        ),
        pytest.param(
            job_set("j", replicated_job("a"), annotations=EXCLUSIVE),
            "metadata.annotations[alpha.jobset.sigs.k8s.io/exclusive-topology]: is "
            "'cloud.google.com/gke-nodepool': domains are not given to one Job alone; "
            "use volcano.sh/network-topology-mode and -highest-tier on the pod templates",
            id="exclusive topology of the set",
        ),
        pytest.param(
            job_set("j", replicated_job("a", annotations=EXCLUSIVE)),
            "spec.replicatedJobs[0].template.metadata.annotations"
            "[alpha.jobset.sigs.k8s.io/exclusive-topology]: is "
            "'cloud.google.com/gke-nodepool': domains are not given to one Job alone; "
            "use volcano.sh/network-topology-mode and -highest-tier on the pod templates",
            id="exclusive topology of a part",
        ),
        pytest.param(
            job_set("j", replicated_job("a"), spec={"managedBy": "kueue.x-k8s.io/multikueue"}),
            "spec.managedBy: is 'kueue.x-k8s.io/multikueue': nothing in the member would make "
            "its pods; leave it out, or use jobset.sigs.k8s.io/jobset-controller",
            id="another controller",
        ),
        pytest.param(
            job_set(
                "j",
                replicated_job("a", template=pod_template(annotations=HARD_1)),
                replicated_job(
                    "b",
                    template=pod_template(annotations={"volcano.sh/network-topology-mode": "soft"}),
                ),
            ),
            "spec.replicatedJobs: the pod templates carry different topology constraints; "
            "use the same annotations on all of them",
            id="two constraints",
        ),
    ],
)
def test_refused(job, want):
    """What cannot be read is refused with object, field, reason and remedy."""
    problem = read(job).problem

    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert problem.detail == f"JobSet.jobset.x-k8s.io team-a/j: {want}"


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, [("a", False), ("b", True)], id="what depends on another comes late"),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            [("a", False), ("b", True)],
            id="in order, all but the first come late",
        ),
    ],
)
def test_what_comes_late(spec, want):
    """The agent does not wait for pods that are not made before others run or end."""
    needs = {} if spec else {"dependsOn": after("a")}
    job = job_set("j", replicated_job("a"), replicated_job("b", 2, **needs), spec=spec)
    found = facts(decode(job, OwnedSet))

    assert [(task.name, task.depends) for task in found.tasks] == want


def test_pods_are_known_by_their_labels():
    """Part and place: Jobs one after the other, and in each its pods."""
    labels = {
        "jobset.sigs.k8s.io/replicatedjob-name": "b",
        "jobset.sigs.k8s.io/job-index": "2",
        "batch.kubernetes.io/job-completion-index": "5",
    }
    pod = decode({"metadata": {"name": "x", "labels": labels}}, KIND.owner).metadata

    assert KIND.pod_set(pod) == "b"
    assert KIND.index(pod) == 2_000_005
