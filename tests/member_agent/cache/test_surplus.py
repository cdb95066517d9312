"""Surplus pods of a gang: which may leave alone, and in which order."""

import pytest

from member_agent.cache import room_of, units_of
from tests.member_agent.member import AGENT, gang_objects, member, owner, pod, racks

ON_FOUR = ("r0-0", "r0-1", "r1-0", "r1-1")


def surplus_of(cache):
    """By node (those with occupants): pods, and the turns of those that are surplus."""
    units = units_of(cache, frozenset({AGENT}))
    return {
        leaf.node: [(one.pod_set, one.pods, one.surplus) for one in leaf.occupants]
        for leaf in room_of(cache, units).leaves
        if leaf.occupants
    }


@pytest.mark.parametrize(
    ("objects", "want"),
    [
        pytest.param(
            gang_objects("g", pods=4, minimum=2, binding="b", nodes=ON_FOUR),
            {
                "r0-0": [("worker", 1, ())],
                "r0-1": [("worker", 1, ())],
                "r1-0": [("worker", 1, (2,))],
                "r1-1": [("worker", 1, (1,))],
            },
            id="turns count from the highest index down to the minimum",
        ),
        pytest.param(
            gang_objects("g", pods=3, minimum=2, gpus=4, binding="b", nodes=("r0-0",) * 3),
            {"r0-0": [("worker", 3, (1,))]},
            id="a node tells how many pods it has and which of them are surplus",
        ),
        pytest.param(
            gang_objects("g", pods=4, minimum=2, binding="b", nodes=ON_FOUR[:2]),
            {"r0-0": [("worker", 1, ())], "r0-1": [("worker", 1, ())]},
            id="pods that wait are no surplus: the minimum that is bound stays whole",
        ),
        pytest.param(
            gang_objects("g", pods=4, minimum=2, nodes=ON_FOUR),
            {},
            id="what did not come through Karmada is nobody's victim",
        ),
        pytest.param(
            [
                owner("Deployment", "web", api_version="apps/v1", binding="b"),
                *(
                    pod(
                        f"web-{at}",
                        gpus=1,
                        node=node,
                        owner=owner("Deployment", "web", api_version="apps/v1"),
                    )
                    for at, node in enumerate(ON_FOUR[:2])
                ),
            ],
            {"r0-0": [("main", 1, ())], "r0-1": [("main", 1, ())]},
            id="a service has no surplus: it leaves whole",
        ),
    ],
)
def test_surplus(objects, want):
    """What the gang's minimum does not need may leave, and the report says in which order."""
    assert surplus_of(member(racks(2, 2), objects)) == want


def test_pods_that_must_stay_make_no_surplus():
    """A gang with a pod whose owner forbids that it makes room gives up nothing alone."""
    objects = gang_objects("g", pods=3, minimum=1, binding="b", nodes=ON_FOUR[:3])
    objects[-1]["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"

    assert all(
        not turns
        for own in surplus_of(member(racks(2, 2), objects)).values()
        for _, _, turns in own
    )
