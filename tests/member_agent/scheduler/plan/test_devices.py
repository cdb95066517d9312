"""A pod whose request for devices cannot be honoured is not bound, and its gang waits for it."""

import pytest

from tests.member_agent.member import member, pod, pod_group, racks
from tests.member_agent.scheduler.rounds import nodes_of, reasons_of, round_of

CLAIMS = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
DRA = "resource claims (DRA) are neither counted nor allocated here"
WHOLE = "request whole devices in resources.limits, such as nvidia.com/gpu"


def container(**amounts):
    limits = {name.replace("vgpu_", "volcano.sh/vgpu-"): text for name, text in amounts.items()}
    return {"name": "c", "image": "i", "resources": {"limits": limits}}


def kai(key, value):
    return (
        f"metadata.annotations[{key}]: is {value!r}: parts of a GPU are neither counted nor kept "
        f"apart here; remove it and {WHOLE}"
    )


def shared(resource):
    return (
        f"spec.containers[*].resources: {resource} is handed out by Volcano's scheduler only; "
        "use schedulerName volcano where it runs, or request whole devices"
    )


ODD = [
    pytest.param(
        {"spec": {"resourceClaims": CLAIMS}},
        f"spec.resourceClaims: {DRA}; {WHOLE}",
        id="resource claims",
    ),
    pytest.param(
        {"annotations": {"gpu-fraction": "0.5"}}, kai("gpu-fraction", "0.5"), id="KAI's fraction"
    ),
    pytest.param(
        {"annotations": {"gpu-memory": "2000"}}, kai("gpu-memory", "2000"), id="KAI's memory"
    ),
    pytest.param(
        {"spec": {"containers": [container(vgpu_number="1")]}},
        shared("volcano.sh/vgpu-number"),
        id="a number of virtual GPUs",
    ),
    pytest.param(
        {"spec": {"containers": [container(vgpu_memory="60000")]}},
        shared("volcano.sh/vgpu-memory"),
        id="memory of a virtual GPU",
    ),
    pytest.param(
        {"spec": {"initContainers": [container(vgpu_cores="50")]}},
        shared("volcano.sh/vgpu-cores"),
        id="cores of a virtual GPU in an init container",
    ),
]
ROOM = {
    "volcano.sh/vgpu-number": "8",
    "volcano.sh/vgpu-memory": "80000",
    "volcano.sh/vgpu-cores": "800",
}


@pytest.mark.parametrize(("fields", "want"), ODD)
def test_a_pod_that_asks_for_what_nothing_hands_out(fields, want):
    """It waits with field, reason and remedy, though its node lists enough; others are placed."""
    cache = member(racks(1, 2, extra=ROOM), [pod("odd", **fields), pod("good", gpus=1)])

    found = round_of(cache)

    assert set(nodes_of(found)) == {"good"}
    assert reasons_of(found) == {"odd": f"Pod team/odd: {want}"}


@pytest.mark.parametrize(("fields", "want"), ODD)
def test_one_such_pod_keeps_its_gang_from_starting(fields, want):
    """The gang of a PodGroup starts whole or not at all: all of its pods wait with that reason."""
    group = pod_group("g", minimum=1)
    cache = member(
        racks(1, 2, extra=ROOM), [group, pod("odd", group="g", **fields), pod("even", group="g")]
    )

    found = round_of(cache)

    assert nodes_of(found) == {}
    assert reasons_of(found) == dict.fromkeys(("even", "odd"), f"Pod team/odd: {want}")


def test_a_pod_that_is_bound_already_counts_as_what_it_takes():
    """Another scheduler bound it: what it requests is in use, and nothing is refused."""
    spec = {"resourceClaims": CLAIMS}
    bound = pod("bound", gpus=8, node="r0-0", spec=spec)
    cache = member(racks(1, 1), [bound, pod("new", gpus=1)])

    assert reasons_of(round_of(cache)) == {"new": "the cluster has no room for the pod"}


def test_pods_of_another_scheduler_are_not_judged():
    """Volcano's own scheduler hands out virtual GPUs: its pods are none of the agent's."""
    spec = {"containers": [container(vgpu_number="1")]}
    cache = member(racks(1, 1), [pod("theirs", scheduler="volcano", spec=spec)])

    assert reasons_of(round_of(cache)) == {}
