"""LeaderWorkerSets: each group in one domain, leaders and workers together, as one gang."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.api.core import Pod
from global_sched.shared.model.gang import Gang, Mode, Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import LEADERS, WORKERS
from global_sched.shared.placement import shape_of
from member_agent.cache import units_of
from member_agent.cache.surplus import surplus_turns
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import (
    feed,
    hyper_node,
    member,
    node,
    owner,
    pod,
    pod_group,
)
from tests.member_agent.scheduler.rounds import OURS, bind, nodes_of, reasons_of, round_of
from tests.wire import decode

NOTES = {names.TOPOLOGY_MODE: "hard", names.TOPOLOGY_TIER: "1"}


class Serving:
    """A LeaderWorkerSet `llm` and what its controller makes of it."""

    def __init__(self, *, groups=2, size=3, notes=NOTES, startup="", **annotations):
        self.groups, self.size, self.notes = groups, size, notes
        self.app = owner(
            "LeaderWorkerSet",
            "llm",
            api_version="leaderworkerset.x-k8s.io/v1",
            binding="b-llm",
            annotations=annotations,
            spec={
                "replicas": groups,
                "startupPolicy": startup,
                "leaderWorkerTemplate": {"size": size},
            },
        )
        self.leaders = owner("StatefulSet", "llm", api_version="apps/v1", controller=self.app)

    def leader(self, group, *, on="", gpus=2, **more):
        return self._pod(f"llm-{group}", group, 0, self.leaders, on, gpus, more)

    def worker(self, group, place, *, on="", gpus=8, **more):
        own = self.workers(group)
        return self._pod(f"llm-{group}-{place}", group, place, own, on, gpus, more)

    def workers(self, group):
        """The StatefulSet of a group's workers: its leader owns it."""
        return owner(
            "StatefulSet", f"llm-{group}", api_version="apps/v1", controller=self.leader(group)
        )

    def _pod(self, name, group, place, controller, on, gpus, more):
        labels = {
            names.LWS_NAME: "llm",
            names.LWS_GROUP_INDEX: str(group),
            names.LWS_WORKER_INDEX: str(place),
        }
        notes = {names.LWS_SIZE: str(self.size), **(self.notes or {})}
        fields = {"labels": labels, "annotations": notes, "owner": controller, **more}
        return pod(name, gpus=gpus, node=on, **fields)

    def all(self, *, skip=()):
        """Every object of it, all pods waiting."""
        made = [self.app, self.leaders]
        for group in range(self.groups):
            made += [self.workers(group), self.leader(group)]
            made += [self.worker(group, place) for place in range(1, self.size)]
        return [one for one in made if one["metadata"]["name"] not in skip]

    def gang(self, least=None):
        """What the Directive says of it."""
        least = self.groups if least is None else least
        rule = TopologyConstraint(mode=Mode.HARD, highest_tier=1)
        sets = []
        for name, size, one in (
            (LEADERS, 1, self.leader(0)),
            (WORKERS, self.size - 1, self.worker(0, 1)),
        ):
            sets.append(
                PodSet(
                    name=name,
                    count=self.groups * size,
                    minimum=least * size,
                    shape=shape_of(decode(one, Pod).spec),
                    partition=Partition(
                        size=size,
                        total=self.groups,
                        minimum=least,
                        constraint=rule,
                        together="leader+worker",
                    ),
                )
            )
        return Gang(pod_sets=tuple(sets), minimum=least * self.size)

    def directive(self, least=None):
        """The Directive that admits all of it."""
        pods = {LEADERS: self.groups, WORKERS: self.groups * (self.size - 1)}
        return directive(entry("b-llm", pods, gang=self.gang(least)))


def rack_of(placed):
    """The racks of every group."""
    found = {}
    for name, on in placed.items():
        found.setdefault(name.split("-")[1], set()).add(on.rpartition("-")[0])
    return found


def test_one_unit_of_groups():
    """All pods under the set are one unit of two pod sets, found through their leaders."""
    [unit] = units_of(member(Serving().all()), OURS)

    assert (unit.key, unit.binding) == ("LeaderWorkerSet/team/llm/uid-LeaderWorkerSet-llm", "b-llm")
    assert dict(unit.minimum.entries) == {"leader": 2, "worker": 4}
    places = [(one.pod_set, one.index, one.name) for one in unit.waiting]
    assert places == [
        ("leader", 0, "llm-0"),
        ("leader", 1, "llm-1"),
        ("worker", 0, "llm-0-1"),
        ("worker", 1, "llm-0-2"),
        ("worker", 2, "llm-1-1"),
        ("worker", 3, "llm-1-2"),
    ]


def test_pod_groups_of_single_groups_change_nothing():
    """Where its controller makes a PodGroup of each group, the set is still one gang."""
    serving = Serving()
    groups = [pod_group(f"llm-{at}-x", minimum=3, controller=serving.leader(at)) for at in (0, 1)]
    own = serving.all()
    for one in own:
        if one["kind"] == "Pod":
            group = one["metadata"]["labels"][names.LWS_GROUP_INDEX]
            one["metadata"]["annotations"][names.GROUP_NAME] = f"llm-{group}-x"

    [unit] = units_of(member(own, groups), OURS)

    assert unit.key.startswith("LeaderWorkerSet/")
    assert unit.floor == 6


@pytest.mark.parametrize(
    ("sizes", "want"),
    [
        pytest.param((3, 3), 6, id="two racks of one group each"),
        pytest.param((4, 2), 0, id="as many nodes, but only one group has a rack"),
        pytest.param((6,), 6, id="one rack for both"),
    ],
)
def test_every_group_in_one_domain(sizes, want):
    """A leader and its workers share a domain of the tier that their templates name."""
    serving = Serving()
    placed = nodes_of(round_of(member(town(sizes), serving.all(), serving.directive())))

    assert len(placed) == want
    assert all(len(on) == 1 for on in rack_of(placed).values())


def town(sizes):
    """Racks of so many nodes under one spine, one pod of 8 GPUs per node (or four leaders)."""
    world = []
    for rack, size in enumerate(sizes):
        own = [f"r{rack}-{at}" for at in range(size)]
        world += [*(node(name) for name in own), hyper_node(f"r{rack}", 1, nodes=own)]
    return [*world, hyper_node("s", 2, children=[f"r{at}" for at in range(len(sizes))])]


def test_more_than_ten_groups_keep_their_pods():
    """Groups go by number, not by the order of their names."""
    serving = Serving(groups=12, size=2)
    world = member(town((2,) * 12), serving.all(), serving.directive())

    placed = nodes_of(round_of(world))

    assert len(placed) == 24
    assert all(len(on) == 1 for on in rack_of(placed).values())


def test_fewer_groups_where_the_set_says_so():
    """`min-groups` lets the others follow when there is room."""
    serving = Serving(groups=3, **{names.MIN_GROUPS: "1"})
    world = member(town((3, 2)), serving.all(), serving.directive(1))

    round_ = round_of(world)

    assert sorted(nodes_of(round_)) == ["llm-0", "llm-0-1", "llm-0-2"]
    assert "llm-2-1" in reasons_of(round_)


def test_a_group_that_comes_back_lies_together():
    """One group is made anew: it starts whole in one domain, the other stays."""
    serving = Serving()
    there = [
        serving.app,
        serving.leaders,
        serving.workers(0),
        serving.workers(1),
        serving.leader(0, on="r0-0"),
        *(serving.worker(0, at, on=f"r0-{at}") for at in (1, 2)),
        serving.leader(1),
        *(serving.worker(1, at) for at in (1, 2)),
    ]
    placed = nodes_of(round_of(member(town((4, 3)), there, serving.directive())))

    assert rack_of(placed) == {"1": {"r1"}}
    assert len(placed) == 3


def test_a_worker_that_comes_back_joins_its_group():
    """Restart policy None makes one pod anew: it goes where the rest of its group is."""
    serving = Serving()
    there = [
        serving.app,
        serving.leaders,
        serving.workers(0),
        serving.workers(1),
        *(serving.leader(at, on=f"r{at}-0") for at in (0, 1)),
        serving.worker(0, 1, on="r0-1"),
        serving.worker(0, 2, on="r0-2"),
        serving.worker(1, 1, on="r1-1"),
        serving.worker(1, 2),
    ]

    assert nodes_of(round_of(member(town((5, 3)), there, serving.directive()))) == {
        "llm-1-2": "r1-2"
    }


def test_leaders_wait_for_the_room_of_their_workers():
    """Under LeaderReady leaders start where their workers fit, whose places are kept."""
    serving = Serving(startup="LeaderReady")
    world = member(
        town((3, 2, 3)),
        [serving.app, serving.leaders, *(serving.leader(at) for at in (0, 1))],
        serving.directive(),
    )
    first = round_of(world)
    leaders = rack_of(nodes_of(first))
    assert leaders == {"0": {"r0"}, "1": {"r2"}}

    situation = bind(world, first)
    for late in (1, 0):  # the last group's workers come first
        for at in (1, 2):
            feed(world, [serving.workers(late), serving.worker(late, at)])
        second = round_of(world, situation)
        assert rack_of(nodes_of(second)) == {str(late): leaders[str(late)]}
        assert len(nodes_of(second)) == 2
        situation = bind(world, second)


def test_places_of_late_workers_are_not_given_away():
    """Workers that come one group after the other keep their places, whatever else waits."""
    serving = Serving(startup="LeaderReady")
    pods = {"leader": 2, "worker": 4}
    entries = (entry("b-early", {"main": 2}, at=-10), entry("b-llm", pods, gang=serving.gang()))
    leaders = [serving.leader(at) for at in (0, 1)]
    world = member(town((3, 3)), serving.app, serving.leaders, leaders, directive(*entries))
    situation = bind(world, round_of(world))
    early = owner("Job", "early", binding="b-early", spec={"parallelism": 2})
    feed(world, [early, *(pod(f"early-{at}", gpus=8, owner=early) for at in (0, 1))])
    feed(world, [serving.workers(1), *(serving.worker(1, at) for at in (1, 2))])

    first = round_of(world, situation)
    situation = bind(world, first)
    feed(world, [serving.workers(0), *(serving.worker(0, at) for at in (1, 2))])
    second = round_of(world, situation)

    assert sorted(nodes_of(first)) == ["llm-1-1", "llm-1-2"]
    assert sorted(nodes_of(second)) == ["llm-0-1", "llm-0-2"]
    assert {"early-0", "early-1"} == set(reasons_of(second))


def test_no_leader_without_room_for_its_workers():
    """Leaders fit, their workers do not: nothing starts."""
    serving = Serving(startup="LeaderReady")
    objects = [serving.app, serving.leaders, *(serving.leader(at) for at in (0, 1))]
    round_ = round_of(member(town((3, 2)), objects, serving.directive()))

    assert nodes_of(round_) == {}
    assert set(reasons_of(round_)) == {"llm-0", "llm-1"}


def test_no_pod_of_a_group_is_surplus():
    """A group without one of its pods is none: nothing of the set leaves alone."""
    serving = Serving(groups=2, size=2, **{names.MIN_GROUPS: "1"})
    there = [serving.app, serving.leaders, serving.workers(0), serving.workers(1)]
    there += [serving.leader(at, on=f"r{at}-0") for at in (0, 1)]
    there += [serving.worker(at, 1, on=f"r{at}-1") for at in (0, 1)]
    units = units_of(member(town((2, 2)), there, serving.directive(1)), OURS)

    assert surplus_turns(units) == {}
