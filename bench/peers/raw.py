"""W: what a bare asyncio loop reaches that only writes spec and status of bindings.

The bodies are those with which global-sched has just committed the same bindings.
"""

import os
import time
from typing import Any, Final

from bench.peers.audit import Tail, by, span
from bench.peers.bindings import AT_ONCE, SPACE, Obj, binding, in_parallel, stored
from bench.peers.processes import reading, used
from bench.peers.site import USER, Site
from bench.peers.throughput import Burst
from global_sched.dispatch.patches import success_status
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import APPLIED_PLACEMENT, DECISION
from global_sched.shared.clock import SystemClock
from tools.local_karmada.servers import CONTROL_PLANE

NAME: Final = "bare loop (W)"


def bodies_of(done: Obj) -> tuple[dict[str, str], list[Any]]:
    """The annotations and the clusters that a commit writes."""
    marks = done["metadata"]["annotations"]
    return {key: marks[key] for key in (APPLIED_PLACEMENT, DECISION)}, done["spec"]["clusters"]


async def bound(site: Site, templates: list[Obj], done: Obj) -> Burst:
    """The same bindings, written by this loop alone."""
    marks, clusters = bodies_of(done)
    clock = SystemClock()
    client = site.bare

    async def commit(item: Obj) -> None:
        meta = item["metadata"]
        body = {
            "metadata": {"resourceVersion": meta["resourceVersion"], "annotations": marks},
            "spec": {"clusters": clusters},
        }
        written = await client.patch(kinds.RESOURCE_BINDINGS, meta["name"], body, namespace=SPACE)
        status = success_status(
            written["metadata"]["resourceVersion"],
            (),
            generation=written["metadata"]["generation"],
            now=clock.now(),
            affinity=None,
        )
        await client.patch(
            kinds.RESOURCE_BINDINGS, meta["name"], status, namespace=SPACE, subresource="status",
        )  # fmt: skip

    async with stored(site.admin, [binding(one, "nobody") for one in templates]):
        items = (await site.admin.list(kinds.RESOURCE_BINDINGS, namespace=SPACE)).items
        before, tail = site.look(), Tail(site.federation.audit(CONTROL_PLANE))
        start = time.process_time()
        await in_parallel(items, commit, at_once=AT_ONCE)
        spent = time.process_time() - start
        cpu = used(before, site.look())
    writes = by(tail.read(), {USER})
    return Burst(
        system=NAME,
        asked=len(items),
        done=len(items),
        seconds=span(writes),
        binding_writes=len(writes),
        others={},
        cpu=cpu,
        cpu_per_binding_ms=1000 * spent / len(items),
        rss_mb=reading(os.getpid()).rss_mb,
        example={},
    )
