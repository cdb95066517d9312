"""Malformed, hostile and absurd objects: reported with a reason, set aside, and the rest goes on.

Each file of tests/data/poison holds objects and what must be said about them (an empty text:
nothing, they are only odd). They are read exactly as an informer reads a list.
"""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from global_sched.cache import State
from global_sched.controllers.scheduling_timer import Wake
from global_sched.controllers.watching import Handlers
from global_sched.core import run_cycle
from global_sched.shared.api import core, federation, karmada, volcano
from global_sched.shared.clock import SystemClock
from global_sched.shared.kinds import KINDS
from global_sched.shared.kube.decode import codec
from global_sched.shared.model.policy import Policy
from tests.builders import NOW
from tests.global_sched.cache.worlds import feed, state_of
from tests.wire import binding, cluster_object, queue, report, task, vcjob

CORPUS = sorted((Path(__file__).parents[2] / "data" / "poison").glob("*.json"))
WIRES = {
    "ResourceBinding": karmada.ResourceBinding,
    "Cluster": karmada.Cluster,
    "OverridePolicy": karmada.OverridePolicy,
    "Queue": volcano.Queue,
    "Tenant": federation.Tenant,
    "PriorityClass": core.PriorityClass,
    "CapacityReport": federation.CapacityReport,
}


def deliver(state: State, obj: Any) -> None:
    """One object on a page of a list, through the informer's decoder and the handler."""
    handlers = Handlers(state, SystemClock(), Wake(SystemClock()))
    kind = obj["kind"]
    by_kind = {
        "ResourceBinding": handlers.bindings,
        "Cluster": handlers.clusters,
        "OverridePolicy": handlers.overrides,
        "Queue": handlers.queues,
        "Tenant": handlers.tenants,
        "CapacityReport": handlers.reports,
    }
    if kind in by_kind:
        wire, handler = WIRES[kind], by_kind[kind]()
    else:
        reader = KINDS[(obj["apiVersion"], kind)]
        wire, handler = reader.wire, handlers.templates(reader)
    raw = obj.pop("raw", None) or msgspec.json.encode(obj)
    page = codec(wire).page(b'{"kind":"List","metadata":{},"items":[' + raw + b"]}")
    for item in page.items:
        handler.upsert(item)
    for bad in page.malformed:
        handler.malformed(bad)


def all_that_is_said(state: State) -> str:
    """Every verdict, notice, queue problem and report refusal."""
    state.settle()
    said = [w.problem.detail for w in state.workloads() if w.problem is not None]
    said += [notice.text for notice in state.notices.standing()]
    said += [queue.problem for queue in state.builder.queues()]
    said += [one.problem for one in state.reports.acceptances.values()]
    return "\n".join(said)


def good_state() -> State:
    """A cluster with room, and a job that fits."""
    job = vcjob("good")
    return state_of(cluster_object("m1"), report("m1"), job, binding(job))


def assert_the_rest_goes_on(state: State) -> None:
    snapshot = state.snapshot()
    good = [w for b in snapshot.pending for w in b.workloads if w.name == "good"]
    assert [w.problem for w in good] == [None]
    [m1] = [cluster for cluster in snapshot.clusters if cluster.name == "m1"]
    assert m1.capacity is not None


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_corpus(path):
    """The reason names what is wrong, and the good job is as before."""
    case = json.loads(path.read_text())
    state = good_state()
    for obj in case["objects"]:
        deliver(state, obj)

    said = all_that_is_said(state)

    assert (case["want"] in said) if case["want"] else said.strip() == "", said
    assert_the_rest_goes_on(state)


@pytest.mark.parametrize(
    ("obj", "want"),
    [
        pytest.param(
            {
                "kind": "Job",
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "raw": b'{"metadata":{"name":"p","namespace":"team-a","uid":"uid-p"},'
                b'"spec":{"tasks":' + b"[" * 5000 + b"]" * 5000 + b"}}",
            },
            "Job.batch.volcano.sh team-a/p: ",
            id="a template nested 5,000 deep",
        ),
        pytest.param(
            {
                "kind": "ResourceBinding",
                "raw": b'{"metadata":{"name":"p-job","namespace":"team-a","uid":"x"},'
                b'"status":{"aggregatedStatus":[{"status":{"a":'
                + b"[" * 5000
                + b"]" * 5000
                + b"}}]}}",
            },
            "ResourceBinding team-a/p-job: ",
            id="a binding nested 5,000 deep",
        ),
        pytest.param(
            {"kind": "Queue", "raw": b'{"metadata":{"name":"bad"},"spec":{"weight":NaN}}'},
            "Queue.scheduling.volcano.sh bad: ",
            id="NaN as a JSON number",
        ),
    ],
)
def test_undecodable(obj, want):
    """What no decoder takes is reported with its kind and name."""
    state = good_state()
    job = vcjob("p")
    feed(state, binding(job, uid="x"))
    deliver(state, obj)

    assert want in all_that_is_said(state)
    assert_the_rest_goes_on(state)


def test_large_objects():
    """A 1.4 MB job and a binding with 50,000 annotations are read like any other."""
    state = good_state()
    job = vcjob("large", *(task(f"t{i}", 1) for i in range(12_000)))
    assert len(json.dumps(job)) > 1_400_000
    notes = {f"note-{i}": "x" for i in range(50_000)}
    deliver(state, job)
    deliver(state, binding(job, annotations=notes))

    assert all_that_is_said(state) == ""
    [large] = [w for w in state.workloads() if w.name == "large"]
    assert large.demand.gang is not None
    assert large.demand.gang.pods() == 12_000
    assert_the_rest_goes_on(state)


def test_a_template_that_becomes_readable_again():
    """A refusal ends with the object's next good version."""
    state = state_of()
    job = vcjob("p", version="5")
    broken = vcjob("p", task("a", 1, template={"spec": 7}), version="5")
    deliver(state, broken)
    deliver(state, binding(job))
    [one] = (state.settle(), state.workloads())[1]
    assert one.problem is not None

    deliver(state, vcjob("p", version="6"))
    [one] = (state.settle(), state.workloads())[1]
    assert one.problem is None


def test_a_chain_of_a_thousand_queues():
    """No recursion, no minute of CPU: the job at its end is admitted like any other."""
    state = good_state()
    names = [f"q-{depth:04}" for depth in range(1000)]
    parents = ("", *names)
    feed(
        state,
        queue("default"),
        *(queue(n, parent=p) if p else queue(n) for n, p in zip(names, parents, strict=False)),
    )
    job = vcjob("deep", queue=names[-1])
    feed(state, job, binding(job))

    plan = run_cycle(state.snapshot(), Policy(), NOW)

    assert sorted(one.workload for one in plan.admissions) == ["team-a/deep-job", "team-a/good-job"]


def test_the_last_of_two_keys_counts():
    """A key that stands twice in an object is what the API server read: the last one."""
    state = good_state()
    job = vcjob("twice")
    feed(state, job, binding(job))
    raw = msgspec.json.encode(job).replace(b'"spec":{', b'"spec":{"tasks":[{"replicas":-1}],', 1)
    deliver(state, {"apiVersion": job["apiVersion"], "kind": "Job", "raw": raw})

    assert all_that_is_said(state) == ""
    assert_the_rest_goes_on(state)
