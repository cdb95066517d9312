"""A name that is no name is refused where it is read, and shown in letters only."""

import pytest

from global_sched.shared.api.names import OBJECT_QUEUE_NAME, QUEUE_NAME
from global_sched.shared.model.printable import printable
from tests.global_sched.cache.worlds import state_of, workload_in
from tests.wire import (
    batch_job,
    binding,
    cluster_object,
    deployment,
    leader_worker_set,
    pod_template,
    pytorch_job,
    report,
    task,
    vcjob,
)

ESC = "\x1b[31mPWNED\x1b]0;title\x07\x1b[2J"
BIDI = "q\u202eq"


def templates(**spec):
    """Every kind with a pod template of this spec."""
    template = pod_template(**spec)
    return [
        vcjob("j", task("worker", 1, template=template)),
        batch_job("j", template=template),
        deployment("j", template=template),
        pytorch_job("j", {"Worker": 1}, template=template),
        leader_worker_set("j", worker=template),
    ]


def problem_of(job):
    one = workload_in(state_of(job, binding(job)), f"team-a/j-{job['kind'].lower()}")
    assert one.problem is not None, job
    assert one.problem.reason == "InvalidSpec"
    assert one.problem.detail == printable(one.problem.detail)
    return one.problem.detail


@pytest.mark.parametrize("bad", [ESC, BIDI, "q\x9b2J", "q\x00"], ids=ascii)
@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param(lambda bad: {"priorityClassName": bad}, "no DNS name", id="priority class"),
        pytest.param(lambda bad: {"nodeSelector": {"a": bad}}, "no label value", id="value"),
        pytest.param(lambda bad: {"nodeSelector": {f"a/{bad}": "b"}}, "no label key", id="key"),
        pytest.param(
            lambda bad: {"tolerations": [{"key": bad, "operator": "Exists"}]},
            "no label key",
            id="toleration",
        ),
        pytest.param(lambda bad: {"schedulerName": bad}, "no name", id="scheduler"),
    ],
)
def test_every_kind_refuses_it_in_its_pod_templates(spec, bad, want):
    """The refusal names the field and the text, spelt out."""
    for job in templates(**spec(bad)):
        if "schedulerName" in spec(bad) and job["kind"] == "Job" and "volcano" in job["apiVersion"]:
            continue  # the Job's own field goes before its templates'
        assert want in problem_of(job), job["kind"]


@pytest.mark.parametrize("bad", [ESC, BIDI, "Team", "a/b"], ids=ascii)
def test_every_kind_refuses_it_as_a_queue(bad):
    """In a field, in a label and in an annotation."""
    noted = pod_template(annotations={QUEUE_NAME: bad})
    for job in (
        vcjob("j", queue=bad),
        batch_job("j", template=noted),
        deployment("j", template=noted),
        leader_worker_set("j", annotations={OBJECT_QUEUE_NAME: bad}),
    ):
        assert "queue: " in problem_of(job)


def test_a_report_with_such_a_domain_is_refused():
    """The last good one stays; tier names and reasons are spelt out."""
    tree = [{"name": f"rack{ESC}", "tier": 1}]
    state = state_of(cluster_object("m1"), report("m1", tree=tree, rows=[]))

    [one] = state.reports.acceptances.values()
    assert "has no valid name or tier" in one.problem
    assert one.problem == printable(one.problem)
