"""`gsched record` beside a federation at work: its history is simulated, its cycle decided on."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.cli.record import look_back
from global_sched.cli.view import Session
from global_sched.cli.where import Where
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.values import to_json
from global_sched.sim.traces import read_jobs
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time

WORLD = """
experiment: the federation once more
trace: {file: jobs.csv}
world:
  clusters: [{name: m1, domains: {rack: {tier: 1}}, nodes: [{domain: rack, count: 4}]}]
arms: [{name: global-sched}]
"""


@pytest.mark.slow
@virtual_time
async def test_what_a_federation_did_is_recorded_simulated_and_replayed(tmp_path):
    """Two jobs that ran one after the other, one that runs, and one that waits."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await world.submit(gang("first", pods=4, seconds=40))
        await world.until_phase("first", "Running")
        await asyncio.sleep(3)
        await world.submit(gang("second", pods=3, seconds=60))
        await world.until_phase("second", "Completed", seconds=180)
        await world.submit(gang("third", pods=4, seconds=600))
        await world.until_phase("third", "Running")
        await world.submit(gang("fourth", pods=2, seconds=60))
        await asyncio.sleep(5)

        found = await look_back(Session(world.admin, world.clock, TEAM), Where())

    first, second = read_jobs(found.jobs, "jobs", "jobs.csv")
    assert found.left_out == {"not finished": 2}
    assert [(one.pods, one.gpus, one.tier) for one in (first, second)] == [(4, 8, 1), (3, 8, 1)]
    assert first.submit == 0
    assert 2 * SECOND <= second.submit < 10 * SECOND
    assert 39 * SECOND <= first.duration < 50 * SECOND
    assert 59 * SECOND <= second.duration < 70 * SECOND

    (tmp_path / "jobs.csv").write_text(found.jobs)
    (tmp_path / "again.yaml").write_text(WORLD)
    (tmp_path / "case.json").write_bytes(to_json(found.case))
    simulated = CliRunner().invoke(
        cli, ["simulate", str(tmp_path / "again.yaml"), "--out", str(tmp_path), "--no-plots"]
    )
    replayed = CliRunner().invoke(cli, ["replay", str(tmp_path / "case.json"), "-o", "json"])

    assert simulated.exit_code == 0, simulated.output
    (run,) = json.loads((tmp_path / "result.json").read_text())["runs"]
    waited = (first.submit + first.duration - second.submit) / SECOND
    assert run["wait_p99"] == pytest.approx(waited)
    assert run["misplaced"] == 0
    assert replayed.exit_code == 0, replayed.output
    (row,) = json.loads(replayed.stdout)
    assert (row["workload"], row["reason"]) == (f"{TEAM}/fourth-job", "TopologyDoesNotFit")
