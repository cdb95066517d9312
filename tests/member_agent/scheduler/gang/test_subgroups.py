"""Subgroups by labels: how many must be whole, and who lies together."""

import pytest

from global_sched.shared.api import names
from tests.member_agent.member import hyper_node, member, node, pod, pod_group, racks
from tests.member_agent.scheduler.rounds import bind, nodes_of, reasons_of, round_of

TEAM = "example.org/team"


def policy(name, *, size=1, least=0, tier=1, keys=(TEAM,), tasks=()):
    found = {
        "name": name,
        "subGroupSize": size,
        "minSubGroups": least,
        "matchLabelKeys": list(keys),
        "networkTopology": {"mode": "hard", "highestTierAllowed": tier},
    }
    if tasks:
        expression = {"key": names.TASK_SPEC, "operator": "In", "values": list(tasks)}
        found["labelSelector"] = {"matchExpressions": [expression]}
    return found


def member_of(team, number, *, task="worker", gpus=8, running=""):
    name = f"{team}-{task}-{number}"
    labels = {TEAM: team}
    return pod(name, gpus=gpus, group="g", task=task, index=number, labels=labels, node=running)


def homes(nodes):
    """Pods by the rack of their node."""
    found = {}
    for name, on in nodes.items():
        found.setdefault(on.rpartition("-")[0], set()).add(name)
    return found


@pytest.mark.parametrize(
    ("least", "racks_of", "want"),
    [
        pytest.param(2, (2, 2), 4, id="two teams are whole, each in its rack"),
        pytest.param(3, (2, 2), 0, id="three must be, and only two racks hold one"),
        pytest.param(1, (2, 1), 2, id="the second team has no rack, and is surplus"),
        pytest.param(0, (2, 1), 2, id="a team that is not asked for waits whole"),
    ],
)
def test_min_sub_groups(least, racks_of, want):
    """So many subgroups are whole or nothing starts; the others follow where they fit."""
    teams = ("a", "b", "c")
    objects = [
        pod_group("g", minimum=1, tier=2, subGroupPolicy=[policy("teams", size=2, least=least)]),
        # Indexes run across the teams, so that only the label says who belongs together.
        *(member_of(team, at * 3 + i) for i, team in enumerate(teams) for at in range(2)),
    ]
    world = []
    for rack, size in enumerate(racks_of):
        own = [f"r{rack}-{at}" for at in range(size)]
        world += [*(node(name) for name in own), hyper_node(f"r{rack}", 1, nodes=own)]
    world.append(hyper_node("s", 2, children=[f"r{at}" for at in range(len(racks_of))]))

    placed = nodes_of(round_of(member(world, objects)))

    assert len(placed) == want
    assert all(len({n[0] for n in names_}) == 1 for names_ in homes(placed).values())


def test_too_few_pods_for_the_subgroups():
    """The reason names the policy and what it lacks."""
    rule = policy("teams", size=2, least=2)
    objects = [
        pod_group("g", minimum=1, subGroupPolicy=[rule]),
        *(member_of("a", at) for at in (0, 1)),
    ]

    reasons = reasons_of(round_of(member(racks(2, 2), objects)))

    assert reasons["a-worker-0"] == (
        "subgroup policy teams needs 2 subgroups of 2 pods, and 1 may be whole"
    )


def test_one_subgroup_of_several_roles():
    """A policy whose selector takes two roles puts a prefill beside its decode workers."""
    rule = policy("serving", size=3, least=2, tasks=("prefill", "decode"))
    objects = [pod_group("g", minimum=6, tier=2, subGroupPolicy=[rule])]
    for team in ("x", "y"):
        objects.append(member_of(team, 0, task="prefill", gpus=4))
        objects += [member_of(team, at, task="decode", gpus=8) for at in range(2)]

    placed = homes(nodes_of(round_of(member(racks(3, 3), objects))))

    assert sorted(sorted({n[0] for n in names_}) for names_ in placed.values()) == [["x"], ["y"]]


def partitioned(task, size, total, gpus, running=()):
    return [
        pod(
            f"{task}-{at}",
            gpus=gpus,
            group="g",
            task=task,
            index=at,
            labels={names.PARTITION_ID: str(at // size)},
            node=running[at] if running else "",
        )
        for at in range(size * total)
    ]


TOGETHER = pod_group(
    "g",
    minimum=8,
    tier=2,
    annotations={names.PARTITIONS_TOGETHER: "prefill, decode"},
    subGroupPolicy=[
        policy("prefill", size=1, least=2, keys=(names.PARTITION_ID,), tasks=("prefill",)),
        policy("decode", size=3, least=2, keys=(names.PARTITION_ID,), tasks=("decode",)),
    ],
)


def test_partitions_of_two_tasks_together():
    """The annotation puts partition i of one task with partition i of the other in one domain."""
    pods = [*partitioned("prefill", 1, 2, 8), *partitioned("decode", 3, 2, 8)]

    placed = nodes_of(round_of(member(racks(2, 4), TOGETHER, pods)))

    assert len(placed) == 8
    for at in range(2):
        group = {f"prefill-{at}", *(f"decode-{at * 3 + i}" for i in range(3))}
        assert len({placed[name].rpartition("-")[0] for name in group}) == 1


def test_a_lost_pod_of_a_group_of_two_tasks_comes_back_to_it():
    """What is missing of a group joins the rest of it, whatever task they are of."""
    there = [f"r0-{at}" for at in range(3)], [f"r1-{at}" for at in range(3)]
    decode = partitioned("decode", 3, 2, 8, [*there[0], *there[1]])
    pods = [*partitioned("prefill", 1, 2, 8), *decode]
    cache = member(racks(3, 4), TOGETHER, pods)

    round_ = round_of(cache)

    assert nodes_of(round_) == {"prefill-0": "r0-3", "prefill-1": "r1-3"}
    bind(cache, round_)
    assert nodes_of(round_of(cache)) == {}


@pytest.mark.parametrize(
    "topology",
    [
        pytest.param(None, id="no topology of its own"),
        pytest.param({"mode": "soft"}, id="soft"),
        pytest.param({"mode": "hard", "highestTierAllowed": 2}, id="the gang's tier"),
        pytest.param({"mode": "hard", "highestTierAllowed": 1}, id="a narrower tier"),
    ],
)
@pytest.mark.parametrize("gang", [{}, {"tier": 2}], ids=["a free gang", "a gang with a tier"])
@pytest.mark.parametrize("gpus", [(8, 8), (7, 8)], ids=["equal pods", "two shapes"])
@pytest.mark.parametrize("least", [0, 1], ids=["none must be whole", "one must be whole"])
def test_a_team_starts_whole_or_not_at_all(topology, gang, gpus, least):
    """Whatever binds it, half a team is of no use: three nodes hold one team of two."""
    rule = policy("teams", size=2, least=least)
    rule["networkTopology"] = topology
    objects = [
        pod_group("g", minimum=1, subGroupPolicy=[rule], **gang),
        *(member_of(t, at * 3 + i, gpus=gpus[at]) for i, t in enumerate("abc") for at in (0, 1)),
    ]

    round_ = round_of(member(racks(1, 3), objects))

    placed = nodes_of(round_)
    assert len(placed) == 2
    assert len({name[0] for name in placed}) == 1
    assert set(reasons_of(round_)) == {p["metadata"]["name"] for p in objects[1:]} - set(placed)


@pytest.mark.parametrize(
    ("teams", "mode", "why"),
    [
        pytest.param("-aa", "hard", "no tier 0 or below", id="the minimum would be no team's"),
        pytest.param("a--a", "hard", "no tier 0 or below", id="a team's pod comes first"),
        pytest.param("-aa", "firm", "mode: 'firm'", id="one that cannot be read"),
    ],
)
def test_a_constraint_of_a_team_that_nothing_here_keeps(teams, mode, why):
    """Refuses the whole gang, also where its minimum could be made up without that team."""
    rule = policy("teams", tier=0)
    rule["networkTopology"]["mode"] = mode
    group = pod_group("g", minimum=1, subGroupPolicy=[rule])
    pods = [
        pod(f"p{at}", gpus=4, group="g", index=at, labels={TEAM: team} if team != "-" else {})
        for at, team in enumerate(teams)
    ]

    round_ = round_of(member(racks(1, 1), group, pods))

    assert nodes_of(round_) == {}
    assert all(why in reason for reason in reasons_of(round_).values())


def subgroup_objects(nodes):
    """Two subgroups of two pods, each to lie in one rack, under one spine; some are bound."""
    policy = {
        "name": "worker",
        "labelSelector": {"matchLabels": {names.TASK_SPEC: "worker"}},
        "matchLabelKeys": [names.PARTITION_ID],
        "subGroupSize": 2,
        "minSubGroups": 2,
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    group = pod_group("g", minimum=4, tier=2, subGroupPolicy=[policy])
    pods = [
        pod(
            f"p{at}",
            gpus=8,
            group="g",
            task="worker",
            index=at,
            labels={names.PARTITION_ID: str(at // 2)},
            node=nodes.get(at, ""),
        )
        for at in range(4)
    ]
    return [group, *pods]


def test_subgroups_lie_in_domains_of_their_own():
    """Groups of a partition are kept whole under their tier, by index."""
    cache = member(racks(3, 3), subgroup_objects({}))

    nodes = nodes_of(round_of(cache))

    rack = {name: where.split("-")[0] for name, where in nodes.items()}
    assert len(rack) == 4
    assert rack["p0"] == rack["p1"]
    assert rack["p2"] == rack["p3"]


@pytest.mark.parametrize(
    ("blocked", "want_nodes"),
    [
        pytest.param([], {"p3": "r1-1"}, id="beside its mate, though another rack is emptier"),
        pytest.param(["r1-1", "r1-2"], {}, id="or nowhere"),
    ],
)
def test_a_replaced_pod_joins_its_subgroup(blocked, want_nodes):
    """A pod that is made anew goes to the rack of its own subgroup, not only of its gang."""
    group, *pods = subgroup_objects({0: "r0-0", 1: "r0-1", 2: "r1-0"})
    others = [pod(f"o-{name}", gpus=8, node=name) for name in blocked]
    cache = member(racks(3, 3), group, pods, others)

    assert nodes_of(round_of(cache)) == want_nodes
