"""A tenant asks for their own job: their binding, queue and condition, and never another's."""

import json

import click
import pytest

from global_sched.cli.own import explain_own
from global_sched.shared.kube.errors import Forbidden
from global_sched.view.look import look
from global_sched.view.own import NEEDS_NAMESPACE
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time


async def ask(world, job, namespace, output="table"):
    """What `gsched explain` does for a user without read access to the federation."""
    client = world.federation.client("tenant/vision")
    with pytest.raises(Forbidden) as denied:
        await look(client, world.clock)
    await explain_own(client, job=job, namespace=namespace, output=output, denied=denied.value)


@pytest.mark.slow
@virtual_time
async def test_own_and_others(tmp_path, capsys):
    """Their own jobs are explained, what is not shown is named, other namespaces are refused."""
    async with whole(tmp_path, member("m1"), tenants=("vision", "language")) as world:
        await world.submit(gang("train", pods=3, namespace="vision"))
        await world.until_phase("train", "Running", namespace="vision")
        await world.submit(
            gang("wide", pods=4, namespace="vision"), gang("hidden", pods=4, namespace="language")
        )

        async def refused_both():
            pair = [await world.binding("wide", "vision")]
            pair.append(await world.binding("hidden", "language"))
            return all(one.get("status", {}).get("conditions") for one in pair)

        await world.until(refused_both, "both are told why they wait")
        capsys.readouterr()

        await ask(world, "train", "vision", "json")
        running = json.loads(capsys.readouterr().out)
        assert running["job"] == "Job vision/train"
        assert running["clusters"] == "m1"
        assert running["admitted"] == "3 pods in m1, domain m1-0 (tier 1)"
        assert running["scheduled"].startswith("True Success")
        assert running["queue"].startswith("default: Open")
        assert "at the cluster scope" in running["not_shown"]

        await ask(world, "vision/wide", None)
        waiting = capsys.readouterr().out
        assert "has room for 1 (" in waiting
        assert "hidden" not in waiting
        assert "language" not in waiting

        for job, namespace, said in (
            ("hidden", "language", "you may not read namespace language"),
            ("language/hidden", None, "you may not read namespace language"),
            ("hidden", "vision", "is not in namespace vision"),
            ("hidden", None, NEEDS_NAMESPACE),
        ):
            with pytest.raises(click.ClickException) as refused:
                await ask(world, job, namespace)
            assert said in refused.value.message
            assert capsys.readouterr().out == ""
