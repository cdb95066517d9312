"""From so many pending bindings to all committed, by one system alone."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.peers.audit import Request, Tail, by, counts, span
from bench.peers.bindings import SPACE, Obj, binding, committed, stored
from bench.peers.processes import used
from bench.peers.site import Site, System
from bench.peers.waiting import until
from global_sched.shared.api import resource as kinds
from tools.local_karmada.errors import LocalError
from tools.local_karmada.processes import last_lines
from tools.local_karmada.servers import CONTROL_PLANE

PATIENCE: Final = 260.0
"""Seconds a system may take; one that is slower is rated by what it has done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What one system did.

    cpu: CPU seconds by process, the start of the system's own included. others: writes beside
    those of bindings.
    """

    system: str
    asked: int
    done: int
    seconds: float
    binding_writes: int
    others: dict[str, int]
    cpu: dict[str, float]
    cpu_per_binding_ms: float
    rss_mb: float
    example: Obj
    """One binding as the system has committed it."""

    @property
    def rate(self) -> float:
        """Bindings committed per second, from the first write to the last."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def writes_each(self) -> float:
        """Writes of bindings per binding."""
        return self.binding_writes / self.done if self.done else 0.0


def _of_bindings(requests: list[Request]) -> list[Request]:
    return [
        one
        for one in requests
        if one.object_ref.resource == "resourcebindings" and one.object_ref.namespace == SPACE
    ]


async def burst(site: Site, system: System, templates: list[Obj]) -> Burst:
    """Store the bindings, start the system, wait until all are committed, end it."""
    bodies = [binding(one, system.scheduler, suspended=system.suspended) for one in templates]
    async with stored(site.admin, bodies):
        before, tail = site.look(), Tail(site.federation.audit(CONTROL_PLANE))
        await site.start(system)
        await _until_done(site, system, tail, len(bodies))
        after = site.look()
        if system.program not in after:
            log = Path(site.federation.ledger.log(system.program))
            raise LocalError(f"{system.program} ended by itself: {last_lines(log)}")
        listed = await site.admin.list(kinds.RESOURCE_BINDINGS, namespace=SPACE)
        await site.stop(system)
    writes = by(tail.read(), {system.user})
    mine = _of_bindings(writes)
    done = sum(map(committed, listed.items))
    cpu = used({k: v for k, v in before.items() if k != system.program}, after)
    return Burst(
        system=system.name,
        asked=len(bodies),
        done=done,
        seconds=span(mine),
        binding_writes=len(mine),
        others=dict(counts(writes) - counts(mine)),
        cpu=cpu,
        cpu_per_binding_ms=1000 * cpu[system.program] / max(1, done),
        rss_mb=after[system.program].rss_mb,
        example=next(filter(committed, listed.items), {}),
    )


async def _until_done(site: Site, system: System, tail: Tail, wanted: int) -> None:
    """Until as many statuses were written, and every binding is committed."""
    named: set[str] = set()

    async def done() -> bool:
        mine = _of_bindings(by(tail.fresh(), {system.user}))
        named.update(x.object_ref.name for x in mine if x.object_ref.subresource == "status")
        if len(named) < wanted:
            return False
        listed = await site.admin.list(kinds.RESOURCE_BINDINGS, namespace=SPACE)
        return all(map(committed, listed.items))

    with suppress(LocalError):  # a slow one is rated by what it has done
        await until(done, "all statuses", seconds=PATIENCE, every=0.5)
