"""Phases of a Job, what its pods count for, and when one phase becomes another.

Source:  Volcano's job state machine (facts: phases, completion rules, what a restart does).
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from global_sched.shared.api.core import Pod
from member_agent.jobs.ladder import Place
from member_agent.jobs.pods import place_of
from member_agent.jobs.spec import Action, JobSpec


class Phase(StrEnum):
    """`status.state.phase`."""

    PENDING = "Pending"
    RUNNING = "Running"
    RESTARTING = "Restarting"
    ABORTING = "Aborting"
    ABORTED = "Aborted"
    COMPLETING = "Completing"
    COMPLETED = "Completed"
    TERMINATING = "Terminating"
    TERMINATED = "Terminated"
    FAILED = "Failed"


ENDING: Final[Mapping[Phase, Phase]] = {
    Phase.ABORTING: Phase.ABORTED,
    Phase.COMPLETING: Phase.COMPLETED,
    Phase.TERMINATING: Phase.TERMINATED,
}
"""Phases that last until no pod runs, and what comes then."""
FINISHED: Final = (Phase.COMPLETED, Phase.FAILED, Phase.TERMINATED)
"""Nothing leads out of these; the TTL counts from here."""
PAUSED: Final = "all tasks have 0 replicas; raise them to go on"
ENDED: Final = (*FINISHED, Phase.ABORTED)
ENDED_BY: Final[Mapping[Action, Phase]] = {
    Action.ABORT_JOB: Phase.ABORTING,
    Action.COMPLETE_JOB: Phase.COMPLETING,
    Action.TERMINATE_JOB: Phase.TERMINATING,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """A Job's pods by what they are doing; those that go count as terminating only.

    What ended counts as ended, whether its pod still stands there or not.
    """

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0
    by_task: Mapping[str, Mapping[str, int]]
    """Pods by task and pod phase."""

    def alive(self) -> int:
        """Pods that may still do something."""
        return self.pending + self.running + self.unknown + self.terminating

    def succeeded_of(self, task: str) -> int:
        """A task's pods that succeeded."""
        return self.by_task.get(task, {}).get("Succeeded", 0)


def count(pods: Iterable[Pod], going: Collection[str], ends: Mapping[Place, str]) -> Counts:
    """Count ends, and the pods of other places; the uids in `going` are about to be deleted."""
    totals = {"Pending": 0, "Running": 0, "Succeeded": 0, "Failed": 0}
    unknown = terminating = 0
    by_task: dict[str, dict[str, int]] = {}
    for (name, _), end in ends.items():
        totals[end] += 1
        of_task = by_task.setdefault(name, {})
        of_task[end] = of_task.get(end, 0) + 1
    for pod in pods:
        if place_of(pod) in ends:
            continue
        if pod.metadata.deletion_timestamp is not None or pod.metadata.uid in going:
            terminating += 1
            continue
        phase = pod.status.phase or "Pending"
        if phase in totals:
            totals[phase] += 1
        else:
            unknown += 1
        task = by_task.setdefault(place_of(pod)[0], {})
        task[phase] = task.get(phase, 0) + 1
    return Counts(
        pending=totals["Pending"],
        running=totals["Running"],
        succeeded=totals["Succeeded"],
        failed=totals["Failed"],
        unknown=unknown,
        terminating=terminating,
        by_task=by_task,
    )


def next_phase(phase: Phase, spec: JobSpec, counts: Counts) -> tuple[Phase, str]:
    """The phase after Pending or Running, and a word why when it ends badly, or waits."""
    if not spec.pods():
        return Phase.PENDING, PAUSED
    ended = counts.succeeded + counts.failed
    if phase is Phase.PENDING:
        if counts.running + ended >= spec.minimum:
            return Phase.RUNNING, ""
        return Phase.PENDING, ""
    if spec.min_success is not None and counts.succeeded >= spec.min_success:
        return Phase.COMPLETED, ""
    if ended == spec.pods():
        problem = _shortfall(spec, counts)
        return (Phase.FAILED, problem) if problem else (Phase.COMPLETED, "")
    if counts.pending > spec.pods() - spec.minimum:
        return Phase.PENDING, ""
    return Phase.RUNNING, ""


def _shortfall(spec: JobSpec, counts: Counts) -> str:
    """Why a Job whose pods have all ended failed; empty when it did not.

    The tasks' own minimums count only where the Job's does not undercut them.
    """
    if spec.minimum >= sum(task.minimum for task in spec.tasks):
        for task in spec.tasks:
            if (got := counts.succeeded_of(task.name)) < task.minimum:
                return f"{got} pods of task {task.name} succeeded, it needs {task.minimum}"
    if spec.min_success is not None:
        return f"{counts.succeeded} pods succeeded, minSuccess is {spec.min_success}"
    if counts.succeeded < spec.minimum:
        return f"{counts.succeeded} pods succeeded, minAvailable is {spec.minimum}"
    return ""


def startable(spec: JobSpec, pods: Iterable[Pod], ends: Mapping[Place, str]) -> tuple[str, ...]:
    """The tasks that may start: those without dependsOn, and those whose tasks before are there.

    A task before is there when at least its minimum runs and is ready, or succeeded. A task that
    has pods, or had some that ended, stays startable: the minimum of a gang never shrinks while it
    runs.
    """
    there: dict[str, int] = {}
    present: set[str] = set()
    for (name, _), end in ends.items():
        present.add(name)
        there[name] = there.get(name, 0) + (end == "Succeeded")
    for pod in pods:
        if pod.metadata.deletion_timestamp is not None or place_of(pod) in ends:
            continue
        name = place_of(pod)[0]
        present.add(name)
        there[name] = there.get(name, 0) + _is_there(pod)
    least = {task.name: max(task.minimum, 1) for task in spec.tasks}
    found = []
    for task in spec.tasks:
        met = [there.get(name, 0) >= least[name] for name in task.depends_on]
        enough = any(met) if task.depends_on_any else all(met)
        if not task.depends_on or enough or task.name in present:
            found.append(task.name)
    return tuple(found)


def _is_there(pod: Pod) -> bool:
    if pod.status.phase == "Succeeded":
        return True
    return pod.status.phase == "Running" and any(
        one.type == "Ready" and one.status == "True" for one in pod.status.conditions or ()
    )
