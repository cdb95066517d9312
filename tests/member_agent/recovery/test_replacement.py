"""From a lost node to the replacement: only what was lost is placed anew, close to the rest."""

from collections.abc import Iterable

from global_sched.shared.api import names
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.cache import ClusterCache, Kind
from member_agent.recovery.freeing import Fencing, names_to_free, nodes_off
from member_agent.recovery.health import health_of
from member_agent.recovery.signals import leaf_of, node_signals
from member_agent.recovery.trouble import TroubleState, step
from member_agent.scheduler.plan.outcome import Round, Situation
from tests.member_agent.member import (
    AGENT,
    Object,
    feed,
    gang_objects,
    member,
    node,
    pod,
    pod_group,
    racks,
    volcano_job,
)
from tests.member_agent.scheduler.rounds import bind, nodes_of, round_of

NOW = Instant(1_000_000 * SECOND)
GRACE = 20 * SECOND


def after_loss(
    cache: ClusterCache, lost: Iterable[str], made_again: Iterable[Object]
) -> tuple[list[str], Round]:
    """Names that are freed when these nodes are gone, and the round with the pods made anew."""
    for name in lost:
        cache.delete(Kind.NODE, ("", name))
    state = TroubleState()
    for at in (NOW, Instant(NOW + GRACE)):
        signals = node_signals(cache, grace=GRACE, conditions=(), dedicated=())
        state = step(state, signals=signals, failures=(), leaf_of=leaf_of(cache), now=at)
    rule, now = Fencing.OUT_OF_SERVICE, Instant(NOW + GRACE)
    off = nodes_off(cache, state, fencing=rule, leases={}, now=now)
    freed = [one for one, _ in names_to_free(cache, off, {AGENT})]
    for one in freed:
        cache.delete(Kind.POD, one.key)
    names_freed = [one.name for one in freed]
    feed(cache, [one for one in made_again if one["metadata"]["name"] in names_freed])
    health = health_of(state, leaf_of(cache), now)
    situation = Situation(closed=health.closed, last_resort=health.last_resort, now=now)
    return names_freed, round_of(cache, situation)


def again(objects: Iterable[Object]) -> list[Object]:
    """The pods as their controller makes them anew: same name, no node, another uid."""
    made = []
    for obj in objects:
        if obj["kind"] != "Pod":
            continue
        meta = obj["metadata"] | {"uid": obj["metadata"]["uid"] + "-again"}
        spec = {key: value for key, value in obj["spec"].items() if key != "nodeName"}
        made.append(obj | {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})
    return made


def untouched(found: Round) -> bool:
    """Whether the round takes nothing from pods that run."""
    return not found.rollbacks and not found.given


def test_two_of_five_hundred_nodes_in_one_window_are_two_pods():
    """498 pods go on; the two find their places on the spare nodes, in one round."""
    nodes = [f"r{rack}-{at}" for rack in range(63) for at in range(8)]
    gang = gang_objects("train", pods=500, tier=2, nodes=nodes[:500])
    cache = member(racks(63, 8), gang)

    freed, found = after_loss(cache, ["r3-1", "r40-7"], again(gang))

    assert freed == ["train-worker-25", "train-worker-327"]
    assert sorted(nodes_of(found)) == freed
    assert set(nodes_of(found).values()) <= set(nodes[500:])
    assert untouched(found)


def test_a_partition_keeps_its_own_leaf():
    """Its replacement goes to the free node of its leaf, though other leaves have room."""
    rule = {
        "name": "worker",
        "subGroupSize": 2,
        "minSubGroups": 2,
        "matchLabelKeys": [names.PARTITION_ID],
        "labelSelector": {"matchLabels": {names.TASK_SPEC: "worker"}},
        "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
    }
    job = volcano_job("train", tasks=[{"name": "worker", "replicas": 4}])
    group = pod_group("g", minimum=4, controller=job, subGroupPolicy=[rule])
    places = ("r1-0", "r1-1", "r2-0", "r2-1")
    gang = [
        job,
        group,
        *(
            pod(
                f"train-worker-{at}",
                gpus=8,
                owner=job,
                group="g",
                task="worker",
                index=at,
                labels={names.PARTITION_ID: str(at // 2)},
                node=place,
            )
            for at, place in enumerate(places)
        ),
    ]
    cache = member(racks(3, 3), gang)

    freed, found = after_loss(cache, ["r2-1"], again(gang))

    assert freed == ["train-worker-3"]
    assert nodes_of(found) == {"train-worker-3": "r2-2"}
    assert untouched(found)


def test_a_whole_rack_is_replaced_by_another_one_once():
    """The gang goes to the next rack of the same tier; a second round does nothing."""
    gang = gang_objects("train", pods=4, tier=1, nodes=[f"r1-{at}" for at in range(4)])
    other = gang_objects("other", pods=3, tier=1, nodes=[f"r0-{at}" for at in range(3)])
    cache = member(racks(3, 4), gang, other)

    freed, found = after_loss(cache, [f"r1-{at}" for at in range(4)], again(gang))
    placed = nodes_of(found)
    situation = bind(cache, found)

    assert len(freed) == 4
    assert sorted(placed.values()) == [f"r2-{at}" for at in range(4)]
    assert untouched(found)
    assert nodes_of(round_of(cache, situation)) == {}


def test_a_node_on_probation_is_a_last_resort_of_gangs():
    """Two other nodes come first; a gang of three takes it, and a pod that is no gang may."""
    nodes = [node(f"n{at}") for at in range(3)]
    probation = Situation(last_resort=frozenset({"n0"}))
    two = member(nodes, gang_objects("train", pods=2))
    three = member(nodes, gang_objects("train", pods=3))
    alone = member(nodes[:1], pod("a", gpus=8))

    assert sorted(nodes_of(round_of(two, probation)).values()) == ["n1", "n2"]
    assert sorted(nodes_of(round_of(three, probation)).values()) == ["n0", "n1", "n2"]
    assert nodes_of(round_of(alone, probation)) == {"a": "n0"}


def test_a_node_in_trouble_takes_no_new_pods():
    """Neither of a gang nor of anything else, were it the last one."""
    nodes = [node("n0"), node("n1")]
    trouble = Situation(closed=frozenset({"n0"}))

    assert nodes_of(round_of(member(nodes, gang_objects("train", pods=2)), trouble)) == {}
    assert nodes_of(round_of(member(nodes[:1], pod("a", gpus=8)), trouble)) == {}
