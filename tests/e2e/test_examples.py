"""The examples end alike on the embedded federation and on the real one, object by object."""

import asyncio
import json
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from global_sched.cli.apply import apply_manifest
from global_sched.scenario.run import compare_live
from global_sched.shared.api import resource as kinds
from global_sched.shared.clock import SystemClock
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.view.look import look
from tests.e2e import examples, portraits
from tests.e2e.waiting import until
from tests.flows.federation import whole
from tests.virtual_time import virtual_time
from tools.local_karmada.servers import CONTROL_PLANE

REASONS = 2
"""Seconds after which a condition is written again where only its numbers have changed, in both
worlds: they say then what is so at the end, and not what a cycle on the way there has found."""
SHOWN = 20
"""So many differences are in the message of a failure."""

TEAM = examples.TEAMS[1]
"""Has an example of each kind."""
ONE_OF_EACH = ("Job", "PyTorchJob", "Deployment")


@pytest.fixture(scope="session")
def embedded(tmp_path_factory):
    """The portrait of the embedded federation, and what the programs say there."""
    found = {}

    @virtual_time
    async def run():
        scenario = examples.demo()
        folder = tmp_path_factory.mktemp("embedded")
        async with whole(folder, *examples.members(scenario), start=False) as world:
            for member in world.federation.members:
                await world.start_agent(member)
            names = [one.name for one in scenario.world.clusters]

            async def apply(obj):
                await apply_manifest(world.admin, examples.with_last_applied(obj))

            await examples.applied(scenario, world.admin, world.clock, apply)
            await world.until(lambda: examples.all_bound(world.admin, scenario), "bindings")
            now = format_instant(world.clock.now())
            await world.until(lambda: examples.reported_since(world.admin, now, names), "reports")
            await world.start_scheduler(policy=Policy(reason_interval_seconds=REASONS))
            await examples.until_settled(world.admin, world.clock)
            await asyncio.sleep(15)
            members = {name: world.federation.member_client(name) for name in names}
            found["portrait"] = await portraits.of(world.admin, members)
            found["view"] = _said(await look(world.admin, world.clock))

    run()
    return found


def _said(view):
    """Every gang: where it is, or why it is not."""
    found = {}
    for one in view.state.workloads():
        if one.demand.gang is None:
            continue
        outcome = view.outcome(one.key)
        verdict = outcome.verdict if outcome is not None and not one.targets else None
        found[f"{one.namespace}/{one.name}"] = (
            [target.cluster for target in one.targets],
            verdict and (verdict.code, verdict.reason, verdict.detail),
        )
    return found


async def test_both_worlds_decide_alike(kubectl, embedded, federation, programs, world):
    """Every example has the same bindings, Works, pods and reasons."""
    scenario = examples.demo()
    names = list(federation.members)
    await _empty(world)
    await programs.stop("global-sched")
    try:

        async def apply(obj):
            await asyncio.to_thread(kubectl, "apply", "-f", "-", stdin=examples.as_yaml(obj))

        await examples.applied(scenario, world.admin, SystemClock(), apply)
        await until(lambda: examples.all_bound(world.admin, scenario), "every binding")
        now = format_instant(SystemClock().now())
        await until(lambda: examples.reported_since(world.admin, now, names), "every report")
        setting = f"policy.reason_interval_seconds={REASONS}"
        await programs.start_scheduler("global-sched", "--set", setting)
        await examples.until_settled(world.admin, SystemClock())
        async with AsyncExitStack() as stack:
            members = {}
            for name in names:
                members[name] = await federation.client(name)
                stack.push_async_callback(members[name].close)

            found = []

            async def alike():
                real = await portraits.of(world.admin, members)
                found[:] = portraits.differences(embedded["portrait"], real)
                _keep(found, embedded["portrait"], real)
                return not found

            try:
                await until(alike, "both federations look the same")
            except AssertionError as error:
                raise AssertionError("\n".join([str(error), *found[:SHOWN]])) from error
            view = await look(world.admin, SystemClock())
            assert compare_live(scenario.expect, view.state, view.plan) == []
            assert _said(view) == embedded["view"]
    finally:
        await _removed(world, scenario, kubectl)
        await programs.stop("global-sched")  # who comes next starts it as it is shipped


async def test_karmadactl_applies_what_kubectl_does(kubectl, karmadactl, world):
    """One example of each kind: afterwards kubectl has nothing to change, and it is decided."""
    scenario = examples.demo()
    every = [one for one in examples.manifests(scenario) if _of_one_team(one)]
    first = {one["kind"]: one for one in reversed(every)}
    chosen = [one for one in every if one["kind"] not in ONE_OF_EACH or one is first[one["kind"]]]
    await _empty(world)
    try:
        for one in chosen:
            await asyncio.to_thread(karmadactl, "apply", "-f", "-", stdin=examples.as_yaml(one))
        for one in chosen:
            assert kubectl("diff", "-f", "-", stdin=examples.as_yaml(one)) == ""

        async def decided():
            return all(
                "Scheduled"
                in {told["type"] for told in one.get("status", {}).get("conditions", ())}
                for one in await examples.bindings(world.admin)
            )

        await until(decided, "everything is decided")
        bound = [one for one in chosen if one["kind"] in ONE_OF_EACH]
        assert len(await examples.bindings(world.admin)) == len(bound) + 1  # and the PriorityClass
    finally:
        await _removed(world, scenario, kubectl)


def _of_one_team(obj):
    return obj["metadata"].get("namespace", TEAM) == TEAM


def _keep(found, embedded, real):
    """The differences as files, where E2E_PORTRAITS names a folder."""
    folder = os.environ.get("E2E_PORTRAITS")
    if folder:
        path = Path(folder)
        path.mkdir(exist_ok=True)
        (path / "differences.txt").write_text("\n".join(found))
        (path / "embedded.json").write_text(json.dumps(embedded, indent=1))
        (path / "real.json").write_text(json.dumps(real, indent=1))


async def _empty(world):
    """Until nothing of other tests is left in the members: it would have their room."""

    async def none():
        for name in world.federation.members:
            client = await world.member(name)
            if (await client.list(kinds.PODS)).items:
                return False
        return True

    await until(none, "no pods in any member")


async def _removed(world, scenario, run):
    """Delete the examples, and wait until nothing of them is left anywhere."""
    texts = [examples.as_yaml(one) for one in examples.manifests(scenario)]
    stdin = "---\n".join(reversed(texts))
    await asyncio.to_thread(
        run, "delete", "--ignore-not-found", "--wait=false", "-f", "-", stdin=stdin
    )

    async def gone():
        return not await examples.bindings(world.admin)

    async def no_teams():
        # A namespace that is still going takes nothing in: the next run would be refused.
        for name in (CONTROL_PLANE, *world.federation.members):
            client = await world.member(name)
            listed = (await client.list(kinds.NAMESPACES)).items
            if {one["metadata"]["name"] for one in listed} & set(examples.TEAMS):
                return False
        return True

    await until(gone, "the bindings of the examples are gone")
    await until(no_teams, "the namespaces of the examples are gone")
    await _empty(world)
