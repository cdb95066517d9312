"""`gsched explain JOB`: the answer on one screen; with `-o wide` everything that shows it."""

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from global_sched.cli.output import echo, show_value
from global_sched.cli.own import explain_own
from global_sched.cli.view import with_client
from global_sched.cli.where import Where
from global_sched.core import explain_workload
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden
from global_sched.shared.model.explanation import Explanation
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.workload import Workload
from global_sched.view.explain import (
    LABEL,
    advice,
    answer,
    evidence,
    head_of,
    main_amounts,
    screen_of,
    title_of,
    value_of,
)
from global_sched.view.explain_screen import lines
from global_sched.view.look import View, find_job, look
from global_sched.view.losses import loss_lines

_SHOWN_DOMAINS = 8


def show(
    where: Where,
    *,
    job: str,
    namespace: str | None,
    output: str,
) -> None:
    """Print why a job is where it is."""

    async def work(client: Client, clock: Clock) -> View | None:
        try:
            return await look(client, clock, leader_namespace=where.leader_namespace)
        except Forbidden as error:
            await explain_own(client, job=job, namespace=namespace, output=output, denied=error)
            return None

    view = with_client(where, work)
    if view is None:
        return
    workload = find_job(view.state, job, namespace)
    found = None
    if not workload.finished:
        found = explain_workload(view.snapshot, view.policy, view.now, workload.key)
    if output in ("json", "yaml"):
        show_value(value_of(workload, found, view), output)
    elif output == "wide":
        print_explanation(workload, found, view, every_domain=True)
    else:
        for line in lines(screen_of(workload, found, view)):
            echo(line)


def print_explanation(
    workload: Workload, found: Explanation | None, view: View, *, every_domain: bool = False
) -> None:
    """The text form: the answer, then what lets it run, then what shows that."""
    echo(title_of(workload, found))
    if found is None:
        _say(head_of(workload, view))
        _say(loss_lines(workload))
        echo(f"\n({view.policy_note})")
        return
    verdict = found.outcome.verdict
    _say(answer(found), indent=2)
    _say(advice(found))
    echo("\nEvidence")
    reason = f"verdict   {verdict.code} {verdict.reason}"
    _say([*head_of(workload, view), reason, *evidence(found)])
    print_occupants(found)
    print_clusters(found, every_domain=every_domain)
    _say(loss_lines(workload))
    echo(f"\n({view.policy_note})")


def _say(lines: Iterable[str], indent: int = 0) -> None:
    """Print lines, wrapped to the terminal; what follows stands below the text of the line."""
    for line in lines:
        for part in wrapped(" " * indent + line):
            echo(part)


def wrapped(line: str, hang: int | None = None) -> list[str]:
    """The line cut to the width of the terminal, further lines below its text."""
    start = len(line) - len(line.lstrip(" -"))
    if hang is None:
        labelled = not start and len(line) > LABEL and line[LABEL - 1] == " " != line[LABEL]
        hang = LABEL if labelled else start
    width = max(_LEAST_WIDTH, shutil.get_terminal_size((80, 24)).columns)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * hang,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    ) or [""]


_LEAST_WIDTH: Final = 60


def print_occupants(found: Explanation) -> None:
    """The gangs that hold the room that it waits for."""
    if not found.occupants:
        return
    echo("\nJobs that hold the room, those that end first before the others:")
    for one in found.occupants:
        name = "" if one.workload is None else f" ({one.workload})"
        place = f"{one.cluster} {one.domain}" if one.domain else one.cluster
        since = "" if one.since is None else f", since {format_instant(one.since)}"
        until = "no run-time limit"
        if one.until is not None:
            until = f"until {format_instant(one.until)} at the latest"
        holder = f"{counted(one.pods, 'pod')} of queue {one.queue}, priority {one.priority}{name}"
        _say([f"  - {holder}, in {place}: {main_amounts(one.amount)}{since}, {until}"])


def print_clusters(found: Explanation, *, every_domain: bool = False) -> None:
    """What every cluster answered, then the domains of those without room."""
    if found.outcome.clusters:
        echo("\nClusters:")
        _say_each(
            [
                (
                    one.cluster,
                    f"{one.verdict.code} {one.verdict.reason}"
                    + ("" if one.score is None else f", score {one.score}")
                    + (f": {one.verdict.detail}" if one.verdict.detail else ""),
                )
                for one in found.outcome.clusters
            ]
        )
    for cluster in found.domains:
        if not cluster.domains:
            continue
        shown = cluster.domains if every_domain else cluster.domains[:_SHOWN_DOMAINS]
        echo(f"\nDomains of {cluster.cluster}, those with most room first:")
        _say_each(
            [
                (
                    one.domain or "the cluster",
                    (f"tier {one.tier}, " if one.domain else "")
                    + f"room for {one.holds} of {counted(one.wants, 'pod')}"
                    + (f": {one.detail}" if one.detail else ""),
                )
                for one in shown
            ]
        )
        if more := len(cluster.domains) - len(shown):
            echo(f"  … {more} more with -o wide")


def _say_each(rows: Sequence[tuple[str, str]]) -> None:
    """A name and a text in each row, the texts below each other."""
    width = max(len(name) for name, _ in rows) + 3
    for name, text in rows:
        for line in wrapped(f"  {name.ljust(width)}{text}", width + 2):
            echo(line)
