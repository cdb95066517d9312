"""The examples in a live federation and in memory: one and the same decision."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from global_sched.embedded.federation import MemberSpec
from global_sched.scenario import parse, run
from global_sched.scenario.members import hyper_nodes_of, nodes_of
from global_sched.scenario.run import compare_live, waves
from global_sched.view.look import look
from tests.flows.federation import whole
from tests.virtual_time import virtual_time

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("east", "west")
ELSEWHERE = ("language/finetune", "kalos/")
"""What only the third cluster of the examples can take."""


def read(name):
    return (EXAMPLES / name).read_text(encoding="utf-8")


def small():
    """The examples without their large cluster and what runs there."""
    scenario = parse(read("demo.yaml"), "demo.yaml")
    world = msgspec.structs.replace(
        scenario.world,
        clusters=[one for one in scenario.world.clusters if one.name in SMALL],
        manifests=[one for one in scenario.world.manifests if one != "pytorch.yaml"],
        traces=[],
    )
    expect = {
        name: want for name, want in scenario.expect.items() if not name.startswith(ELSEWHERE)
    }
    # Only the large cluster has racks of five nodes: without it the gang fits nowhere, ever.
    wide = msgspec.structs.replace(
        expect["vision/too-wide"], pending="NEVER", says="the largest (west-1 in west)"
    )
    expect["vision/too-wide"] = wide
    return msgspec.structs.replace(scenario, world=world, expect=expect)


def said(workload, outcome):
    """Where a job is with what, or why it is not."""
    decision = workload.decision
    grants = decision.grants if decision is not None and workload.targets else ()
    where = [(g.cluster, g.domain, g.tier, g.amounts.entries) for g in grants]
    if where or outcome is None:
        return where
    verdict = outcome.verdict
    return verdict.code, verdict.reason, verdict.detail, verdict.missing, outcome.nearest


@pytest.mark.slow
@virtual_time
async def test_live_and_in_memory_decide_alike(tmp_path):
    """Every job of the examples is where `scenario.run` puts it, or waits for the same reason."""
    scenario = small()
    report = run(scenario, read)
    assert report.failures == ()
    wanted = {
        f"{job.workload.namespace}/{job.workload.name}": said(job.workload, job.outcome)
        for job in report.jobs
    }
    members = [
        MemberSpec(
            name=one.name,
            nodes=nodes_of(one, read),
            hyper_nodes=hyper_nodes_of(one, read),
            region=one.region,
        )
        for one in scenario.world.clusters
    ]
    async with whole(tmp_path, *members, start=False) as world:
        for wave in waves(scenario.world, read):
            for one in wave:
                await world.apply(one)
                # Creation times have whole seconds; within one, random uids would decide.
                await asyncio.sleep(1)
        await world.start()
        await asyncio.sleep(15)
        view = await look(world.admin, world.clock)

        assert compare_live(scenario.expect, view.state, view.plan) == []
        live = {
            f"{one.namespace}/{one.name}": said(one, view.outcome(one.key))
            for one in view.state.workloads()
            if one.demand.gang is not None  # PriorityClasses are on their way to all members, too
        }
        assert live == wanted
        assert view.plan.empty()
        assert await world.bound("west", "wider-rack", "vision") == {
            f"wider-rack-worker-{at}": f"west-1-{at}" for at in range(4)
        }
