"""All controllers together."""

import asyncio
from collections.abc import Mapping

from global_sched.embedded.karmada.applier import Applier
from global_sched.embedded.karmada.binding_status import BindingStatusController
from global_sched.embedded.karmada.clusters import ClusterController
from global_sched.embedded.karmada.context import ControllerContext, KarmadaOptions
from global_sched.embedded.karmada.detector import Detector
from global_sched.embedded.karmada.dispatcher import Dispatcher
from global_sched.embedded.karmada.distributor import DependencyDistributor
from global_sched.embedded.karmada.eviction import EvictionController, TaintManager
from global_sched.embedded.karmada.execution import ExecutionController, is_ready
from global_sched.embedded.karmada.loop import Runnable
from global_sched.embedded.karmada.namespaces import NamespaceController
from global_sched.embedded.karmada.policies import PolicyController
from global_sched.embedded.karmada.rebalancer import RebalancerController
from global_sched.embedded.karmada.work_status import WorkStatusController
from global_sched.propagation.fields import Obj, name_of
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client

__all__ = ["Karmada", "KarmadaOptions"]


class Karmada:
    """Karmada's controllers for one control plane and its members.

    A member is registered when a Cluster object of its name exists; its client is what the real
    one would make from the Cluster's secret. The control plane must serve Karmada's kinds
    (`shared.api.schema.crds`).
    """

    def __init__(
        self,
        control: Client,
        members: Mapping[str, Client],
        *,
        clock: Clock,
        options: KarmadaOptions | None = None,
    ) -> None:
        context = ControllerContext(
            control, members, clock=clock, options=options or KarmadaOptions()
        )
        applier = Applier(context)
        detector = Detector(context)
        self._context = context
        self._registered = asyncio.Event()
        context.clusters.listen(self._cluster_changed)
        self._clusters = ClusterController(context)
        self._loops: list[Runnable] = [
            detector.loop,
            PolicyController(context, detector).loop,
            Dispatcher(context).loop,
            NamespaceController(context).loop,
            ExecutionController(context, applier).loop,
            WorkStatusController(context, applier).loop,
            BindingStatusController(context).loop,
            DependencyDistributor(context).loop,
            EvictionController(context).loop,
            TaintManager(context).loop,
            RebalancerController(context).loop,
            self._clusters.loop,
        ]

    async def run(self) -> None:
        """Reconcile until cancelled."""
        async with asyncio.TaskGroup() as group:
            self._context.start(group.create_task)
            self._clusters.start()
            # On half of what there is, everything looks orphaned.
            await self._context.control.synced()
            for loop in self._loops:
                group.create_task(loop.run())

    async def registered(self) -> None:
        """Until every member that there is a client for is a Ready cluster."""
        await self._registered.wait()

    def _cluster_changed(self, _old: Obj | None, _new: Obj | None) -> None:
        known = {name_of(one) for one in self._context.clusters.all() if is_ready(one)}
        if known >= set(self._context.members):
            self._registered.set()

    def failures(self) -> int:
        """How often reconciling failed for a reason that is no ordinary wait."""
        return sum(loop.failures for loop in self._loops)
