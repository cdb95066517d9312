"""ReplicaSet → pods."""

from global_sched.embedded.members.cluster import active, node_of, ready, template_pod
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj, generation_of, get, name_of
from global_sched.shared.api.resource import PODS, REPLICA_SETS


class ReplicaSets(WorkloadController):
    """As many active pods as replicas; failed ones are replaced and left for their logs."""

    resource = REPLICA_SETS
    owns = (PODS,)

    async def sync(self, obj: Obj) -> float | None:
        """Create or delete pods, then count."""
        pods = self.cluster.owned(PODS, obj)
        working = [pod for pod in pods if active(pod)]
        wanted = int(get(obj, "spec", "replicas") or 0)
        for _ in range(wanted - len(working)):
            made = await self.cluster.create(PODS, self._pod(obj), owner=obj)
            if made is not None:
                working.append(made)
        for pod in sorted(working, key=_worth)[: max(0, len(working) - wanted)]:
            await self.cluster.delete(PODS, pod)
            working.remove(pod)
        await self.cluster.write_status(REPLICA_SETS, obj, self._status(obj, working, pods))
        return None

    @staticmethod
    def _pod(owner: Obj) -> Obj:
        prefix = f"{name_of(owner)}-"
        return template_pod(owner["spec"]["template"], owner=owner, generateName=prefix)

    @staticmethod
    def _status(obj: Obj, working: list[Obj], pods: list[Obj]) -> Obj:
        labels = (get(obj, "spec", "template", "metadata", "labels") or {}).items()
        labelled = sum(labels <= (get(pod, "metadata", "labels") or {}).items() for pod in working)
        good = sum(ready(pod) for pod in working)
        going = sum(get(pod, "metadata", "deletionTimestamp") is not None for pod in pods)
        counts = {
            "availableReplicas": good,
            "fullyLabeledReplicas": labelled,
            "readyReplicas": good,
        }
        return {key: n for key, n in counts.items() if n} | {
            "observedGeneration": generation_of(obj),
            "replicas": len(working),
            "terminatingReplicas": going,
        }


def _worth(pod: Obj) -> tuple[bool, bool, bool, str]:
    """Least worth first: without a node, pending, not ready, newest."""
    created = str(get(pod, "metadata", "creationTimestamp"))
    newest = "".join(chr(255 - ord(char)) for char in created)
    return bool(node_of(pod)), get(pod, "status", "phase") == "Running", ready(pod), newest
