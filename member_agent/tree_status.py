"""The condition TreeValid on HyperNodes that are not part of the tree, and on those that are again.

Sound HyperNodes get no condition: a large tree costs no writes. The report names the same problems.
"""

import asyncio
from typing import Final

from global_sched.shared.api.base import Condition, condition
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.api.resource import HYPER_NODES
from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.printable import printable
from global_sched.shared.telemetry.logs import get_logger
from member_agent.cache import ClusterCache

PAUSE: Final = 5.0
"""Seconds in which changes of the tree are collected."""
AT_ONCE: Final = 20
"""Conditions written per pause, at most: a tree that is bad throughout is no flood."""
MESSAGE_LIMIT: Final = 1000
"""Characters of a message."""

log = get_logger(__name__)


class TreeStatus:
    """Keeps the condition of bad HyperNodes true to the tree."""

    def __init__(self, client: Client, *, cache: ClusterCache, clock: Clock) -> None:
        self._client = client
        self._cache = cache
        self._clock = clock
        self._wake = asyncio.Event()

    def poke(self) -> None:
        """Something changed."""
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            self._wake.clear()
            due = self._due()
            written = [await self._write(*one) for one in due[:AT_ONCE]]
            if len(due) <= AT_ONCE and all(written):
                await self._wake.wait()
            await self._clock.sleep(PAUSE)

    def _due(self) -> list[tuple[HyperNode, str]]:
        """HyperNodes whose condition differs from the tree, with what it should say."""
        problems = self._cache.tree().problems
        due: list[tuple[HyperNode, str]] = []
        for name, hyper_node in sorted(self._cache.hyper_nodes.items()):
            now = condition(hyper_node.status.conditions, ConditionType.TREE_VALID)
            message = printable(problems.get(name, ""))[:MESSAGE_LIMIT]
            if message and (now is None or now.status != "False" or now.message != message):
                due.append((hyper_node, message))
            elif not message and now is not None and now.status == "False":
                due.append((hyper_node, ""))
        return due

    async def _write(self, hyper_node: HyperNode, message: str) -> bool:
        """Whether it stands there now; what does not is tried again after the pause."""
        kind = ConditionType.TREE_VALID
        others = [c for c in hyper_node.status.conditions or () if c.type != kind]
        own = Condition(
            type=kind,
            status="False" if message else "True",
            reason="NotInTree" if message else "InTree",
            message=message,
            last_transition_time=format_instant(self._clock.now()),
            observed_generation=hyper_node.metadata.generation or None,
        )
        patch = {
            "metadata": {"resourceVersion": hyper_node.metadata.resource_version},
            "status": {"conditions": [*others, own]},
        }
        try:
            stored = await self._client.patch(
                HYPER_NODES,
                hyper_node.metadata.name,
                patch,
                subresource="status",
                type=HyperNode,
            )
        except ApiError as error:
            log.info("tree_condition_not_written", name=error.name, error=str(error))
            return False
        self._cache.upsert_hyper_node(stored)
        return True
