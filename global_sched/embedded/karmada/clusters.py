"""The cluster controllers: registration, health, what a member has, and its taints."""

from contextlib import suppress
from functools import partial
from typing import Any, Final

import msgspec

from global_sched.embedded.karmada.cluster_content import (
    default_resource_models,
    node_summary,
    resource_summary,
    with_health_taints,
)
from global_sched.embedded.karmada.context import ControllerContext
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.embedded.karmada.server_view import ServerView
from global_sched.propagation.fields import (
    Obj,
    deleting,
    get,
    merge_difference,
    name_of,
    set_condition,
    version_of,
)
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import CLUSTERS, NAMESPACES, NODES, PODS
from global_sched.shared.kube.errors import AlreadyExists, ApiError, NotFound, Unreachable
from global_sched.shared.kube.objects import ObjectKey

FINALIZER: Final = "karmada.io/cluster-controller"
READY: Final = "Ready"
COMPLETE: Final = "CompleteAPIEnablements"


class _Member:
    """What the controller remembers of one member between two looks."""

    def __init__(self, view: ServerView, nodes: Mirror, pods: Mirror) -> None:
        self.view = view
        self.nodes = nodes
        self.pods = pods
        self.shown: bool | None = None
        self.other_since: float | None = None
        self.summary: Obj = {}
        self.stale = True
        for mirror in (nodes, pods):
            mirror.listen(self._changed)

    def _changed(self, _old: Obj | None, _new: Obj | None) -> None:
        self.stale = True


class ClusterController:
    """Reconciles Cluster objects, each at least once a period."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._members: dict[str, _Member] = {}
        self.loop: Loop[str] = Loop("clusters", self.reconcile, clock=context.clock)
        context.clusters.listen(self._cluster_changed)
        for name, view in context.members.items():
            view.changed.append(partial(self.loop.add, name))

    def start(self) -> None:
        """Watch nodes and pods of every member."""
        for name, view in self._context.members.items():
            self._members[name] = _Member(view, view.feed(Mirror(NODES)), view.feed(Mirror(PODS)))

    def _cluster_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            return
        if old is None or old.get("spec") != new.get("spec") or deleting(old) != deleting(new):
            self.loop.add(name_of(new))

    async def reconcile(self, name: str) -> float | None:
        """Register a cluster, or show its state, or let it go."""
        cluster = self._context.clusters.get(ObjectKey("", name))
        if cluster is None:
            return None
        if deleting(cluster):
            return await self._unregister(cluster)
        cluster = await self._register(cluster)
        cluster = await self._show(cluster)
        await self._taint(cluster)
        return self._context.options.status_period

    # --- registration -----------------------------------------------------------------------

    async def _register(self, cluster: Obj) -> Obj:
        name = name_of(cluster)
        finalizers = get(cluster, "metadata", "finalizers") or []
        patch: Obj = {}
        if FINALIZER not in finalizers:
            patch["metadata"] = {"finalizers": [*finalizers, FINALIZER]}
        if get(cluster, "spec", "resourceModels") is None:
            patch["spec"] = {"resourceModels": default_resource_models()}
        if patch:
            cluster = await self._patch(cluster, patch)
        space = execution_namespace(name)
        if self._context.namespaces.get(ObjectKey("", space)) is None:
            body: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            with suppress(AlreadyExists):
                self._context.namespaces.note(await self._context.client.create(NAMESPACES, body))
        return cluster

    async def _unregister(self, cluster: Obj) -> float | None:
        """Its Works go first, then their namespace, then the finalizer."""
        name = name_of(cluster)
        space = execution_namespace(name)
        namespace = self._context.namespaces.get(ObjectKey("", space))
        if namespace is not None:
            if not deleting(namespace):
                with suppress(NotFound):
                    await self._context.client.delete(NAMESPACES, space)
            return 1.0
        finalizers = get(cluster, "metadata", "finalizers") or []
        rest = [one for one in finalizers if one != FINALIZER]
        if rest != finalizers:
            await self._patch(cluster, {"metadata": {"finalizers": rest}})
        return None

    async def _patch(self, cluster: Obj, patch: Obj, *, status: bool = False) -> Obj:
        guarded = patch.get("metadata", {}) | {"resourceVersion": version_of(cluster)}
        done = await self._context.client.patch(
            CLUSTERS,
            name_of(cluster),
            patch | {"metadata": guarded},
            subresource="status" if status else None,
        )
        self._context.clusters.note(done)
        return done

    # --- state ------------------------------------------------------------------------------

    async def _show(self, cluster: Obj) -> Obj:
        member = self._members.get(name_of(cluster))
        old: Obj = get(cluster, "status") or {}
        status = dict(old)
        online, healthy = await self._probe(member)
        ready = self._settled(member, healthy=online and healthy)
        conditions = old.get("conditions")
        if member is not None and ready and online and member.view.discovered.is_set():
            status["kubernetesVersion"] = await self._version(member, old)
            status["apiEnablements"] = member.view.discovery.enablements
            conditions = set_condition(conditions, self._stamped(_complete()))
            if member.nodes.ready and member.pods.ready:
                status["nodeSummary"] = node_summary(member.nodes.all())
                status["resourceSummary"] = self._summary(member, cluster)
        status["conditions"] = set_condition(
            conditions, self._stamped(_ready(ready=ready, online=online))
        )
        patch = merge_difference(old, status)
        return await self._patch(cluster, {"status": patch}, status=True) if patch else cluster

    def _stamped(self, condition: Obj) -> Obj:
        return condition | {"lastTransitionTime": self._context.now()}

    def _summary(self, member: _Member, cluster: Obj) -> Obj:
        if member.stale:
            member.stale = False
            models = get(cluster, "spec", "resourceModels") or []
            member.summary = resource_summary(member.nodes.all(), member.pods.all(), models)
        return member.summary

    async def _version(self, member: _Member, old: Obj) -> str:
        if old.get("kubernetesVersion"):
            return str(old["kubernetesVersion"])
        answer: dict[str, Any] = msgspec.json.decode(
            await member.view.client.raw("GET", "/version")
        )
        return str(answer.get("gitVersion") or "")

    @staticmethod
    async def _probe(member: _Member | None) -> tuple[bool, bool]:
        """Whether the member answers, and whether it says that it is ready."""
        if member is None:
            return False, False
        try:
            await member.view.client.raw("GET", "/readyz")
        except Unreachable:
            return False, False
        except ApiError:
            return True, False
        return True, True

    def _settled(self, member: _Member | None, *, healthy: bool) -> bool:
        """The state to show: a change counts after it has lasted, the first look at once."""
        if member is None:
            return False
        if member.shown is None or member.shown == healthy:
            member.shown, member.other_since = healthy, None
            return healthy
        now = self._context.clock.monotonic()
        if member.other_since is None:
            member.other_since = now
        if now - member.other_since >= self._context.options.health_threshold:
            member.shown, member.other_since = healthy, None
        return member.shown

    async def _taint(self, cluster: Obj) -> None:
        conditions = get(cluster, "status", "conditions") or []
        ready = next((str(one["status"]) for one in conditions if one.get("type") == READY), "")
        old = get(cluster, "spec", "taints") or []
        new = with_health_taints(old, ready, self._context.now())
        if new != old:
            await self._patch(cluster, {"spec": {"taints": new or None}})


def _complete() -> Obj:
    return {
        "type": COMPLETE,
        "status": "True",
        "reason": "Complete",
        "message": "collected complete APIEnablements from the cluster",
    }


def _ready(*, ready: bool, online: bool) -> Obj:
    if ready:
        return {
            "type": READY,
            "status": "True",
            "reason": "ClusterReady",
            "message": "cluster is healthy and ready to accept workloads",
        }
    if online:
        return {
            "type": READY,
            "status": "False",
            "reason": "ClusterNotReady",
            "message": "cluster is reachable but health endpoint responded without ok",
        }
    return {
        "type": READY,
        "status": "False",
        "reason": "ClusterNotReachable",
        "message": "cluster is not reachable",
    }
