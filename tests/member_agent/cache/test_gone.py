"""Withdrawn workloads: gone when neither their object nor a pod of them is there, in any phase."""

import msgspec
import pytest

from global_sched.shared.api.federation import LeftBinding
from member_agent.cache import gone
from tests.member_agent.directives import directive
from tests.member_agent.member import gang_objects, member, owner, pod, volcano_job

ASKED = {
    "binding": "b",
    "at": "2026-01-01T00:00:00.000000Z",
    "namespace": "team",
    "kind": "Job",
    "name": "train",
}
JOB = volcano_job("train", binding="b")
UNSEEN = owner("Job", "train", api_version="batch.volcano.sh/v1alpha1")
FOREIGN = owner("MPIJob", "train", api_version="kubeflow.org/v2")
OTHER = owner("MPIJob", "x", api_version="kubeflow.org/v2")
ELSEWHERE = owner("Job", "train", api_version="batch.volcano.sh/v1alpha1", namespace="other")
KINDS = frozenset({("kubeflow.org/v2", "MPIJob")})


def asked(**fields):
    """The Directive that asks for one withdrawal."""
    found = directive()
    found["spec"]["left"] = [ASKED | fields]
    return found


@pytest.mark.parametrize(
    ("objects", "fields"),
    [
        pytest.param([], {}, id="nothing is here"),
        pytest.param(gang_objects("other", pods=2, binding="c"), {}, id="another gang is here"),
        pytest.param(
            [pod("train-0", owner=ELSEWHERE, namespace="other")],
            {},
            id="pods of a lost object are in another namespace",
        ),
        pytest.param([pod("alone")], {}, id="a bare pod of nobody is here"),
        pytest.param(
            [pod("x-0", owner=OTHER)],
            {"kind": "MPIJob"},
            id="pods of another object of that kind are here",
        ),
    ],
)
def test_it_is_gone(objects, fields):
    """The report names it in the words of the Directive."""
    cache = member(*objects, asked(**fields))

    assert gone(cache, KINDS) == [msgspec.convert(ASKED | fields, LeftBinding)]


@pytest.mark.parametrize(
    ("objects", "fields"),
    [
        pytest.param([JOB], {}, id="its object is here, and no pod"),
        pytest.param([JOB, pod("train-0", owner=JOB)], {}, id="a pod waits"),
        pytest.param(
            [JOB, pod("train-0", owner=JOB, node="n", phase="Succeeded")],
            {},
            id="a pod has ended and is here still",
        ),
        pytest.param(
            [pod("train-0", owner=UNSEEN, node="n", deleted=True)],
            {},
            id="its object was deleted, and a pod is Terminating",
        ),
        pytest.param(
            [pod("train-0", owner=FOREIGN)],
            {"kind": "MPIJob"},
            id="pods of a kind that cannot be watched bear its name",
        ),
        pytest.param(gang_objects("g", pods=2, binding="b"), {}, id="a PodGroup bears its binding"),
    ],
)
def test_something_is_left(objects, fields):
    """Nothing is said of it."""
    assert gone(member(*objects, asked(**fields)), KINDS) == []


def test_nothing_is_said_that_was_not_asked():
    """Without a Directive that asks, the report shows nothing to be gone."""
    assert gone(member(directive())) == []
