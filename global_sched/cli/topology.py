"""`gsched topology CLUSTER`."""

from global_sched.cli.output import Column, echo, show_rows
from global_sched.cli.view import live
from global_sched.cli.where import Where
from global_sched.view.text import amounts
from global_sched.view.topology import rows_of, topology_of

COLUMNS = (
    Column(head="DOMAIN", field="shown"),
    Column(head="TIER", field="tier", right=True),
    Column(head="TIER NAME", field="tier_name"),
    Column(head="NODES", field="nodes", right=True),
    Column(head="FREE", text=lambda row: amounts(row["free"])),
)


def show(where: Where, *, cluster: str, output: str) -> None:
    """Print the tree of one member, each domain with what it still holds."""
    view = live(where)
    rows = list(rows_of(view, cluster))
    if output in ("json", "yaml"):
        for row in rows:
            del row["shown"]
    show_rows(rows, COLUMNS, output)
    for problem in topology_of(view, cluster).problems:
        echo(f"set aside: {problem}", err=True)
