"""A program dies before or after any write while a gang goes on with fewer: it ends as without."""

import json
from functools import cache

import pytest

from global_sched.shared.api.names import DECISION
from tests.chaos.choice import some
from tests.chaos.network import CrashPoint
from tests.chaos.run import run
from tests.chaos.story import Act

SEED = 0
PROGRAMS = ("global-sched", "m1")
FEW = 5
"""Points of this script in the gate, which looks at ten of the first one (`test_crash_points`)."""
MOST_WRITES = 400
"""Of both programs: a crash point beyond the last one is left out."""
GANG = {
    "pods": 4,
    "gpus": 8,
    "seconds": 900,
    "tier": None,
    "queue": "default",
    "spec": {"minAvailable": 2},
    "recovery": json.dumps({"scopes": ["pod", "shrink"]}),
    "elastic": json.dumps({"sizes": [2, 4]}),
}


def script():
    """All nodes of m1 are shut, a pod of the gang is deleted, and later the nodes open again.

    The gang comes when both members have reported, and nodes are shut when it is bound, also where
    an agent has died meanwhile: the other member has room for two of its pods only.
    """
    shut = [Act(55 + at / 10, "cordon", "m1", {"number": at}) for at in range(4)]
    opened = [Act(180 + at / 10, "uncordon", "m1", {"number": at}) for at in range(4)]
    gang = Act(25, "submit", "elastic", GANG)
    return [gang, *shut, Act(56, "end a pod", "m1", {"number": 1}), *opened]


def admitted(world):
    """Pods admitted, revision by revision, without repeats; and those bound at the end."""
    sizes, bound = [0], {}
    for seen in world.history():
        if seen.plural == "resourcebindings":
            text = seen.obj["metadata"].get("annotations", {}).get(DECISION)
            grants = json.loads(text).get("grants", []) if text else []
            pods = sum(sum(one["amounts"].values()) for one in grants if "left" not in one)
            if pods != sizes[-1]:
                sizes.append(pods)
        if seen.plural == "pods":
            bound[seen.obj["metadata"]["uid"]] = not seen.gone and _is_bound(seen.obj)
    return sizes, sum(bound.values())


def _is_bound(pod):
    return bool(pod["spec"].get("nodeName")) and "deletionTimestamp" not in pod["metadata"]


def played(crash=None):
    return run(SEED, script(), schedulers=1, seconds=235, crash=crash, look=admitted)


@cache
def numbered():
    """Writes of every program in the run in which nothing fails."""
    result = played()
    assert result.violations == []
    assert result.seen == ([0, 4, 2, 4], 4)
    return {program: result.writes[program] for program in PROGRAMS}


def points():
    for program, writes in sorted(numbered().items()):
        for nth in range(1, writes + 1):
            yield CrashPoint(program, nth, after=False)
            yield CrashPoint(program, nth, after=True)


@pytest.mark.slow
def test_every_write_of_a_shrink_has_its_number():
    """It goes on with two of four pods and grows back; the matrix has room for every write."""
    assert sum(numbered().values()) <= MOST_WRITES


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("number", some(2 * MOST_WRITES, FEW))
def test_a_crash_point_of_a_shrink_is_survived(number):
    """Admitted is 0, 2 or 4 at every revision, and all four pods are bound at the end."""
    found = list(points())
    if number >= len(found):
        pytest.skip(f"the script has {len(found)} crash points")
    result = played(found[number])

    sizes, bound = result.seen
    assert result.fired["crash"] == 1, found[number]
    assert result.violations == [], found[number]
    assert set(sizes) == {0, 2, 4}, found[number]
    assert (sizes[-1], bound) == (4, 4), found[number]
