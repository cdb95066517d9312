"""`gsched jobs`."""

import json
from dataclasses import replace
from typing import Final

import click

from global_sched.cli.output import Column, echo, show_rows
from global_sched.cli.view import Session, look_whole, with_session
from global_sched.cli.where import Where
from global_sched.shared.api.base import KubeObject
from global_sched.shared.kinds import KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import BadRequest, Forbidden, NotFound
from global_sched.view.job_query import JobQuery, Object, shown
from global_sched.view.jobs import rows_of
from global_sched.view.look import look
from global_sched.view.own import own_rows
from global_sched.view.text import Row, duration

WATCH_SECONDS: Final = 2.0
"""Seconds between two looks of `-w`."""


_COLOURS: Final = {
    "Unreadable": "red",
    "Suspended": "magenta",
    "Pending": "yellow",
    "Starting": "cyan",
    "Running": "green",
}


def pods_text(row: Row) -> str | None:
    """`3/4`: admitted pods of all pods; None for what has no pods to count."""
    pods = row["pods"]
    return None if pods is None else f"{pods['admitted']}/{pods['wanted']}"


COLUMNS: Final = (
    Column(head="NAMESPACE", field="namespace"),
    Column(head="NAME", field="name"),
    Column(head="STATE", field="state", colour=lambda row: _COLOURS.get(row["state"])),
    Column(head="KIND", field="kind", wide=True),
    Column(head="TENANT", field="tenant", leaves=6),
    Column(head="QUEUE", field="queue", leaves=3),
    Column(head="PLACE", field="position", right=True, leaves=2),
    Column(head="PRIORITY", field="priority", right=True, leaves=4),
    Column(head="CLUSTER", field="clusters", leaves=1),
    Column(head="DOMAIN", field="domain", leaves=5),
    Column(head="TIER", field="tier", right=True, leaves=5),
    Column(head="PODS", text=pods_text, right=True),
    Column(head="WAIT", text=lambda row: duration(row["wait_seconds"]), right=True),
    Column(head="VERDICT", field="verdict", wide=True),
    Column(head="REASON", field="reason"),
    Column(head="DETAIL", field="detail", leaves=7, sentences=True),
)


def show(
    where: Where,
    query: JobQuery,
    *,
    output: str,
    all_namespaces: bool = False,
    headers: bool = True,
    watch: bool = False,
) -> None:
    """Print the jobs that `query` asks for; what is only copied with wide.

    The namespace is that of the query, else the one that the context names, else every one. Kinds
    that make pods which nothing counts are jobs, too.
    """

    async def work(session: Session) -> None:
        asked = query
        if asked.namespace is None and not all_namespaces and session.namespace:
            asked = replace(asked, namespace=session.namespace)
        if watch:
            await follow(session, where, asked, output, headers=headers)
            return
        rows, note = await listed(session, where, asked, output)
        scope = f" in namespace {asked.namespace}" if asked.namespace else ""
        show_rows(rows, columns(asked), output, nothing=f"No jobs found{scope}.", headers=headers)
        if note:
            echo(note, err=True)

    with_session(where, work)


def columns(query: JobQuery) -> tuple[Column, ...]:
    """The columns of a list; as with kubectl, one namespace need not be named in each row."""
    return COLUMNS if query.namespace is None else COLUMNS[1:]


async def listed(
    session: Session, where: Where, query: JobQuery, output: str
) -> tuple[list[Row], str]:
    """The rows that are asked for, and what the caller could not be shown.

    Raises:  ConfigError where the caller may neither read the federation nor named a namespace.
    """
    client = session.client
    if query.selector:
        found = await _labelled(client, query.selector, query.namespace)
        query = replace(query, labelled=found)
    if query.namespace is None:
        view = await look_whole(client, session.clock, where)
        return query.chosen(shown(rows_of(view), output)), ""
    try:
        view = await look(client, session.clock, leader_namespace=where.leader_namespace)
    except Forbidden as error:
        rows = await own_rows(client, namespace=query.namespace, now=session.clock.now())
        note = f"not shown: tenant and share; {error.message}"
        return query.chosen(shown(rows, output)), note
    return query.chosen(shown(rows_of(view), output)), ""


async def _labelled(client: Client, selector: str, namespace: str | None) -> set[Object]:
    """The templates that a label selector selects, as the API server reads it.

    Kinds without a file in global_sched/shared/kinds are not asked for.
    Raises:  click.ClickException for a selector that the server refuses; ApiError.
    """
    found: set[Object] = set()
    for kind in KINDS.values():
        resource = kind.resource
        try:
            listed = await client.list(
                resource, namespace=namespace, label_selector=selector, type=KubeObject
            )
        except NotFound:
            continue  # the kind is not installed
        except BadRequest as error:
            raise click.ClickException(f"-l {selector!r}: {error.message}") from error
        kind_of = (resource.api_version, resource.kind)
        found |= {(*kind_of, one.metadata.namespace, one.metadata.name) for one in listed.items}
    return found


async def follow(
    session: Session, where: Where, query: JobQuery, output: str, *, headers: bool
) -> None:
    """Print the rows, then each row that changed in anything but its wait, until interrupted."""
    before: dict[str, str] = {}
    while True:
        rows, note = await listed(session, where, query, output)
        now = {row["binding_key"]: _without_wait(row) for row in rows}
        news = [row for row in rows if before.get(row["binding_key"]) != now[row["binding_key"]]]
        if news:
            show_rows(news, columns(query), output, headers=headers)
            headers = False
        gone = sorted(before.keys() - now.keys())
        for key in gone:
            echo(f"{key} is no longer listed", err=True)
        if note and not before:
            echo(note, err=True)
        before = now
        await session.clock.sleep(WATCH_SECONDS)


def _without_wait(row: Row) -> str:
    return json.dumps({k: v for k, v in row.items() if k != "wait_seconds"}, sort_keys=True)
