"""`gsched whatif FILE`: a scenario in a world of its own, or manifests on the live federation."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from global_sched.cli.explain import print_clusters, standing
from global_sched.cli.jobs import COLUMNS, row_of
from global_sched.cli.output import Row, echo, show_rows, show_value
from global_sched.cli.trial import tried
from global_sched.cli.view import View, look_whole, with_client
from global_sched.cli.where import Where
from global_sched.core import explain_workload, run_cycle
from global_sched.scenario import Report, ScenarioError, parse, run
from global_sched.scenario.run import documents
from global_sched.shared.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden, NotFound
from global_sched.shared.model.explanation import Explanation
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload

MOST_EXPLAINED = 50
"""Of so many jobs of a scenario that wait it is said why."""


def show(where: Where, *, file: Path, output: str) -> None:
    """Decide on a file and print the result; nothing is written."""
    try:
        text = file.read_text(encoding="utf-8")
        if _is_scenario(text):
            _show_scenario(file, text, output)
        else:
            _show_manifests(where, text=text, file=file, output=output)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error
    except UnicodeDecodeError as error:
        raise click.ClickException(f"{file} is not a text file: {error}") from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or file}: {error.strerror}") from error


def _is_scenario(text: str) -> bool:
    """A scenario file has the key `scenario`; manifests have `kind`."""
    try:
        first = next(iter(yaml.safe_load_all(text)), None)
    except yaml.YAMLError:
        return "\nscenario:" in f"\n{text}"
    return isinstance(first, dict) and "scenario" in first


def _show_scenario(file: Path, text: str, output: str) -> None:
    report = run(
        parse(text, file.name),
        lambda name: (file.parent / name).read_text(encoding="utf-8"),
    )
    rows = report_rows(report)
    if output in ("json", "yaml"):
        value = {
            "scenario": report.scenario,
            "jobs": rows,
            "explanations": msgspec.to_builtins(_explained(report)),
            "failures": list(report.failures),
            "unproven": list(report.unproven),
        }
        show_value(value, output)
    else:
        echo(f"{report.scenario}\n")
        show_rows(rows, COLUMNS, output)
        for name, one in _explained(report).items() if output == "wide" else ():
            _show_standing(name, one)
        echo()
        show_unproven(report.unproven)
        for failure in report.failures:
            echo(f"not as expected: {failure}")
        if not report.failures:
            echo("everything is as the file expects")
    sys.exit(1 if report.failures else 0)


def _explained(report: Report) -> dict[str, Explanation]:
    """Why jobs wait in a scenario's world, the first of them by name: each takes a few cycles."""
    waiting = sorted((one.name, one.workload) for one in report.jobs if _waits(one.workload))
    found = {
        name: explain_workload(report.snapshot, report.policy, report.now, workload.key)
        for name, workload in waiting[:MOST_EXPLAINED]
    }
    return {name: one for name, one in found.items() if one is not None}


def _waits(workload: Workload) -> bool:
    """For its place, or for more pods."""
    return not workload.finished and not (workload.targets and not workload.lacking().entries)


def _show_standing(name: str, found: Explanation) -> None:
    """The lines of `gsched explain` about a job that waits."""
    echo(f"\n{name}")
    for line in standing(found):
        echo(f"  {line}")


def show_unproven(jobs: Sequence[str]) -> None:
    """Which jobs' answers the search limit ended before they were certain; nothing for none."""
    if jobs:
        echo(f"not proven within placementSearchLimit: {', '.join(jobs)}")


def report_rows(report: Report) -> list[Row]:
    """The jobs of a scenario as rows of `gsched jobs`."""
    return [row_of(one.workload, one.outcome, report.now) for one in report.jobs]


def _show_manifests(where: Where, *, text: str, file: Path, output: str) -> None:
    manifests = list(documents(text, file.name))

    async def work(client: Client, clock: Clock) -> tuple[View, list[dict[str, Any]]]:
        return await look_whole(client, clock, where), await _live_policies(client)

    view, policies = with_client(where, work)
    keys = tried(view, policies, manifests)
    if not keys:
        raise click.ClickException(
            f"{file}: no job in it is selected by a PropagationPolicy with schedulerName "
            "global-sched, in the file or on the control plane"
        )
    snapshot = view.state.snapshot()
    plan = run_cycle(snapshot, view.policy, view.now)
    rows = [planned(view, key, plan) for _, key in sorted(keys.items())]
    moved = displaced(view.plan, plan, frozenset(keys.values()))
    found = {
        name: explain_workload(snapshot, view.policy, view.now, key)
        for name, key in sorted(keys.items())
    }
    if output in ("json", "yaml"):
        value = {"jobs": rows, "displaced": moved, "explanations": msgspec.to_builtins(found)}
        value |= {"policy": view.policy_note, "unproven": list(plan.unproven)}
        show_value(value, output)
        return
    echo(f"tried against the live federation ({view.policy_note}); nothing was written\n")
    show_rows(rows, COLUMNS, output)
    for name, one in found.items():
        if one is not None and one.outcome.verdict.code != Code.FIT:
            _show_standing(name, one)
            print_clusters(one, every_domain=output == "wide")
    for key in moved:
        echo(f"\n{key} would have to wait instead")
    show_unproven(plan.unproven)


def planned(view: View, key: WorkloadKey, plan: Plan) -> Row:
    """A row of `gsched jobs`, with what the plan would admit filled in."""
    workload = view.state.workload(key)
    assert workload is not None, key
    outcome = next((one for one in plan.outcomes if one.workload == key), None)
    row = row_of(workload, outcome, view.now)
    admission = next((one for one in plan.admissions if one.workload == key), None)
    if admission is None:
        return row
    grants = admission.decision.grants
    gang = workload.demand.gang
    pods = sum(grant.amounts.pods() for grant in grants)
    return row | {
        "state": "Would change" if workload.targets else "Would start",
        "clusters": [str(target.cluster) for target in admission.targets],
        "domain": grants[0].domain if len(grants) == 1 else None,
        "tier": grants[0].tier if len(grants) == 1 else None,
        "pods": None if gang is None else {"admitted": pods, "wanted": gang.pods()},
        "verdict": "FIT",
        "detail": None,
    }


def displaced(before: Plan, after: Plan, own: frozenset[WorkloadKey]) -> list[str]:
    """Jobs of others that would be admitted now, and would not with the file."""
    admitted = {one.workload for one in after.admissions}
    return [one.workload for one in before.admissions if one.workload not in admitted | own]


async def _live_policies(client: Client) -> list[dict[str, Any]]:
    """The policies on the control plane; a caller who may not list them tries the file's only."""
    found: list[dict[str, Any]] = []
    for resource in (PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES):
        try:
            listing = await client.list(resource, type=dict)
        except (Forbidden, NotFound):
            continue
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        found.extend(kind | item for item in listing.items)
    return found
