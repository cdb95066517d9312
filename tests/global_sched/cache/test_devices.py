"""Requests for devices that nothing can count or hand out are refused in every kind's templates."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.verdict import Code
from tests.wire import (
    batch_job,
    decode,
    deployment,
    leader_worker_set,
    pod_template,
    pytorch_job,
    task,
    vcjob,
)

PLAIN = pod_template()
SAMPLES = {
    "a batch Job": (lambda odd: batch_job("j", template=odd), "spec.template"),
    "a Deployment": (lambda odd: deployment("j", template=odd), "spec.template"),
    "a StatefulSet": (
        lambda odd: deployment("j", kind="StatefulSet", template=odd),
        "spec.template",
    ),
    "the second task of a Volcano Job": (
        lambda odd: vcjob("j", task("plain"), task("odd", template=odd)),
        "spec.tasks[1].template",
    ),
    "a PyTorchJob": (
        lambda odd: pytorch_job("j", {"Worker": 2}, template=odd),
        "spec.pytorchReplicaSpecs.Worker.template",
    ),
    "the leader of a LeaderWorkerSet": (
        lambda odd: leader_worker_set("j", worker=PLAIN, leader=odd),
        "spec.leaderWorkerTemplate.leaderTemplate",
    ),
    "the workers of a LeaderWorkerSet": (
        lambda odd: leader_worker_set("j", worker=odd, leader=PLAIN),
        "spec.leaderWorkerTemplate.workerTemplate",
    ),
}
CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
USES = {"name": "c", "resources": {"claims": [{"name": "gpu"}]}}
DRA = (
    "resource claims (DRA) are neither counted nor allocated here; "
    "request whole devices in resources.limits, such as nvidia.com/gpu"
)
PARTS = (
    "parts of a GPU are neither counted nor kept apart here; "
    "remove it and request whole devices in resources.limits, such as nvidia.com/gpu"
)
REQUESTS = {
    "resource claims": (pod_template(resourceClaims=CLAIMS), f"spec.resourceClaims: {DRA}"),
    "a container that uses a claim": (
        pod_template(containers=[{"name": "a"}, USES]),
        f"spec.containers[1].resources.claims: {DRA}",
    ),
    "an init container that uses a claim": (
        pod_template(initContainers=[USES]),
        f"spec.initContainers[0].resources.claims: {DRA}",
    ),
    "KAI's fraction": (
        pod_template(annotations={"gpu-fraction": "0.5"}),
        f"metadata.annotations[gpu-fraction]: is '0.5': {PARTS}",
    ),
    "a fraction that is no number": (
        pod_template(annotations={"gpu-fraction": ""}),
        f"metadata.annotations[gpu-fraction]: is '': {PARTS}",
    ),
    "KAI's memory": (
        pod_template(gpus=1, annotations={"gpu-memory": "2000"}),
        f"metadata.annotations[gpu-memory]: is '2000': {PARTS}",
    ),
}


def problem_of(obj):
    reader = KINDS[(obj["apiVersion"], obj["kind"])]
    return reader.reading(decode(obj, reader.wire)).problem


@pytest.mark.parametrize("kind", list(SAMPLES))
@pytest.mark.parametrize("asked", list(REQUESTS))
def test_a_request_that_nothing_honours_is_refused(asked, kind):
    """The refusal names object, field, reason and remedy, in each kind and template."""
    make, field = SAMPLES[kind]
    template, want = REQUESTS[asked]
    obj = make(template)

    problem = problem_of(obj)

    assert problem is not None
    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    group = KINDS[(obj["apiVersion"], obj["kind"])].resource.group_kind
    assert problem.detail == f"{group} team-a/j: {field}.{want}"


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_a_template_without_such_requests_is_read(kind):
    """Empty claims and other annotations are no request for anything."""
    make, _ = SAMPLES[kind]
    template = pod_template(gpus=1, annotations={"gpu": "fraction"}, resourceClaims=[])

    assert problem_of(make(template)) is None
