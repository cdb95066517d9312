"""`gsched whatif FILE`: a scenario in a world of its own, or manifests on the live federation."""

import sys
from pathlib import Path
from typing import Any

import click
import msgspec
import yaml

from global_sched.cli.jobs import COLUMNS, row_of
from global_sched.cli.output import show_rows, show_value
from global_sched.cli.view import View, look, with_client
from global_sched.core import explain, run_cycle
from global_sched.scenario import Report, ScenarioError, parse, run
from global_sched.scenario.play import Play
from global_sched.scenario.run import documents
from global_sched.shared.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden, NotFound
from global_sched.shared.model.plan import Plan


def show(kubeconfig: Path | None, context: str | None, *, file: Path, output: str) -> None:
    """Decide on a file and print the result; nothing is written."""
    text = file.read_text(encoding="utf-8")
    try:
        if _is_scenario(text):
            _show_scenario(file, text, output)
        else:
            _show_manifests(kubeconfig, context, text=text, file=file, output=output)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error
    except FileNotFoundError as error:
        raise click.ClickException(f"{file}: {error.filename} is not there") from error


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
    if output in ("json", "yaml"):
        show_value(msgspec.to_builtins(report), output)
    else:
        click.echo(f"{report.scenario}\n")
        show_rows(report_rows(report), COLUMNS, output)
        click.echo()
        for failure in report.failures:
            click.echo(f"not as expected: {failure}")
        if not report.failures:
            click.echo("everything is as the file expects")
    sys.exit(1 if report.failures else 0)


def report_rows(report: Report) -> list[dict[str, Any]]:
    """The jobs of a scenario as rows of `gsched jobs`."""
    return [row_of(one.workload, one.outcome, report.now) for one in report.jobs]


def _show_manifests(
    kubeconfig: Path | None, context: str | None, *, text: str, file: Path, output: str
) -> None:
    async def work(client: Client, clock: Clock) -> tuple[View, Play]:
        view = await look(client, clock)
        play = Play(view.policy, state=view.state, now=view.now)
        for policy in await _live_policies(client):
            play.apply(policy)
        return view, play

    view, play = with_client(kubeconfig, context, work)
    for manifest in documents(text, file.name):
        play.apply(manifest)
    play.propagate()
    if not play.keys:
        raise click.ClickException(
            f"{file}: no job in it is selected by a PropagationPolicy with schedulerName "
            "global-sched, in the file or on the control plane"
        )
    snapshot = play.snapshot()
    plan = run_cycle(snapshot, view.policy, view.now)
    rows = [_planned(play, name, plan) | {"was": _before(view, name)} for name in sorted(play.keys)]
    if output in ("json", "yaml"):
        explained = {
            name: explain(snapshot, view.policy, view.now, key) for name, key in play.keys.items()
        }
        show_value({"jobs": rows, "explanations": msgspec.to_builtins(explained)}, output)
        return
    click.echo(f"tried against the live federation ({view.policy_note}); nothing was written\n")
    show_rows(rows, COLUMNS, output)
    moved = _changes(view.plan, plan, set(play.keys.values()))
    for line in moved:
        click.echo(line)


def _planned(play: Play, name: str, plan: Plan) -> dict[str, Any]:
    """A row of `gsched jobs`, with what the plan would admit filled in."""
    workload = play.workload(name)
    outcome = next((one for one in plan.outcomes if one.workload == workload.key), None)
    row = row_of(workload, outcome, play.now)
    admission = next((one for one in plan.admissions if one.workload == workload.key), None)
    if admission is not None:
        grants = admission.decision.grants
        total = workload.demand.gang.pods() if workload.demand.gang else 0
        row |= {
            "state": "Would start",
            "clusters": [str(target.cluster) for target in admission.targets],
            "domain": grants[0].domain if len(grants) == 1 else None,
            "tier": grants[0].tier if len(grants) == 1 else None,
            "pods": f"{sum(grant.amounts.pods() for grant in grants)}/{total}",
            "verdict": "FIT",
        }
    return row


def _before(view: View, name: str) -> str:
    return "live" if any(f"{w.namespace}/{w.name}" == name for w in view.state.workloads()) else ""


def _changes(before: Plan, after: Plan, tried: set[Any]) -> list[str]:
    """Jobs of others that would be admitted now, and would not with the file."""
    admitted = {one.workload for one in after.admissions}
    lost = [one.workload for one in before.admissions if one.workload not in admitted | tried]
    return [f"\n{key} would have to wait instead" for key in lost]


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
