"""A federation in memory: cycles, and the plan's writes applied to the objects.

The objects go through the cache like those of a real control plane, and the plan through the
patches that dispatch would send; only the bytes do not travel.
"""

from typing import Final

from global_sched.core import run_cycle
from global_sched.dispatch.patches import (
    admission_patch,
    claiming_patch,
    generation_status,
    left_patch,
    withdrawal_patch,
)
from global_sched.scenario.in_memory_control_plane import InMemoryControlPlane
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.world import ScenarioError
from global_sched.shared.kinds import kind_of
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.plan import Admission, Plan
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload

_CYCLES: Final = 50
"""A world that has not settled after so many cycles never will."""


class Simulator(InMemoryControlPlane):
    """A world at one instant that decides: a scenario's own, or a live one to try something on."""

    # --- what happens ---------------------------------------------------------------------

    def settle(self) -> Plan:
        """Cycle until nothing is left to decide; the last plan has every outcome.

        Raises:  ScenarioError when it never ends: a decision that flaps is a bug.
        """
        for _ in range(_CYCLES):
            self.report()
            plan = run_cycle(self.snapshot(), self.policy, self.now)
            self.unproven.update(plan.unproven)
            if plan.empty():
                self.remember()
                return plan
            self.execute(plan)
        raise ScenarioError(f"the world has not settled after {_CYCLES} cycles")

    def snapshot(self) -> Snapshot:
        """What the next cycle decides on."""
        return self.state.snapshot()

    def report(self) -> None:
        """Every agent reports: what is admitted is bound, what was withdrawn is gone."""
        self.state.settle()
        for one in self.state.workloads():
            if one.left:
                gone = {left.cluster for left in one.left}
                tasks = self._objects[one.key]["spec"].get("gracefulEvictionTasks") or []
                self._patch(one.key, left_patch("", tasks, one.decision, gone))
        workloads = [one for one in self.state.workloads() if one.admitted()]
        keys = {
            key
            for one in self.state.workloads()
            if one.demand.gang is not None
            for pod_set in one.demand.gang.pod_sets
            for key in pod_set.shape.label_keys()
        }
        for name, member in self.members.items():
            found = member.report(workloads, keys, self.now)
            if found is not None:
                self.state.accept_report(ClusterName(name), found)

    def execute(self, plan: Plan) -> None:
        """Apply the plan's writes to the objects."""
        for admission in plan.admissions:
            workload = self._workload(admission.workload)
            self._note_loss(admission)
            body = admission_patch(admission, workload.placement_json)
            self._patch(admission.workload, body)
            self._confirm(admission.workload, affinity=admission.affinity)
        for withdrawal in plan.withdrawals:
            self.evicted.setdefault(withdrawal.workload, withdrawal.reason)
            self._patch(withdrawal.workload, withdrawal_patch(withdrawal, []))
        for claiming in plan.claims:
            self._patch(claiming.workload, claiming_patch(claiming))
        for confirmation in plan.confirmations:
            if confirmation.scheduled_now:
                self._confirm(confirmation.workload, affinity=None)
            else:
                self._patch(confirmation.workload, generation_status("", confirmation.generation))

    def _note_loss(self, admission: Admission) -> None:
        """Remember what an admission takes away from a job that runs."""
        before = self._workload(admission.workload)
        old = before.decision.grants if before.decision is not None and before.targets else ()
        kept = {grant.cluster: grant.amounts.pods() for grant in admission.decision.grants}
        if any(grant.cluster not in kept for grant in old):
            self.evicted.setdefault(admission.workload, "Moved")
        lost = sum(max(0, one.amounts.pods() - kept.get(one.cluster, 0)) for one in old)
        if lost and admission.workload not in self.evicted:
            self.shrunk[admission.workload] = self.shrunk.get(admission.workload, 0) + lost

    def take_out(self, name: str, cluster: str) -> None:
        """Karmada takes a job out of a cluster: its old copy is there until the task ends."""
        key = self.key(name)
        spec = self._objects[key]["spec"]
        there = spec.get("clusters") or []
        if cluster not in {target["name"] for target in there}:
            raise ScenarioError(f"takeOut: {name} is not in cluster {cluster}")
        task = {"fromCluster": cluster, "purgeMode": "Gracefully", "producer": "TaintManager"}
        left = [target for target in there if target["name"] != cluster] or None
        tasks = [*(spec.get("gracefulEvictionTasks") or []), task]
        self._patch(key, {"spec": {"clusters": left, "gracefulEvictionTasks": tasks}})

    def end_tasks(self, cluster: str) -> None:
        """The cluster is back: copies that jobs still had there are deleted."""
        for key, binding in list(self._objects.items()):
            tasks = binding["spec"].get("gracefulEvictionTasks") or []
            rest = [task for task in tasks if task["fromCluster"] != cluster]
            if len(rest) < len(tasks):
                self._patch(key, {"spec": {"gracefulEvictionTasks": rest or None}})

    def kill(self, name: str, pods: int) -> None:
        """So many pods of a job are deleted where they run."""
        workload = self.workload(name)
        killed = 0
        for member in self.members.values():
            killed += member.kill(workload.binding_id, pods - killed)
        if killed < pods:
            raise ScenarioError(f"killPods: {name} has {killed} pods that run, not {pods}")

    def lies(self, workload: Workload) -> PodLocations:
        """Where the pods of a job lie, in the first of its clusters, and how many wait."""
        for target in workload.targets:
            if target.cluster in self.members:
                return self.members[target.cluster].lies(workload)
        gang = workload.demand.gang
        return PodLocations(
            waiting=gang.pods() if gang is not None and not workload.finished else 0
        )

    def begin_step(self) -> None:
        """What is lost counts from now on, and where every pod lies now is "before"."""
        jobs = [one for one in self.state.workloads() if one.admitted()]
        self.domains = {one.key: self.lies(one).around() for one in jobs}
        self.evicted.clear()
        self.shrunk.clear()

    def finish(self, name: str, *, well: bool = True) -> None:
        """The job completes in its cluster, or fails there."""
        key = self.key(name)
        binding = self._objects[key]
        resource = binding["spec"]["resource"]
        kind = kind_of(resource["apiVersion"], resource["kind"])
        status = None if kind is None else kind.completed if well else kind.failed
        if status is None:
            raise ScenarioError(f"a {resource['kind']} such as {name} never ends")
        items = [
            {"clusterName": target["name"], "applied": True, "status": status}
            for target in binding["spec"].get("clusters") or []
        ]
        if not items:
            raise ScenarioError(f"{name} cannot end: it does not run")
        self._patch(key, {"status": {"aggregatedStatus": items}})
