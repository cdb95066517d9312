"""Rows of nodes in trouble and on probation."""

from collections.abc import Iterable

import click

from global_sched.shared.api.federation import CapacityReport, CapacityReportSpec
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import CAPACITY_REPORTS
from global_sched.shared.kube.client import Client
from global_sched.view.text import Row


async def first_slice(client: Client, cluster: str) -> CapacityReportSpec:
    """The slice of a member's report that lists its nodes.

    Raises:  click.ClickException where no agent reports.
    """
    found = await client.list(
        CAPACITY_REPORTS, namespace=execution_namespace(cluster), type=CapacityReport
    )
    first = next((one.spec for one in found.items if one.spec.slice == 0), None)
    if first is None:
        raise click.ClickException(
            f"no agent reports the capacity of {cluster!r}; see `gsched clusters` for its name "
            "and whether its agent runs"
        )
    return first


def rows_of(spec: CapacityReportSpec) -> Iterable[Row]:
    """One row per node, in the order of the report."""
    for one in spec.trouble or ():
        yield {
            "node": one.node,
            "state": one.state,
            "domain": one.domain,
            "cause": one.cause,
            "detail": one.detail,
            "since": one.since,
            "until": one.until,
            "count": one.count,
        }
