"""Templates of which a part stands in another object: they follow it."""

from global_sched.shared.api.names import DECISION
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.model.decision import Decision, Grant, decision_id
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, PodSetName
from global_sched.shared.model.verdict import Code
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import NOW, binding
from tests.wire_templates import train_job, training_runtime

REF = RuntimeRef("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "", "torch")


def jobs(*names):
    """TrainJobs of one runtime, without a number of nodes of their own, and their bindings."""
    made = [train_job(name, None) for name in names]
    return [obj for job in made for obj in (job, binding(job))]


def pods(state, name="a"):
    """How many pods a job asks for, or why it is unknown."""
    found = workload_in(state, f"team-a/{name}-trainjob")
    if found.problem is not None:
        return found.problem.code, found.problem.reason
    return found.demand.gang.pods()


WAITING = (Code.WAIT, Reason.RUNTIME_MISSING)


def test_a_job_is_read_again_when_its_runtime_comes_changes_and_goes():
    """Each time there is something to decide."""
    state = state_of(*jobs("a", "b"))
    assert pods(state) == WAITING

    assert feed(state, training_runtime("torch"))
    assert (pods(state), pods(state, "b")) == (1, 1)
    assert feed(state, training_runtime("torch", policy={"numNodes": 3}))
    assert pods(state) == 3
    state.delete_runtime(REF)
    assert state.take_dirty()
    assert pods(state) == WAITING


def test_the_runtime_may_come_first():
    """The order of informers does not matter."""
    assert pods(state_of(training_runtime("torch", policy={"numNodes": 2}), *jobs("a"))) == 2


def test_a_runtime_that_says_the_same_is_no_news():
    """Nor one that no job refers to."""
    state = state_of(training_runtime("torch"), *jobs("a"))

    assert not feed(state, training_runtime("torch"))
    assert not feed(state, training_runtime("other", policy={"numNodes": 7}))


def test_a_job_that_is_gone_is_not_read_again():
    """What it referred to is forgotten with it."""
    state = state_of(training_runtime("torch"), *jobs("a"))
    reader = next(iter(state.templates._halves[REF].values()))[0]
    state.delete_template(reader, "team-a", "a")

    assert state.templates._halves == {}
    assert state.templates._refs == {}


def test_a_runtime_that_cannot_be_read():
    """What refers to it is refused with the reason, until it is put right."""
    state = state_of(*jobs("a"))
    state.malformed_runtime(REF, "u", "Expected `int`, got `str` - at `$.spec.mlPolicy.numNodes`")
    found = workload_in(state, "team-a/a-trainjob").problem

    assert (found.code, found.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert found.detail == (
        "TrainJob.trainer.kubeflow.org team-a/a: ClusterTrainingRuntime torch: Expected `int`, got "
        "`str` - at `$.spec.mlPolicy.numNodes`; correct the object"
    )
    assert feed(state, training_runtime("torch"))
    assert pods(state) == 1


def running(nodes):
    """A TrainJob of whatever its runtime says, and its binding: it runs with so many nodes."""
    job = train_job("a", None)
    grants = (Grant(cluster=ClusterName("m1"), amounts=Amounts.of({PodSetName("node"): nodes})),)
    made = decision_id("id-a-trainjob", grants, NOW, 2, None, 0)
    decision = Decision(id=made, epoch=1, at=NOW, order=2, grants=grants, priority=0)
    notes = {DECISION: render_decision(decision)}
    return job, binding(job, clusters=["m1"], annotations=notes)


def test_a_job_that_runs_keeps_its_pods_when_its_runtime_changes():
    """Trainer leaves it as it is: a runtime that is made larger must not take it down."""
    state = state_of(training_runtime("torch", policy={"numNodes": 2}), *running(2))
    assert pods(state) == 2

    feed(state, training_runtime("torch", policy={"numNodes": 4}))
    assert pods(state) == 2
    state.delete_runtime(REF)
    assert pods(state) == 2
    state.malformed_runtime(REF, "u", "no number")
    assert pods(state) == 2


def test_a_new_leader_takes_the_pods_of_one_that_runs_from_its_decision():
    """It has never seen the runtime of then."""
    state = state_of(training_runtime("torch", policy={"numNodes": 4}), *running(2))

    assert pods(state) == 2
    assert workload_in(state, "team-a/a-trainjob").demand.gang.minimum == 2


def test_a_job_that_runs_follows_what_its_owner_says_of_it():
    """Suspension counts at once; annotations do, too."""
    job, placed = running(2)
    state = state_of(training_runtime("torch", policy={"numNodes": 2}), job, placed)
    feed(state, train_job("a", None, spec={"annotations": {"volcano.sh/preemptable": "false"}}))
    assert not workload_in(state, "team-a/a-trainjob").preemptable

    feed(state, train_job("a", None, spec={"suspend": True}))
    assert pods(state) == (Code.WAIT, Reason.SUSPENDED)
