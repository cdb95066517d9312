"""Gangs that were admitted some time ago, and one cycle over them."""

from dataclasses import replace

from global_sched.core import run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Progress
from tests.builders import NOW, POLICY, cluster, decision, grant, snapshot, workload

C1, C2 = cluster("c1", nodes=2, gpus=8), cluster("c2", nodes=2, gpus=8)
BROKEN = Verdict(code=Code.NEVER, reason=Reason.INVALID_SPEC, detail="replicas: -1")

PAUSED = Verdict(code=Code.WAIT, reason=Reason.SUSPENDED, detail="replicas add up to 0")


def late(
    name="j",
    *,
    ago=121,
    on="c1",
    reason="",
    reached=False,
    bound=0,
    backoffs=(),
    domain="rack-0",
    **fields,
):
    """A gang of two pods that was admitted so long ago and of which so many pods are bound."""
    one = workload(name, pods=2, gpus=1, on=on, **fields)
    clusters = [on] if isinstance(on, str) else on
    made = decision(
        *(grant(c, Amounts.of({"main": 2}), replicas=2, domain=domain) for c in clusters),
        name=name,
        ago=ago,
        backoffs=backoffs,
    )
    progress = tuple(
        Progress(
            cluster=c,
            bound=Amounts.of({"main": bound}),
            minimum_reached=reached,
            decision=made.id,
            reason=reason,
        )
        for c in clusters
    )
    return replace(one, decision=made, progress=progress)


def cycle(*running, clusters=(C1, C2), policy=POLICY, **world):
    return run_cycle(snapshot(clusters, running=running, **world), policy, NOW)
