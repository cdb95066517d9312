"""`gsched whatif FILES`: scenarios in worlds of their own, or manifests on the live federation."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
import msgspec

from global_sched.cli.explain import print_clusters
from global_sched.cli.jobs import COLUMNS
from global_sched.cli.output import Column, echo, show_rows, show_value
from global_sched.cli.sources import Case, Given, read
from global_sched.cli.view import look_whole, with_client
from global_sched.cli.where import Where
from global_sched.core import explain_workload, run_cycle
from global_sched.scenario import Report, ScenarioError, run
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.model.explanation import Explanation
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload
from global_sched.view.changes import again, changes
from global_sched.view.explain import standing
from global_sched.view.jobs import row_of
from global_sched.view.look import View
from global_sched.view.text import Row
from global_sched.view.trial import WhatIfInput, displaced, planned, read_trial, try_live

Obj = dict[str, Any]
CHANGE_COLUMNS = (
    Column(head="NAMESPACE", field="namespace"),
    Column(head="NAME", field="name"),
    Column(head="QUEUE", field="queue"),
    Column(head="NOW", field="now"),
    Column(head="THEN", field="then"),
    Column(head="WHY", field="why"),
)
MOST_EXPLAINED = 50
"""Of so many jobs of a scenario that wait it is said why."""
MOST_CHANGES: Final = 50
"""So many jobs that would fare otherwise are in the table; -o wide has all of them."""


def show(where: Where, *, files: Sequence[Path], output: str) -> None:
    """Decide on what is given and print the result; nothing is written."""
    try:
        given = read(files)
        if len(given.cases) == 1:
            _show_scenario(given.cases[0], output)
        elif given.cases:
            _show_cases(given.cases, output)
        else:
            _show_manifests(where, given, output)
    except ScenarioError as error:
        raise click.ClickException(str(error)) from error
    except UnicodeDecodeError as error:
        names = ", ".join(map(str, files))
        raise click.ClickException(f"{names}: not a text file: {error}") from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or files[0]}: {error.strerror}") from error


def _show_scenario(case: Case, output: str) -> None:
    report = run(case.scenario, case.read)
    if output in ("json", "yaml"):
        show_value(_value(report), output)
    else:
        _print_report(report, output)
    sys.exit(1 if report.failures else 0)


def _value(report: Report) -> Obj:
    """A scenario's result for machines."""
    return {
        "scenario": report.scenario,
        "jobs": report_rows(report),
        "explanations": msgspec.to_builtins(_explained(report)),
        "failures": list(report.failures),
        "unproven": list(report.unproven),
    }


def _print_report(report: Report, output: str) -> None:
    echo(f"{report.scenario}\n")
    show_rows(report_rows(report), COLUMNS, output)
    for name, one in _explained(report).items() if output == "wide" else ():
        _show_standing(name, one)
    echo()
    show_unproven(report.unproven)
    for failure in report.failures:
        echo(f"not as expected: {failure}")
    if not report.failures:
        echo("everything is as the file expects")


def _show_cases(cases: Sequence[Case], output: str) -> None:
    """One line per case, the whole of each with -o wide; how many are as expected at the end."""
    left_out = [one for one in cases if one.scenario.world.groups]
    reports = [run(one.scenario, one.read) for one in cases if not one.scenario.world.groups]
    failed = sum(bool(one.failures) for one in reports)
    if output in ("json", "yaml"):
        names = [one.scenario.scenario for one in left_out]
        value = {"cases": [_value(one) for one in reports], "failed": failed, "left_out": names}
        show_value(value, output)
        sys.exit(1 if failed else 0)
    for report in reports:
        if output == "wide":
            _print_report(report, output)
            echo()
            continue
        echo(f"{'FAILED' if report.failures else 'ok':<8}  {report.scenario}")
        for failure in report.failures:
            echo(f"          not as expected: {failure}")
    for case in left_out:
        echo(f"left out  {case.scenario.scenario}")
    echo(f"{len(reports) - failed} of {len(reports)} cases are as expected")
    if left_out:
        echo(f"{len(left_out)} were left out: PodGroups of a member's own need its agent, which")
        echo("`make scenarios` in a checkout runs")
    sys.exit(1 if failed else 0)


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


def _show_manifests(where: Where, given: Given, output: str) -> None:
    trial = read_trial(given.manifests)

    async def work(client: Client, clock: Clock) -> tuple[View, dict[str, WorkloadKey]]:
        return await live_trial(client, clock, where, trial)

    view, keys = with_client(where, work)
    if not keys and not trial.shares:
        raise click.ClickException(
            f"{given.names}: no Queue, Tenant, PriorityClass or Policy is in it, and no job that is"
            " selected by a PropagationPolicy with schedulerName global-sched, in the file or on"
            " the control plane"
        )
    show_trial(view, keys, trial, output)


async def live_trial(
    client: Client, clock: Clock, where: Where, trial: WhatIfInput
) -> tuple[View, dict[str, WorkloadKey]]:
    """The federation with the manifests put into its state, and their jobs by `namespace/name`.

    Raises:  ScenarioError; ConfigError; ApiError.
    """
    view = await look_whole(client, clock, where)
    return view, await try_live(client, view, trial)


def show_trial(view: View, keys: dict[str, WorkloadKey], trial: WhatIfInput, output: str) -> None:
    """What would come of it: for the jobs of the manifests, and for the others."""
    policy = view.policy if trial.policy is None else trial.policy
    snapshot = view.state.snapshot()
    plan = run_cycle(snapshot, policy, view.now)
    own = frozenset(keys.values())
    rows = [planned(view, key, plan) for _, key in sorted(keys.items())]
    others = changes(view.plan, plan, view.state.workloads(), own)
    found = {
        name: explain_workload(snapshot, policy, view.now, key)
        for name, key in sorted(keys.items())
    }
    own_jobs = [(name, view.state.workload(key)) for name, key in sorted(keys.items())]
    existing = again(
        view.plan, plan, view.snapshot, [(name, job) for name, job in own_jobs if job is not None]
    )
    if output in ("json", "yaml"):
        value = {"jobs": rows, "changes": others, "explanations": msgspec.to_builtins(found)}
        value |= {"existing": existing}
        value |= {"displaced": displaced(view.plan, plan, own)}
        value |= {"policy": view.policy_note, "unproven": list(plan.unproven)}
        show_value(value, output)
        return
    note = view.policy_note if trial.policy is None else "the Policy of the file"
    echo(f"tried against the live federation ({note}); nothing was written\n")
    if rows:
        show_rows(rows, COLUMNS, output)
    for one_job in existing:
        same = one_job["now"] == one_job["then"]
        then = "the same" if same else one_job["then"]
        echo(f"{one_job['job']} exists already: {one_job['now']}; as in the file: {then}")
    for name, one in found.items():
        if one is not None and one.outcome.verdict.code != Code.FIT:
            _show_standing(name, one)
            print_clusters(one, every_domain=output == "wide")
    _print_changes(others, output, whole=not rows)
    show_unproven(plan.unproven)


def _print_changes(others: Sequence[Row], output: str, *, whole: bool) -> None:
    """The jobs that are there already and would fare otherwise; `whole`: they are all there is."""
    if not others:
        if whole:
            echo("the next cycle would do the same with every job that waits or runs")
        return
    most = len(others) if output == "wide" else MOST_CHANGES
    if not whole:
        echo("\nother jobs, in the next cycle:")
    show_rows(others[:most], CHANGE_COLUMNS, output)
    if len(others) > most:
        echo(f"and {len(others) - most} more: -o wide has all")
