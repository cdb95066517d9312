"""batch/v1 Job → pods that are to succeed."""

from collections.abc import Iterable
from typing import Final

from global_sched.embedded.members.cluster import Cluster, active, ready, template_pod
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj, get, labels, name_of, uid_of
from global_sched.shared.api.resource import BATCH_JOBS, PODS
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant

INDEX: Final = "batch.kubernetes.io/job-completion-index"
BACKOFF_CAP: Final = 600.0


class BatchJobs(WorkloadController):
    """`parallelism` pods at a time until `completions` succeeded; failures are counted."""

    resource = BATCH_JOBS
    owns = (PODS,)

    def __init__(self, cluster: Cluster, *, backoff: float) -> None:
        super().__init__(cluster)
        self._backoff = backoff
        self._succeeded: dict[str, set[str]] = {}
        self._failed: dict[str, set[str]] = {}
        self._pause: dict[str, float] = {}

    def forget(self, uid: str) -> None:
        """Forget what was counted for a Job that is gone."""
        for kept in (self._succeeded, self._failed, self._pause):
            kept.pop(uid, None)

    async def sync(self, obj: Obj) -> float | None:
        """Count what ended, decide whether that was all, else keep pods running."""
        if _finished(obj):
            return None
        pods = self.cluster.owned(PODS, obj)
        status = self._counted(obj, pods)
        done = _completed_indexes(obj, status, pods)
        working = [pod for pod in pods if active(pod)]
        end = self._end(obj, status, done)
        if end is not None:
            for pod in working:
                await self.cluster.delete(PODS, pod)
            await self._write(obj, status, done, [], pods, end)
            return None
        again: float | None = None
        if get(obj, "spec", "suspend"):
            for pod in working:
                await self.cluster.delete(PODS, pod)
            working = []
        else:
            again = self._wait(obj, status)
            if again is None:
                await self._fill(obj, working, done, status)
        await self._write(obj, status, done, working, pods, None)
        return again

    # --- counting -------------------------------------------------------------------------

    def _counted(self, obj: Obj, pods: Iterable[Obj]) -> dict[str, int]:
        """Pods that ended: each counts once, also when it is gone since."""
        uid = uid_of(obj)
        counts = {}
        for phase, kept in (("Succeeded", self._succeeded), ("Failed", self._failed)):
            seen = kept.setdefault(uid, set())
            before = len(seen)
            seen.update(uid_of(p) for p in pods if get(p, "status", "phase") == phase)
            shown = int(get(obj, "status", phase.lower()) or 0)
            counts[phase.lower()] = max(len(seen), shown)
            if phase == "Failed" and len(seen) > before:
                pause = min(BACKOFF_CAP, self._backoff * 2 ** min(len(seen) - 1, 20))
                self._pause[uid] = self.cluster.clock.monotonic() + pause
        return counts

    def _wait(self, obj: Obj, counts: dict[str, int]) -> float | None:
        """Seconds until the pause after a failure is over, None when there is none."""
        if not counts["failed"]:
            return None
        rest = self._pause.get(uid_of(obj), 0.0) - self.cluster.clock.monotonic()
        return rest if rest > 0 else None

    # --- ends -----------------------------------------------------------------------------

    def _end(self, obj: Obj, counts: dict[str, int], done: set[int]) -> tuple[str, str] | None:
        """(reason, message) of the end, None while it goes on."""
        spec = obj["spec"]
        completions = spec.get("completions")
        succeeded = len(done) if _indexed(obj) else counts["succeeded"]
        if counts["failed"] > spec.get("backoffLimit", 6):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        if self._overdue(obj):
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        if completions is None:
            enough = succeeded > 0 and not any(active(pod) for pod in self.cluster.owned(PODS, obj))
        else:
            enough = succeeded >= completions
        if enough:
            return "CompletionsReached", "Reached expected number of succeeded pods"
        return None

    def _overdue(self, obj: Obj) -> bool:
        deadline = get(obj, "spec", "activeDeadlineSeconds")
        try:
            started = parse_instant(str(get(obj, "status", "startTime")))
        except InstantError:
            return False
        if deadline is None:
            return False
        return self.cluster.clock.now() - started >= int(deadline) * SECOND

    # --- pods -----------------------------------------------------------------------------

    async def _fill(
        self, obj: Obj, working: list[Obj], done: set[int], counts: dict[str, int]
    ) -> None:
        spec = obj["spec"]
        parallelism = spec.get("parallelism", 1)
        completions = spec.get("completions")
        if completions is None:
            wanted = parallelism if not counts["succeeded"] else len(working)
        else:
            ended = len(done) if _indexed(obj) else counts["succeeded"]
            wanted = min(parallelism, completions - ended)
        for pod in sorted(working, key=_newest_first)[: max(0, len(working) - wanted)]:
            await self.cluster.delete(PODS, pod)
            working.remove(pod)
        busy = {index for pod in working if (index := _index(pod)) is not None} | done
        free = (index for index in range(completions or 0) if index not in busy)
        for _ in range(wanted - len(working)):
            index = next(free, None) if _indexed(obj) else None
            if _indexed(obj) and index is None:
                return
            made = await self.cluster.create(PODS, _pod(obj, index), owner=obj)
            if made is not None:
                working.append(made)

    # --- status ---------------------------------------------------------------------------

    async def _write(
        self,
        obj: Obj,
        counts: dict[str, int],
        done: set[int],
        working: list[Obj],
        pods: list[Obj],
        end: tuple[str, str] | None,
    ) -> None:
        now = self.cluster.now()
        old = obj.get("status") or {}
        status: Obj = {key: n for key, n in counts.items() if n}
        if working:
            status["active"] = len(working)
        going = [pod for pod in pods if get(pod, "metadata", "deletionTimestamp") is not None]
        status |= {
            "ready": sum(ready(pod) for pod in working),
            "terminating": 0 if end else len(going),
            "uncountedTerminatedPods": {},
        }
        suspended = bool(get(obj, "spec", "suspend"))
        if not suspended:
            status["startTime"] = old.get("startTime") or now
        if _indexed(obj) and done:
            status["completedIndexes"] = _ranges(done)
        conditions = _suspension(old.get("conditions") or [], now, suspended=suspended)
        if end is not None:
            reason, message = end
            good = reason == "CompletionsReached"
            kinds = ("SuccessCriteriaMet", "Complete") if good else ("FailureTarget", "Failed")
            conditions += [_condition(kind, True, reason, message, now) for kind in kinds]
            if good:
                status["completionTime"] = now
        if conditions:
            status["conditions"] = conditions
        await self.cluster.write_status(BATCH_JOBS, obj, status)


def _pod(obj: Obj, index: int | None) -> Obj:
    name = name_of(obj)
    if index is None:
        return template_pod(obj["spec"]["template"], owner=obj, generateName=f"{name}-")
    pod = template_pod(obj["spec"]["template"], owner=obj, generateName=f"{name}-{index}-")
    pod["metadata"]["labels"][INDEX] = str(index)
    pod["metadata"]["annotations"][INDEX] = str(index)
    reference = {"fieldPath": f"metadata.labels['{INDEX}']"}
    variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": reference}}
    spec = pod["spec"]
    spec["hostname"] = f"{name}-{index}"
    for kind in ("initContainers", "containers"):
        if kind in spec:
            spec[kind] = [{**one, "env": [*(one.get("env") or ()), variable]} for one in spec[kind]]
    return pod


def _suspension(conditions: list[Obj], now: str, *, suspended: bool) -> list[Obj]:
    """The conditions with a Suspended one that says what holds; none when it never was."""
    old = next((one for one in conditions if one["type"] == "Suspended"), None)
    if old is None and not suspended:
        return list(conditions)
    if old is not None and (old["status"] == "True") == suspended:
        return list(conditions)
    reason, message = (
        ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
    )
    others = [one for one in conditions if one["type"] != "Suspended"]
    return [*others, _condition("Suspended", suspended, reason, message, now)]


def _condition(kind: str, holds: bool, reason: str, message: str, now: str) -> Obj:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "reason": reason,
        "message": message,
        "lastProbeTime": now,
        "lastTransitionTime": now,
    }


def _finished(obj: Obj) -> bool:
    return any(
        one["type"] in ("Complete", "Failed") and one["status"] == "True"
        for one in get(obj, "status", "conditions") or ()
    )


def _indexed(obj: Obj) -> bool:
    return bool(get(obj, "spec", "completionMode") == "Indexed")


def _index(pod: Obj) -> int | None:
    text = labels(pod).get(INDEX, "")
    return int(text) if text.isdigit() else None


def _completed_indexes(obj: Obj, counts: dict[str, int], pods: Iterable[Obj]) -> set[int]:
    """Indexes of which a pod succeeded, those that the status knows already included."""
    if not _indexed(obj) or not counts["succeeded"]:
        return set()
    done: set[int] = set()
    for part in str(get(obj, "status", "completedIndexes") or "").split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            done.update(range(int(first), int(last or first) + 1))
    ended = (pod for pod in pods if get(pod, "status", "phase") == "Succeeded")
    return done | {index for pod in ended if (index := _index(pod)) is not None}


def _ranges(numbers: set[int]) -> str:
    """`0-2,5`: runs of three and more as ranges, as Kubernetes writes them."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs
    )


def _newest_first(pod: Obj) -> tuple[bool, str]:
    return ready(pod), "".join(
        chr(255 - ord(char)) for char in str(get(pod, "metadata", "creationTimestamp"))
    )
