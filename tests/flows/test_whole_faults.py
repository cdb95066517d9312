"""Both programs on bad networks and busy servers: the same end as without."""

import asyncio

import pytest

from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time

BINDINGS = "resourcebindings.work.karmada.io"
GROUPS = "podgroups.scheduling.volcano.sh"
REPORTS = "capacityreports.federation.global-sched.io"
DIRECTIVES = "directives.federation.global-sched.io"
JOBS = "jobs.batch.volcano.sh"


def scheduler(verb, resource, kind, **more):
    """A fault of global-sched."""
    return "global-sched", Fault(verb, resource, kind=kind, **more)


def agent(verb, resource, kind, **more):
    """A fault of the first member's agent."""
    return "m1", Fault(verb, resource, kind=kind, **more)


async def counted(world):
    """Whether the reports list all pods of three jobs."""
    reported = [one for m in ("m1", "m2") for one in (await world.report(m)).get("workloads") or ()]
    return [one.get("bound") for one in reported] == [{"worker": 4}] * 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(
            [scheduler("patch", BINDINGS, FaultKind.CONFLICT, times=2)],
            id="placements meet newer bindings",
        ),
        pytest.param(
            [scheduler("patch", f"{BINDINGS}/status", FaultKind.CONFLICT, times=3)],
            id="statuses meet newer bindings",
        ),
        pytest.param(
            [scheduler("patch", f"{BINDINGS}*", FaultKind.THROTTLE, times=4)],
            id="the control plane throttles placements",
        ),
        pytest.param(
            [scheduler("*", BINDINGS, FaultKind.ERROR, times=5)],
            id="the control plane fails on bindings",
        ),
        pytest.param(
            [scheduler("watch", BINDINGS, FaultKind.GONE, events=2, times=2)],
            id="the bindings' watch is too old",
        ),
        pytest.param(
            [scheduler("watch", "*", FaultKind.CUT, events=1, times=12)],
            id="watches of global-sched are cut in the middle of an event",
        ),
        pytest.param(
            [scheduler("watch", BINDINGS, FaultKind.HALF_OPEN, events=2)],
            id="the bindings' watch falls silent",
        ),
        pytest.param(
            [scheduler("watch", BINDINGS, FaultKind.DUPLICATE, events=1, times=3)],
            id="events come twice",
        ),
        pytest.param(
            [scheduler("watch", BINDINGS, FaultKind.DELAY, seconds=3)],
            id="the scheduler sees everything late",
        ),
        pytest.param(
            [
                scheduler("update", DIRECTIVES, FaultKind.CONFLICT, times=2),
                scheduler("update", DIRECTIVES, FaultKind.LOST_AFTER, nth=3),
            ],
            id="Directives meet conflicts and lost answers",
        ),
        pytest.param(
            [agent("create", "pods/binding", FaultKind.CONFLICT, nth=2)],
            id="a bind meets a conflict",
        ),
        pytest.param(
            [agent("create", "pods*", FaultKind.LOST_AFTER, times=6)],
            id="answers to creations and binds are lost",
        ),
        pytest.param(
            [agent("create", "pods*", FaultKind.THROTTLE, times=6)], id="the member throttles"
        ),
        pytest.param(
            [
                agent("patch", GROUPS, FaultKind.ERROR, times=2),
                agent("patch", f"{JOBS}/status", FaultKind.ERROR, times=2),
            ],
            id="the member fails on groups and statuses",
        ),
        pytest.param(
            [agent("watch", "*", FaultKind.CUT, events=2, times=12)],
            id="watches of the agent are cut",
        ),
        pytest.param(
            [agent("watch", "pods", FaultKind.GONE, events=2)], id="the pods' watch is too old"
        ),
        pytest.param(
            [agent("watch", DIRECTIVES, FaultKind.HALF_OPEN)],
            id="the Directive's watch falls silent",
        ),
        pytest.param(
            [agent("patch", REPORTS, FaultKind.TIMEOUT, times=2)], id="reports do not get through"
        ),
    ],
)
def test_the_same_end(tmp_path, faults):
    """Three jobs for three racks: each whole in one of them, admitted once, and counted."""

    @virtual_time
    async def run():
        async with whole(tmp_path, member("m1", racks=2), member("m2"), start=False) as world:
            for program, fault in faults:
                world.plan(program).add(fault)
            plans = {program: world.plan(program) for program, _ in faults}
            await world.start()
            await world.submit(*(gang(name, seconds=3600) for name in "abc"))
            used = []
            for name in "abc":
                await world.until_phase(name, "Running", seconds=110)
            await world.until(lambda: counted(world), "all jobs are counted", seconds=80)
            await asyncio.sleep(5)
            for name in "abc":
                [cluster] = await world.clusters(name)
                nodes = await world.bound(cluster, name)
                assert len({node.rpartition("-")[0] for node in nodes.values()}) == 1
                used += nodes.values()
                assert (await world.binding(name))["spec"].get("gracefulEvictionTasks") is None
                assert "backoffs" not in await world.decision(name)
            assert len(used) == len(set(used)) == 12
            assert len(await world.pods("m1")) == 8
            assert all(plan.fired for plan in plans.values())

    run()
