"""Jobs, pods and PodGroups in one line, and a small world in which pods follow a script.

`Town` plays API server and kubelet without time: `settle` repeats `step` and carries out what it
says, as the controller does, until nothing is left to do.
"""

from typing import Any

import msgspec

from global_sched.shared.api import names
from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.json_values import merge_patch
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant, format_instant, parse_instant
from member_agent.jobs.memory import Memory
from member_agent.jobs.outcome import Healed, JobOutcome, JobView, Note
from member_agent.jobs.state import step
from member_agent.jobs.wire import RunJob
from member_agent.jobs.writes import difference

NOW = parse_instant("2026-01-31T12:00:00Z")
CREATED = format_instant(Instant(NOW - 60 * SECOND))


def template(**requests: str) -> dict[str, Any]:
    """A pod template with one container."""
    container = {"name": "c", "image": "registry.example/t:1"}
    return {"spec": {"containers": [container | {"resources": {"requests": requests}}]}}


def task(name: str = "worker", replicas: int = 2, **fields: Any) -> dict[str, Any]:
    """A task; further fields as in JSON."""
    return {"name": name, "replicas": replicas, "template": template(cpu="1")} | fields


def policy(action: str, event: str = "", **fields: Any) -> dict[str, Any]:
    """A lifecycle policy."""
    return {"action": action} | ({"event": event} if event else {}) | fields


def job_json(*tasks: dict[str, Any], labels: Any = None, **spec: Any) -> dict[str, Any]:
    """A Job as JSON; `spec` fields as in JSON."""
    meta = {
        "name": "train",
        "namespace": "team-a",
        "uid": "job-uid",
        "generation": 1,
        "resourceVersion": "1",
        "creationTimestamp": CREATED,
        "labels": labels,
    }
    return {"metadata": meta, "spec": {"tasks": list(tasks or (task(),))} | spec}


def job(*tasks: dict[str, Any], **spec: Any) -> RunJob:
    """A Job that has no status yet."""
    return msgspec.convert(job_json(*tasks, **spec), RunJob)


class Town:
    """One Job and its objects, as they become."""

    def __init__(self, *tasks: dict[str, Any], labels: Any = None, **spec: Any) -> None:
        self.job = job_json(*tasks, labels=labels, **spec)
        self.pods: dict[str, dict[str, Any]] = {}
        self.group: dict[str, Any] | None = None
        self.memory = Memory()
        self.now = NOW
        self.notes: list[Note] = []
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.companions = False
        self.job_deleted = False
        self.wake: Instant | None = None
        self.healed: list[Healed] = []
        self.disturbed = 0
        self.admitted: Amounts | None = None
        self._serial = 0

    def view(self) -> JobView:
        """What a step sees."""
        group = None if self.group is None else msgspec.convert(self.group, PodGroup)
        pods = tuple(msgspec.convert(self.pods[name], Pod) for name in sorted(self.pods))
        whole = msgspec.convert(self.job, RunJob)
        return JobView(
            job=whole, pods=pods, group=group, memory=self.memory, admitted=self.admitted
        )

    def settle(self) -> "Town":
        """Step until nothing changes; deleted pods go at once."""
        for _ in range(20):
            outcome = step(self.view(), self.now)
            self.memory = outcome.memory
            self.wake = outcome.wake
            if not self._carry_out(outcome):
                return self
        raise AssertionError("the Job never comes to rest")

    def _carry_out(self, outcome: JobOutcome) -> bool:
        self.notes += outcome.notes
        self.healed += outcome.healed
        self.disturbed += outcome.disturbed
        if outcome.status is not None:
            self.job["status"] = msgspec.to_builtins(outcome.status)
        for pod in outcome.deletes:
            self.deleted.append(pod.metadata.name)
            self.remove(pod.metadata.name)
        if outcome.companions is not None:
            self.companions = outcome.companions
        if outcome.delete_group:
            self.group = None
        if outcome.create_group is not None:
            self.group = outcome.create_group
        for part, patch in (("spec", outcome.group_spec), ("status", outcome.group_status)):
            if patch is not None and self.group is not None:
                self.group[part] = merge_patch(self.group.get(part, {}), patch)
        for body in outcome.creates:
            self.created.append(body["metadata"]["name"])
            self._serial += 1
            body["metadata"] |= {
                "uid": f"pod-{self._serial}",
                "creationTimestamp": format_instant(self.now),
            }
            self.pods[body["metadata"]["name"]] = body | {"status": {"phase": "Pending"}}
        self.job_deleted = self.job_deleted or outcome.delete_job
        acts = (outcome.status, outcome.deletes, outcome.creates, outcome.create_group)
        more = (outcome.group_spec, outcome.group_status, outcome.delete_group)
        return any(acts) or any(more)

    def remove(self, name: str) -> None:
        """The pod is gone; the controller learns it from its watch."""
        gone = self.pods.pop(name)
        self.memory = self.memory.lose(msgspec.convert(gone, Pod))

    def run(self, *pod_names: str) -> "Town":
        """These pods run and are ready; all when none is named."""
        for name in pod_names or tuple(self.pods):
            self.pods[name]["status"] = {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
            }
        return self.settle()

    def end(self, *pod_names: str, code: int = 0) -> "Town":
        """These pods end with an exit code; all when none is named."""
        for name in pod_names or tuple(self.pods):
            self._end(name, code)
        return self.settle()

    def _end(self, name: str, code: int) -> None:
        state = {"terminated": {"exitCode": code, "finishedAt": format_instant(self.now)}}
        self.pods[name]["status"] = {
            "phase": "Failed" if code else "Succeeded",
            "containerStatuses": [{"name": "c", "state": state}],
        }

    def refuse(self, name: str, reason: str = "OutOfcpu") -> "Town":
        """The node of this pod turns it away."""
        self.pods[name]["status"] = {"phase": "Failed", "reason": reason}
        return self.settle()

    def evict(self, *pod_names: str) -> "Town":
        """Another client deletes these pods, and they are gone."""
        for name in pod_names:
            self.remove(name)
        return self.settle()

    def wait(self, seconds: float) -> "Town":
        """Time passes."""
        self.now = Instant(self.now + round(seconds * SECOND))
        return self.settle()

    def edit(self, **spec: Any) -> "Town":
        """The user edits the spec."""
        self.job["spec"] |= spec
        self.job["metadata"]["generation"] += 1
        return self.settle()

    # --- what a test asks ---------------------------------------------------------------

    @property
    def status(self) -> dict[str, Any]:
        """The Job's status."""
        found: dict[str, Any] = self.job.get("status", {})
        return found

    @property
    def phase(self) -> str:
        """The Job's phase."""
        return str(self.status["state"]["phase"])

    @property
    def history(self) -> list[str]:
        """The phases so far."""
        return [entry["status"] for entry in self.status["conditions"]]

    def retries(self) -> int:
        """How often it was restarted."""
        return int(self.status.get("retryCount", 0))

    def labels(self, name: str) -> dict[str, str]:
        """A pod's labels."""
        found: dict[str, str] = self.pods[name]["metadata"]["labels"]
        return found

    def versions(self) -> set[str]:
        """The Job versions of its pods."""
        key = names.JOB_VERSION
        return {pod["metadata"]["annotations"][key] for pod in self.pods.values()}


__all__ = ["NOW", "Town", "difference", "job", "job_json", "policy", "task", "template"]
