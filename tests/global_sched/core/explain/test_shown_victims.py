"""The victims of a job that waits, or why there are none: for every kind of job."""

from dataclasses import replace
from functools import partial

import pytest

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.gang import Partition
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue, Tenant
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, gang, pod_set, queue, snapshot, workload
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)
SHARED = "no victims: a workload of several clusters evicts no other job"
PARTITIONS = "no victims: growth by groups of pods evicts no other job"
NOT_ROOM = "no victims: what it waits for is not room that other jobs hold"


def town(*jobs, members=None, **queues):
    """Nodes of 1 CPU with these jobs on them, admitted one after the other."""
    names = {one.queue for one in jobs} | set(queues) | {"q"}
    found = Town(
        members or [Member("m", (4,))],
        [Queue(name=QueueName(name), **queues.get(name, {})) for name in sorted(names)],
    )
    for one in jobs:
        found.add(one)
        settle(found)
    return found


def settle(found, policy=QUIET, *, linger=False):
    """One cycle and ten seconds."""
    found.execute(run_cycle(found.snapshot(), policy, found.now), linger=linger)
    found.now = Instant(found.now + 10 * SECOND)


def shown(found, name, policy=QUIET):
    """The victims (pods, whole, name, whether they leave already), and why there are none."""
    told = explain_workload(found.snapshot(), policy, found.now, f"jobs/{name}")
    victims = [(one.pods, one.whole, one.workload, one.leaves) for one in told.victims]
    return victims, told.no_victims


def test_those_who_were_told_to_leave():
    """While room is being made, its victims are named, and no others are searched."""
    found = town(workload("low", cpu=1, pods=4, queue="q"))
    found.add(workload("high", cpu=1, pods=4, queue="q", priority=5))
    assert shown(found, "high") == ([(4, True, "jobs/low", False)], "")

    settle(found, linger=True)

    assert shown(found, "high") == ([(4, True, "jobs/low", True)], "")
    told = explain_workload(found.snapshot(), QUIET, found.now, "jobs/high")
    assert (told.queue.held, told.queue.kept) == (told.queue.kept, told.tenant.kept)
    assert told.queue.kept.get("cpu") == 4000


def test_a_victim_that_is_gone():
    """A victim that ended meanwhile is not named any more."""
    found = town(workload("low", cpu=1, pods=4, queue="q"))
    found.add(workload("high", cpu=1, pods=4, queue="q", priority=5))
    settle(found, linger=True)
    del found.workloads["jobs/low"]

    assert shown(found, "high") == ([], "")


def test_one_that_had_to_leave_itself():
    """Its victims are named, and until when they stay."""
    found = town(
        workload("lowest", cpu=1, pods=2, queue="q", priority=-5, clusters=["n"]),
        workload("low", cpu=1, pods=2, queue="q"),
        members=[Member("m", (2,)), Member("n", (2,))],
    )
    found.add(workload("high", cpu=1, pods=2, queue="q", priority=5, clusters=["m"]))
    settle(found, linger=True)
    found.leave()
    settle(found)

    victims, why = shown(found, "low")

    assert victims == [(2, True, "jobs/lowest", False)]
    assert why == (
        "they stay: it was evicted itself, and claims nothing until 2026-01-31T12:10:20Z"
    )
    remedies = explain_workload(found.snapshot(), QUIET, found.now, "jobs/low").remedies
    assert [one.text for one in remedies] == ["1 gang of queue q (2 pods: jobs/lowest) ends in n"]


@pytest.mark.parametrize("division", [Division.DIVIDED, Division.DUPLICATED])
@pytest.mark.parametrize("runs", [0, 2], ids=["its first replicas", "more of them"])
def test_who_leaves_for_replicas(division, runs):
    """Victims of a Deployment whose policy allows one cluster are shown like those of a gang."""
    found = town(workload("low", cpu=1, pods=4 - runs, queue="q"))
    web = partial(workload, "web", cpu=1, queue="q", priority=9, division=division)
    if runs:
        found.run(web(pods=runs), policy=QUIET)
        grown(found, "web", web(pods=4).demand.gang)
    else:
        found.add(web(pods=4))

    assert shown(found, "web") == ([(4 - runs, True, "jobs/low", False)], "")


@pytest.mark.parametrize("runs", [False, True], ids=["its first replicas", "more of them"])
def test_nobody_leaves_for_what_several_clusters_share(runs):
    """Each of two clusters gets all replicas: that takes free room only."""
    found = Town([Member("m", [2]), Member("n", [2])], [Queue(name=QueueName("q"))])
    web = partial(workload, "web", cpu=1, queue="q", priority=9, division=Division.DUPLICATED)
    if runs:
        found.run(web(pods=1), policy=QUIET)
    for at in ("m", "n"):
        low = workload(f"low-{at}", cpu=1, pods=1 if runs else 2, queue="q", clusters=[at])
        found.run(low, policy=QUIET)
    if runs:
        grown(found, "web", web(pods=2).demand.gang)
    else:
        found.add(web(pods=2))

    assert shown(found, "web") == ([], SHARED)


@pytest.mark.parametrize(
    ("job", "queues", "want"),
    [
        pytest.param(
            workload("j", cpu=1, pods=2, queue="q", priority=9, group="g", group_size=1),
            {},
            "no victims: a group of bindings evicts no other job",
            id="a group of bindings",
        ),
        pytest.param(
            workload("j", cpu=1, pods=2, queue="shut", priority=9),
            {"shut": {"open": False}},
            NOT_ROOM,
            id="its queue is closed",
        ),
        pytest.param(
            workload("j", cpu=1, pods=9, queue="small", priority=9),
            {"small": {"capability": (("cpu", 3000),)}},
            "no victims: it would not be admitted either if all other jobs left",
            id="more than its queue may ever hold",
        ),
        pytest.param(
            workload("j", cpu=1, pods=5, queue="q", priority=9),
            {},
            "no victims: no allowed domain would have room for it even without the 1 gang that "
            "could be evicted for it",
            id="more than the clusters have",
        ),
    ],
)
def test_nobody_leaves_for_it(job, queues, want):
    """Every job that waits says why it has no victims."""
    found = town(workload("low", cpu=1, pods=4, queue="q"), **queues)
    found.add(job)

    assert shown(found, "j") == ([], want)


def test_a_tenants_own_limit():
    """It ends when the tenant's own jobs end."""
    found = town(workload("low", cpu=1, pods=3, queue="q"))
    found.add(workload("j", cpu=1, pods=1, queue="q", priority=9))
    limited = Tenant(name=TenantName("team"), limits=(("cpu", 3000),))

    told = explain_workload(
        replace(found.snapshot(), tenants=(limited,)), QUIET, found.now, "jobs/j"
    )

    assert told.no_victims == "no victims: only its own jobs can free the limit of tenant team"
    assert [(one.text, one.enough) for one in told.remedies] == [
        ("tenant team may hold 1 cpu more (spec.limits, 0 left of 3)", True),
        ("1 gang of queue q (3 pods: jobs/low) ends in m", True),
    ]


def test_a_copy_needs_nobody():
    """An object without pods takes no room."""
    world = snapshot(
        [cluster("c")],
        [queue("default")],
        pending=[workload("j", division=Division.COPIED, clusters=["none"])],
    )

    told = explain_workload(world, QUIET, NOW, "jobs/j")

    assert (told.victims, told.no_victims) == ((), "")


# --- growth ---------------------------------------------------------------------------------


def grown(found, name, needs):
    """The template of a running job asks for this from now on, and that is written down."""
    one = found.workloads[f"jobs/{name}"]
    found.workloads[one.key] = replace(one, demand=replace(one.demand, gang=needs))
    settle(found, replace(QUIET, searches_per_cycle=0))


def groups(count):
    """So many groups of two pods that lie together."""
    partition = Partition(size=2, total=count)
    return gang(pod_set(pods=2 * count, minimum=2 * count, cpu=1, partition=partition))


@pytest.mark.parametrize(
    ("job", "needs", "want"),
    [
        pytest.param(
            workload("j", needs=groups(1), queue="q", priority=9),
            groups(2),
            PARTITIONS,
            id="more groups of pods",
        ),
        pytest.param(
            workload("j", cpu=1, pods=2, queue="q", priority=9),
            gang(pod_set(pods=4, minimum=2, cpu=1)),
            "no victims: it has its minimum, and for more pods its queue would have to be below "
            "its deserved share",
            id="more than the minimum of a gang",
        ),
        pytest.param(
            workload("j", cpu=1, pods=2, queue="q"),
            gang(pod_set(pods=4, cpu=1)),
            "no victims: nothing of lower priority runs in its queue, and there is nothing that "
            "it may reclaim from queues beyond their deserved share",
            id="a larger minimum, and nobody of lower priority",
        ),
    ],
)
def test_nobody_leaves_for_growth(job, needs, want):
    """A job that runs and waits for more says the same, and what of it waits."""
    found = town(workload("low", cpu=1, pods=2, queue="q"), job)
    grown(found, "j", needs)

    assert shown(found, "j") == ([], want)
    told = explain_workload(found.snapshot(), QUIET, found.now, "jobs/j")
    assert told.outcome.verdict.reason == "GrowthPending"
    assert [one.text for one in told.remedies] == ["1 gang of queue q (2 pods: jobs/low) ends in m"]


def test_growth_for_which_others_were_told_to_leave():
    """Victims are named while the claim is open."""
    found = town(
        workload("high", cpu=1, pods=2, queue="q", priority=9),
        workload("low", cpu=1, pods=2, queue="q"),
    )
    grown(found, "high", gang(pod_set(pods=4, cpu=1)))
    settle(found, linger=True)

    assert shown(found, "high") == ([(2, True, "jobs/low", True)], "")


def test_growth_that_waits_for_its_own_pods():
    """As long as pods that were admitted before are not bound, no eviction would help."""
    found = town(workload("j", cpu=1, pods=2, queue="q"), workload("low", cpu=1, pods=2, queue="q"))
    grown(found, "j", gang(pod_set(pods=4, cpu=1)))
    found.members["m"].lose("id-j")

    assert shown(found, "j") == ([], NOT_ROOM)


def test_surplus_pods_are_told_together():
    """Surplus of one gang is one line, however many pods leave."""
    found = town(
        workload("o", cpu=1, pods=3, minimum=1, queue="a"),
        workload("e", cpu=1, pods=4, minimum=1, queue="b"),
        a={"deserved": (("cpu", 1000),)},
        b={"deserved": (("cpu", 3000),)},
    )

    assert shown(found, "e") == ([(2, False, "jobs/o", False)], "")
    remedies = explain_workload(found.snapshot(), QUIET, found.now, "jobs/e").remedies
    assert [one.text for one in remedies] == ["2 surplus pods of queue a (jobs/o) leave m"]


def test_growth_where_the_policy_allows_no_search():
    """No cycle evicts for it, and the gangs that could leave are named all the same."""
    found = town(
        workload("high", cpu=1, pods=2, queue="q", priority=9),
        workload("low", cpu=1, pods=2, queue="q"),
    )
    grown(found, "high", gang(pod_set(pods=4, cpu=1)))

    victims, why = shown(found, "high", replace(QUIET, searches_per_cycle=0))

    assert victims == [(2, True, "jobs/low", False)]
    assert why == (
        "they stay: no victims are searched, since the Policy sets searches_per_cycle to 0"
    )
