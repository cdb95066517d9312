"""Changes that manifests would make to pending and running jobs."""

from collections.abc import Iterable
from dataclasses import dataclass

from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload
from global_sched.view.text import Row


@dataclass(frozen=True, slots=True)
class _Fate:
    """What a cycle does with a job, in a few words, and why."""

    text: str
    why: str = ""


def changes(
    before: Plan,
    after: Plan,
    jobs: Iterable[Workload],
    own: frozenset[WorkloadKey],
) -> list[Row]:
    """The jobs, without those of the manifests, that the next cycle would treat otherwise.

    Order:  by namespace and name.
    """
    old, new = _Fates(before), _Fates(after)
    found = []
    for job in sorted(jobs, key=lambda one: (one.namespace, one.name, one.key)):
        if job.finished or job.key in own:
            continue
        now, then = old.of(job), new.of(job)
        if now.text != then.text:
            found.append(
                {
                    "namespace": job.namespace,
                    "name": job.name,
                    "queue": job.queue,
                    "now": now.text,
                    "then": then.text,
                    "why": then.why or None,
                }
            )
    return found


def again(
    before: Plan, after: Plan, was: Snapshot, now: Iterable[tuple[str, Workload]]
) -> list[Row]:
    """What a cycle does with jobs of the manifests that exist already, as they are and as tried.

    now: name and workload of each job of the manifests. Order:  as given.
    """
    waiting = (one for bucket in was.pending for one in bucket.workloads)
    running = (one for held in was.running for one in held.workloads)
    known = {one.key: one for one in (*waiting, *running)}
    old, new = _Fates(before), _Fates(after)
    return [
        {"job": name, "now": old.of(known[job.key]).text, "then": new.of(job).text}
        for name, job in now
        if job.key in known
    ]


class _Fates:
    """A plan, by job."""

    def __init__(self, plan: Plan) -> None:
        self._admissions = {one.workload: one for one in plan.admissions}
        self._withdrawals = {one.workload: one for one in plan.withdrawals}
        self._outcomes = {one.workload: one for one in plan.outcomes}

    def of(self, job: Workload) -> _Fate:
        """What this plan does with a job."""
        where = _clusters(str(one.cluster) for one in job.targets)
        withdrawal = self._withdrawals.get(job.key)
        if withdrawal is not None:
            return _Fate(f"leaves {withdrawal.cluster}", withdrawal.message)
        admission = self._admissions.get(job.key)
        if admission is not None:
            there = _clusters(str(one.cluster) for one in admission.targets)
            pods = sum(grant.amounts.pods() for grant in admission.decision.grants)
            return _Fate(f"starts in {there}" if not where else f"{pods} pods in {there}")
        if where:
            return _Fate(f"stays in {where}")
        outcome = self._outcomes.get(job.key)
        if outcome is None:
            return _Fate("waits")
        place = f", {outcome.position} in its queue" if outcome.position else ""
        return _Fate(f"waits{place}: {outcome.verdict.reason}", outcome.verdict.detail)


def _clusters(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
