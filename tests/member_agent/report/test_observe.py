"""A report of a member: bound pods, totals, keys, and what was left out."""

import pytest

from global_sched.shared.model.ids import BindingId, DecisionId
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.last_resort import is_last_resort
from member_agent.cache import Kind, units_of
from member_agent.recovery.health import NodeHealth
from member_agent.report.observe import Facts, Placing, below_of, observe, short_of
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import AGENT, gang_objects, member, node, owner, pod, racks
from tests.wire import GPU


def seen(cache, *, facts=None, placing=None):
    return observe(
        cache,
        units_of(cache, frozenset({AGENT})),
        facts=facts or Facts(),
        placing=placing or Placing(),
        generation=1,
        now=Instant(0),
    )


def workload(cache, **fields):
    [found] = seen(cache, **fields).workloads
    return found


SWEEP = owner("Job", "sweep", binding="b", spec={"parallelism": 2, "completions": 6})


def sweep(*phases):
    """Pods of a batch Job: `run`, `done`, `failed` or `new`."""
    made = {
        "run": {"node": "n"},
        "done": {"node": "n", "phase": "Succeeded"},
        "failed": {"node": "n", "phase": "Failed"},
        "new": {},
    }
    return [pod(f"p{at}", owner=SWEEP, **made[phase]) for at, phase in enumerate(phases)]


@pytest.mark.parametrize(
    ("phases", "want_bound"),
    [
        pytest.param(["run", "run"], {"main": 2}, id="running pods count"),
        pytest.param(["done", "done"], {"main": 2}, id="pods that succeeded still count"),
        pytest.param(["run", "done"], {"main": 2}, id="both together"),
        pytest.param(["run", "failed"], {"main": 1}, id="failed pods do not"),
        pytest.param(
            ["done", "done", "new", "new"],
            None,
            id="nor pods that are being replaced, so that their room stays admitted",
        ),
        pytest.param(["done", "run", "new"], {"main": 1}, id="as far as they are"),
        pytest.param(
            ["done", "done", "done", "run", "run"], {"main": 2}, id="never more than admitted"
        ),
    ],
)
def test_bound_pods(phases, want_bound):
    """Bound pods per binding and pod set are what of the admitted room is in use or used up."""
    cache = member(node("n"), SWEEP, sweep(*phases), directive(entry("b", {"main": 2})))

    assert workload(cache).bound == want_bound


def test_bound_pods_without_an_entry():
    """Pods that run here count also when the Directive has no entry for them (any more)."""
    found = workload(member(node("n"), SWEEP, sweep("run", "done")))

    assert (found.binding, found.bound, found.decision) == ("b", {"main": 2}, "")


def test_a_directed_workload_without_pods():
    """An entry is answered at once, so that the leader sees that it was read."""
    found = workload(member(directive(entry("b", {"main": 2}))))

    assert (found.decision, found.bound, found.reason) == (
        "decision-b",
        None,
        "its pods have not been made yet",
    )


def test_minimum_reached_belongs_to_a_decision():
    """It is reported only under the decision that stands in the Directive now."""
    cache = member(racks(1, 1), directive(entry("b", {"main": 2})))
    for decision, want in (("decision-b", True), ("decision-old", False)):
        placing = Placing(reached={BindingId("b"): DecisionId(decision)})
        assert workload(cache, placing=placing).minimum_reached is want


@pytest.mark.parametrize(
    ("decision", "running", "before", "want"),
    [
        pytest.param("decision-b", 1, {}, "1970-01-01T00:01:40.000000Z", id="from now on"),
        pytest.param("decision-b", 1, {"b": 7}, "1970-01-01T00:00:07.000000Z", id="as before"),
        pytest.param("decision-b", 1, {"b": 999}, "1970-01-01T00:01:40.000000Z", id="not to come"),
        pytest.param("decision-b", 2, {"b": 7}, "", id="no more once the minimum is bound"),
        pytest.param("decision-old", 1, {}, "", id="not before it was reached"),
        pytest.param("decision-b", 0, {}, "1970-01-01T00:01:40.000000Z", id="without any pod"),
    ],
)
def test_since_when_a_gang_is_below_its_minimum(decision, running, before, want):
    """Under the present decision, after its minimum was bound."""
    gang = gang_objects("train", pods=2, binding="b", nodes=["n"] * running)
    cache = member(node("n"), directive(entry("b", {"worker": 2})), gang if running else [])
    below = {BindingId(name): Instant(since * SECOND) for name, since in before.items()}
    reached = {BindingId("b"): DecisionId(decision)}

    found = observe(
        cache,
        units_of(cache, frozenset({AGENT})),
        facts=Facts(below=below),
        placing=Placing(reached=reached),
        generation=1,
        now=Instant(100 * SECOND),
    )

    assert [one.below_since for one in found.workloads] == [want]
    assert below_of(found.workloads) == ({} if not want else {"b": parse_instant(want)})


@pytest.mark.parametrize(
    ("running", "before", "want"),
    [
        pytest.param(2, {}, "1970-01-01T00:01:40.000000Z", id="from now on"),
        pytest.param(2, {"b": 7}, "1970-01-01T00:00:07.000000Z", id="as before"),
        pytest.param(3, {"b": 7}, "", id="no more once all admitted pods are bound"),
    ],
)
def test_since_when_a_gang_is_short(running, before, want):
    """It has its minimum, and fewer pods than were admitted."""
    gang = gang_objects("train", pods=3, minimum=2, binding="b", nodes=["n"] * running)
    cache = member(node("n"), directive(entry("b", {"worker": 3})), gang)

    found = observe(
        cache,
        units_of(cache, frozenset({AGENT})),
        facts=Facts(short={BindingId(name): Instant(at * SECOND) for name, at in before.items()}),
        placing=Placing(reached={BindingId("b"): DecisionId("decision-b")}),
        generation=1,
        now=Instant(100 * SECOND),
    )

    assert [(one.short_since, one.below_since) for one in found.workloads] == [(want, "")]
    assert short_of(found.workloads) == ({} if not want else {"b": parse_instant(want)})


def test_occupants_are_managed_gangs_only():
    """Only pods that came through Karmada can be evicted; preemptable: false keeps them out."""
    objects = gang_objects("g", pods=2, gpus=2, binding="b", nodes=["r0-0", "r0-0"])
    objects[-1]["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"
    cache = member(
        racks(1, 1), objects, pod("free", node="r0-0"), pod("own", node="r0-0", scheduler="volcano")
    )

    [leaf] = seen(cache).topology.leaves

    assert [(o.binding, o.pod_set, o.pods) for o in leaf.occupants] == [("b", "worker", 1)]
    assert leaf.free == (64000 - 4000, 256 * 2**30, 4, 106)


def test_label_keys():
    """Configured keys and those that the Directive asks for make classes; the rest is dropped."""
    labels = {"gpu": "h100", "zone": "a", "name": "n1"}
    cache = member(node("n1", labels=labels), directive(label_keys=["zone"]))
    topology = seen(cache, facts=Facts(label_keys=("gpu",))).topology

    assert topology.label_keys == ("gpu", "zone")
    assert topology.leaves[0].node_class.labels == (("gpu", "h100"), ("zone", "a"))


def test_too_many_label_keys():
    """Configured keys go first; what does not fit is named."""
    cache = member(node("n"), directive(label_keys=["a", "b"]))
    found = seen(cache, facts=Facts(label_keys=("z",), label_keys_limit=2))

    assert found.topology.label_keys == ("a", "z")
    assert [o.what for o in found.omitted] == ["label key b"]


def test_node_totals():
    """Allocatable is summed over nodes that are ready and not cordoned."""
    cache = member(node("a"), node("b", cordoned=True), node("c", ready=False))
    nodes = seen(cache).nodes

    assert (nodes.total, nodes.ready, nodes.schedulable) == (3, 2, 1)
    assert nodes.allocatable["nvidia.com/gpu"] == 8


def test_the_largest_node():
    """Of each resource the most that any node has, also one that is not ready."""
    cache = member(node("a"), node("c", ready=False, gpus=16))

    assert seen(cache).nodes.largest["nvidia.com/gpu"] == 16


def test_what_is_left_out_is_named():
    """Bad objects stand in the report with their reason, and nothing else suffers."""
    cache = member(
        node("fine"),
        node("odd", cpu="1e200000"),
        pod("absurd", node="fine", cpu="-3", scheduler="default-scheduler"),
        directive(entry("b", {"main": 1}), cluster="other"),
        owner("Job", "bad", spec={"parallelism": -1}),
    )
    cache.malformed(Kind.HYPER_NODE, ("", "h"), "spec.tier: expected int, got str")

    told = {o.what: o.reason for o in seen(cache).omitted}

    assert told["HyperNode h"] == "spec.tier: expected int, got str"
    assert told["Node odd"].startswith("status.allocatable[cpu]: '1e200000' is out of range")
    assert told["Node fine"].startswith("its room is unknown: the requests of pod team/absurd")
    assert told["Directive karmada-es-other/member1"].startswith("spec.cluster is 'other'")
    assert told["owner team/Job.batch/bad"] == "spec.parallelism is -1: expected 0 to 1000000"
    assert [leaf.count for leaf in seen(cache).topology.leaves] == [1]


def test_a_report_says_what_pods_ask_for():
    """Shapes of running and waiting pods, but for those that select on keys it does not hold."""
    zone, disk = {"nodeSelector": {"zone": "a"}}, {"nodeSelector": {"disk": "fast"}}
    cache = member(
        racks(1, 1),
        [pod("run", node="r0-0", gpus=2, spec=zone), pod("wait", gpus=2, spec=zone)],
        [pod("other", gpus=1, spec=disk)],
    )
    told = seen(cache, facts=Facts(label_keys=("zone",))).topology.demand
    assert [(one.shape.selector, one.shape.requests.get(GPU), one.pods) for one in told] == [
        ((("zone", "a"),), 2, 2)
    ]


def test_nodes_of_last_resort_are_marked_and_nodes_in_trouble_are_closed():
    """The leader counts the first ones last, and the others not at all."""
    health = NodeHealth(closed=frozenset({"r0-0"}), last_resort=frozenset({"r0-1"}))
    found = seen(member(racks(1, 3)), facts=Facts(health=health))

    kinds = [leaf.node_class for leaf in found.topology.leaves]
    assert sorted((kind.schedulable, is_last_resort(kind)) for kind in kinds) == [
        (False, False),
        (True, False),
        (True, True),
    ]
