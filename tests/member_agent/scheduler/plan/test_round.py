"""A round: which pods get a node, and why the others wait."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, PodSetName
from member_agent.scheduler.plan.outcome import PlaceSource, Situation
from tests.builders import gang, hard
from tests.builders import pod_set as model_pod_set
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, member, node, owner, pod, racks
from tests.member_agent.scheduler.rounds import bind, nodes_of, reasons_of, round_of


def workers(pods, *, minimum=None, gpus=8, tier=None):
    """The gang that the leader admitted for `gang_objects`."""
    constraint = hard(tier) if tier is not None else None
    shape = model_pod_set("worker", pods=pods, minimum=minimum, gpus=gpus, cpu=1)
    return gang(shape, constraint=constraint)


@pytest.mark.parametrize(
    ("objects", "want_nodes"),
    [
        pytest.param(
            gang_objects("g", pods=2, tier=1),
            {"g-worker-0": "r0-0", "g-worker-1": "r0-1"},
            id="a free gang goes whole into one rack under its hard tier",
        ),
        pytest.param(
            gang_objects("g", pods=3, tier=1),
            {},
            id="none of it goes anywhere when no rack holds all",
        ),
        pytest.param(
            gang_objects("g", pods=3, tier=2),
            {"g-worker-0": "r0-0", "g-worker-1": "r0-1", "g-worker-2": "r1-0"},
            id="a wider tier takes the wider domain",
        ),
        pytest.param(
            gang_objects("g", pods=3, minimum=2, tier=1),
            {"g-worker-0": "r0-0", "g-worker-1": "r0-1"},
            id="the minimum starts, lower indexes first, and the surplus waits for room",
        ),
        pytest.param(
            [pod("a", gpus=4), pod("b", gpus=8)],
            {"a": "r0-0", "b": "r0-1"},
            id="bare pods are placed one by one",
        ),
    ],
)
def test_free_units(objects, want_nodes):
    """What did not come through Karmada is placed freely: its minimum or nothing."""
    cache = member(racks(2, 2), objects)

    assert nodes_of(round_of(cache)) == want_nodes


def test_a_directed_gang_goes_to_its_domain():
    """The Directive names the domain, even where another one would be the first choice."""
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=2, tier=1, binding="b"),
        directive(entry("b", {"worker": 2}, domain="r1", tier=1)),
    )

    round_ = round_of(cache)

    assert nodes_of(round_) == {"g-worker-0": "r1-0", "g-worker-1": "r1-1"}
    [placement] = round_.placements
    assert (placement.where, placement.domain, placement.starts) == (
        PlaceSource.DIRECTED,
        "r1",
        True,
    )
    assert placement.plan.decision == "decision-b"
    assert dict(placement.plan.nodes) == {"uid-g-worker-0": "r1-0", "uid-g-worker-1": "r1-1"}


def test_elsewhere_under_the_same_constraint():
    """When the named domain no longer holds it, another one under its constraint does."""
    cache = member(
        racks(2, 2),
        pod("squatter", gpus=1, node="r1-0", scheduler="default-scheduler"),
        gang_objects("g", pods=2, tier=1, binding="b"),
        directive(entry("b", {"worker": 2}, domain="r1", tier=1)),
    )

    [placement] = round_of(cache).placements

    assert {node for _, node in placement.nodes} == {"r0-0", "r0-1"}
    assert placement.where is PlaceSource.ELSEWHERE
    assert placement.note == "domain r1 no longer holds it"


def test_never_more_pods_than_admitted():
    """Pods beyond the admitted amount wait, with that reason."""
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=3, minimum=1, binding="b"),
        directive(entry("b", {"worker": 2})),
    )

    round_ = round_of(cache)
    assert sorted(nodes_of(round_)) == ["g-worker-0", "g-worker-1"]

    again = round_of(cache, bind(cache, round_))
    assert nodes_of(again) == {}
    assert reasons_of(again) == {
        "g-worker-2": "growth not admitted: the Directive admits 2 pods of worker, "
        "which are placed already"
    }


def test_managed_pods_without_an_entry_wait():
    """A workload that came through Karmada starts only when it is directed here."""
    cache = member(racks(1, 2), gang_objects("g", pods=1, binding="b"))

    round_ = round_of(cache)

    assert reasons_of(round_) == {"g-worker-0": "no Directive entry for binding b yet"}
    assert round_.reasons == {"b": "no Directive entry for binding b yet"}


def test_minimum_waits_for_its_pods():
    """A gang of which some pods are not made yet waits whole, and keeps its room."""
    objects = gang_objects("g", pods=2, binding="b")
    cache = member(racks(1, 2), objects[:-1], directive(entry("b", {"worker": 2}, gang=workers(2))))

    round_ = round_of(cache)

    assert reasons_of(round_) == {
        "g-worker-0": "the minimum needs 2 pods of worker, and 1 may start"
    }
    assert round_.reservations[BindingId("b")].amounts() == Amounts.of({PodSetName("worker"): 2})


def test_room_of_a_gang_that_has_not_arrived_is_kept():
    """Directed room belongs to its workload alone, even before the first pod of the gang exists."""
    directed = directive(entry("b", {"worker": 2}, domain="r0", gang=workers(2, tier=1)))
    cache = member(racks(1, 2), directed, pod("free", gpus=1))

    round_ = round_of(cache)

    assert nodes_of(round_) == {}
    assert reasons_of(round_)["free"].startswith("the cluster has no room for the pod")


def test_room_goes_by_the_leaders_order():
    """An entry that was admitted earlier has the first claim, whichever gang's pods are there."""
    entries = [
        entry("late", {"worker": 1}, at=2, gang=workers(1)),
        entry("early", {"worker": 1}, at=1, gang=workers(1)),
    ]
    cache = member(racks(1, 1), directive(*entries), gang_objects("g", pods=1, binding="late"))

    round_ = round_of(cache)

    assert nodes_of(round_) == {}
    assert list(round_.reservations) == ["early"]


def test_surplus_joins_when_it_fits():
    """Admitted pods beyond the minimum wait for room and join later, in the same domain."""
    cache = member(
        racks(2, 2),
        pod("other", gpus=8, node="r0-1"),
        gang_objects("g", pods=2, minimum=1, tier=1, binding="b"),
        directive(entry("b", {"worker": 2}, domain="r0", gang=workers(2, minimum=1, tier=1))),
    )
    first = round_of(cache)
    assert nodes_of(first) == {"g-worker-0": "r0-0"}
    situation = bind(cache, first)
    assert reasons_of(round_of(cache, situation)).keys() == {"g-worker-1"}

    cache.upsert_pod(_pod(pod("other", gpus=8, node="r0-1", phase="Succeeded", version="2")))

    assert nodes_of(round_of(cache, situation)) == {"g-worker-1": "r0-1"}


def _pod(obj):
    from global_sched.shared.api.core import Pod  # noqa: PLC0415 - one use
    from tests.wire import decode  # noqa: PLC0415 - one use

    return decode(obj, Pod)


def test_a_replaced_pod_stays_in_the_domain():
    """A pod that is made anew goes where the rest of its gang runs, or waits."""
    objects = gang_objects("g", pods=2, tier=1, nodes=["r1-0"])
    cache = member(racks(2, 2), objects)
    assert nodes_of(round_of(cache)) == {"g-worker-1": "r1-1"}

    full = member(racks(2, 2), objects, pod("other", gpus=8, node="r1-1"))
    assert nodes_of(round_of(full)) == {}


@pytest.mark.parametrize(
    ("mode", "tier", "want_problem"),
    [
        pytest.param("firm", "1", "annotation volcano.sh/network-topology-mode", id="mode"),
        pytest.param(
            "hard", "one", "annotation volcano.sh/network-topology-highest-tier", id="tier"
        ),
        pytest.param("hard", "0", "the cluster has no tier 0 or below", id="tier below all"),
        pytest.param("hard", "", "the hard topology constraint names no tier", id="no tier"),
    ],
)
def test_annotations_that_cannot_be_honoured(mode, tier, want_problem):
    """A constraint in annotations that cannot be read or met refuses the pod, never the others."""
    annotations = {names.TOPOLOGY_MODE: mode} | ({names.TOPOLOGY_TIER: tier} if tier else {})
    cache = member(racks(1, 2), pod("bad", annotations=annotations), pod("good"))

    round_ = round_of(cache)

    assert list(nodes_of(round_)) == ["good"]
    assert want_problem in reasons_of(round_)["bad"]


def test_annotations_constrain_kinds_without_a_field():
    """A batch Job's pods lie together by the annotations of their template."""
    job = owner("Job", "sweep", spec={"parallelism": 3})
    annotations = {names.TOPOLOGY_MODE: "hard", names.TOPOLOGY_TIER: "1"}
    pods = [pod(f"p{at}", gpus=8, owner=job, annotations=annotations) for at in range(3)]
    cache = member(racks(1, 2), racks(1, 3)[:0], job, pods)
    assert nodes_of(round_of(cache)) == {}

    wide = member(racks(2, 3), job, pods)
    assert {n.split("-")[0] for n in nodes_of(round_of(wide)).values()} == {"r0"}


def test_a_closed_node_takes_no_pods():
    """A node that refused a pod a moment ago is left out."""
    cache = member(node("a"), node("b"), pod("p", gpus=8))

    round_ = round_of(cache, Situation(closed=frozenset({"a"})))

    assert nodes_of(round_) == {"p": "b"}


def test_services_start_pod_by_pod():
    """A Deployment's pods join as they come and fit; its minimum is no gang in the member."""
    web = owner("Deployment", "web", api_version="apps/v1", binding="b")
    pods = [pod(f"w{at}", gpus=8, owner=web) for at in range(3)]
    shape = model_pod_set("main", pods=3, gpus=8, cpu=1)
    cache = member(racks(1, 2), web, pods, directive(entry("b", {"main": 3}, gang=gang(shape))))

    round_ = round_of(cache)

    assert sorted(nodes_of(round_)) == ["w0", "w1"]
    assert list(reasons_of(round_)) == ["w2"]
