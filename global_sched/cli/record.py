"""`gsched record`: finished jobs as a history for the simulator, and one cycle as a replay case."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import click
import msgspec

from global_sched.cli.output import Column, echo, show_rows
from global_sched.cli.view import Session, look_whole, with_session
from global_sched.cli.where import Where
from global_sched.core import run_cycle
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.values import from_json, to_json
from global_sched.shared.model.workload import Workload
from global_sched.sim.jobs import GPU
from global_sched.sim.traces import COLUMNS
from global_sched.view.ends import ends_of
from global_sched.view.look import View

_OUTCOMES: Final = (
    Column(head="WORKLOAD", field="workload"),
    Column(head="QUEUE", field="queue", leaves=1),
    Column(head="VERDICT", field="verdict"),
    Column(head="REASON", field="reason"),
    Column(head="CLUSTER", field="cluster"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCase:
    """One cycle: what it decided on, and what it decided."""

    version: str
    now: Instant
    policy: Policy
    snapshot: Snapshot
    plan: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a live federation has to tell: its finished jobs, and the next cycle."""

    jobs: str
    """In the simulator's format."""
    left_out: Mapping[str, int]
    """How many jobs are not in it, by reason."""
    case: ReplayCase


def record(where: Where, *, jobs: Path | None, replay: Path | None) -> None:
    """Write the files that are asked for; nothing is written to the control plane."""
    found = with_session(where, partial(look_back, where=where))
    if jobs is not None:
        _write(jobs, found.jobs.encode())
        echo(f"{len(found.jobs.splitlines()) - 1} finished jobs written to {jobs}", err=True)
        for why, count in found.left_out.items():
            echo(f"left out: {count} {why}", err=True)
    if replay is not None:
        _write(replay, to_json(found.case))
        count = len(found.case.plan.outcomes)
        echo(f"a cycle over {count} workloads written to {replay}", err=True)


async def look_back(session: Session, where: Where) -> Recorded:
    """Read a live federation once."""
    view = await look_whole(session.client, session.clock, where)
    listed = await session.client.list(RESOURCE_BINDINGS, type=ResourceBinding)
    text, left_out = history(view.state.workloads(), ends_of(listed.items))
    return Recorded(jobs=text, left_out=left_out, case=case_of(view))


def _write(path: Path, data: bytes) -> None:
    try:
        path.write_bytes(data)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error


def case_of(view: View) -> ReplayCase:
    """What a cycle at this moment decides on, with its plan."""
    return ReplayCase(
        version=version("global-sched"),
        now=view.now,
        policy=view.policy,
        snapshot=view.snapshot,
        plan=view.plan,
    )


def replay(file: Path, *, output: str) -> bool:
    """Decide again on a recorded snapshot and print it; whether the plan is the recorded one."""
    try:
        case = from_json(file.read_bytes(), ReplayCase)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise click.ClickException(
            f"{file}: is no replay case of this version: {error}; "
            "`gsched record --replay` writes one"
        ) from error
    plan = run_cycle(case.snapshot, case.policy, case.now)
    clusters = {one.workload: one.targets[0].cluster for one in plan.admissions if one.targets}
    rows = [
        {
            "workload": one.workload,
            "queue": one.queue,
            "verdict": one.verdict.code,
            "reason": one.verdict.reason,
            "cluster": clusters.get(one.workload, ""),
        }
        for one in plan.outcomes
    ]
    show_rows(rows, _OUTCOMES, output)
    same = plan == case.plan
    said = "the plan is the recorded one" if same else "the plan differs from the recorded one"
    echo(f"{said} (recorded by {case.version})", err=True)
    return same


# --- a history --------------------------------------------------------------------------------


def history(
    workloads: Iterable[Workload], ends: Mapping[WorkloadKey, Instant]
) -> tuple[str, dict[str, int]]:
    """The finished jobs in the simulator's format, and how many were left out for which reason."""
    rows: list[tuple[Instant, list[object]]] = []
    left_out: Counter[str] = Counter()
    for one in sorted(workloads, key=lambda one: (one.created, one.key)):
        if not one.finished:
            left_out["not finished"] += 1
            continue
        cells = _cells(one, ends.get(one.key))
        if isinstance(cells, str):
            left_out[cells] += 1
        else:
            rows.append((one.created, cells))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for created, cells in rows:
        cells[1] = _seconds(created - rows[0][0])
        writer.writerow(cells)
    return text.getvalue(), dict(sorted(left_out.items()))


def _cells(one: Workload, end: Instant | None) -> list[object] | str:
    """The cells of a row, or why there is none."""
    if one.decision is None or one.demand.gang is None:
        return "without a decision of ours"
    if end is None or end <= one.decision.runs_since:
        return "of which no status says when they ended"
    found = _pods(one.demand.gang)
    if found is None:
        return "without GPUs, or with pods of several sizes"
    pods, minimum, gpus = found
    shape = next(p.shape for p in one.demand.gang.pod_sets if p.shape.requests.get(GPU))
    limit = one.demand.gang.constraint
    cpu = shape.requests.get("cpu")
    return [
        one.key,
        "",
        _seconds(end - one.decision.runs_since),
        pods,
        gpus,
        f"{cpu}m" if cpu else "",
        shape.requests.get("memory") or "",
        one.tenant,
        one.queue,
        one.priority,
        limit.highest_tier if limit is not None and limit.highest_tier is not None else "",
        limit.mode if limit is not None else "",
        max(1, minimum),
    ]


def _pods(gang: Gang) -> tuple[int, int, int] | None:
    """Pods with GPUs, how many of them must run, and the GPUs of each."""
    sizes = {p.shape.requests.get(GPU) for p in gang.pod_sets} - {0}
    if len(sizes) != 1:
        return None
    own = [p for p in gang.pod_sets if p.shape.requests.get(GPU)]
    minimum = gang.minimum_amounts()
    return sum(p.count for p in own), sum(minimum.get(p.name) for p in own), sizes.pop()


def _seconds(micros: int) -> str:
    return f"{micros / SECOND:.6f}".rstrip("0").rstrip(".")
