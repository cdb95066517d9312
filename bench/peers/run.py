"""The whole run, in the order in which the systems are least in each other's way."""

import platform
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from bench.peers.bindings import deployments
from bench.peers.cases import Answer, answers
from bench.peers.gangs import Gangs, measure
from bench.peers.lone import latencies
from bench.peers.processes import Reading
from bench.peers.raw import bound
from bench.peers.site import (
    MANAGER,
    OURS,
    OURS_LIFTED,
    PEER,
    PEER_LIFTED,
    Site,
    with_volcano_global,
)
from bench.peers.throughput import Burst, burst
from tools.local_karmada import tools, volcano
from tools.local_karmada.errors import LocalError
from tools.local_karmada.federation import Federation

_MENTIONED = 0.1
"""CPU seconds from which a process is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What to measure: how many bindings, lone bindings and Jobs, on which Karmada."""

    bindings: int = 2000
    lone: int = 300
    jobs: int = 50
    karmada: str = tools.KARMADA_VERSIONS[0]
    state: Path = Path()


@dataclass(slots=True, kw_only=True)
class Found:
    """What was measured."""

    ask: Ask
    versions: dict[str, str]
    bare: list[Burst] = field(default_factory=list)
    ours: Burst
    ours_lifted: Burst
    peer: Burst
    peer_lifted: Burst
    volcano_global: list[Burst] = field(default_factory=list)
    lone_ours: list[float] = field(default_factory=list)
    lone_peer: list[float] = field(default_factory=list)
    gangs: list[Gangs] = field(default_factory=list)
    volcano_missing: str = ""
    answers: list[Answer] = field(default_factory=list)
    processes: dict[str, Reading] = field(default_factory=dict)


async def measured(ask: Ask, say: Callable[[str], None]) -> Found:
    """Start the federation, measure everything, end the federation whatever happens."""
    site = Site(Federation(ask.state, say=say))
    try:
        await site.up(ask.karmada)
        return await _all(site, ask, say)
    finally:
        await site.close()


async def gangs_alone(ask: Ask, times: int, say: Callable[[str], None]) -> None:
    """The gangs and nothing else, several times on one federation; each time in a line."""
    site = Site(Federation(ask.state, say=say))
    try:
        await site.up(ask.karmada)
        await site.federation.stop(MANAGER)
        for _ in range(times):
            found, _missing = await measure(site, ask.jobs)
            ours, bare, in_turn = found[-3:]
            say(
                f"{ours.rate:.1f} of {bare.rate:.1f} pods/s: {ours.rate / bare.rate:.3f} (of "
                f"{in_turn.rate:.1f}, Jobs in turn: {ours.rate / in_turn.rate:.3f}); "
                f"{sum(ours.writes.values())} and {sum(bare.writes.values())} writes"
            )
            for one in (ours, bare, in_turn):
                spent = {name: cpu for name, cpu in one.cpu.items() if cpu >= _MENTIONED}
                say(f"  CPU seconds, {one.system}: {spent}")
    finally:
        await site.close()


async def _all(site: Site, ask: Ask, say: Callable[[str], None]) -> Found:
    say("placements: global-sched and karmada-scheduler …")
    decided = await answers(site)
    site.look()
    await site.federation.stop(MANAGER)
    say(f"{ask.bindings} Deployments …")
    templates = await deployments(site.admin, ask.bindings)
    done: list[Burst] = []
    for system in (OURS, OURS_LIFTED, PEER_LIFTED, PEER, *with_volcano_global()):
        say(f"{ask.bindings} bindings: {system.name} …")
        one = await burst(site, system, templates)
        say(f"  {one.done} committed in {one.seconds:.1f} s: {one.rate:.1f} bindings/s")
        done.append(one)
        if system in {OURS, OURS_LIFTED}:
            say(f"{ask.bindings} bindings: a bare loop …")
            if not one.example:
                raise LocalError(f"{system.name} committed no binding: see its log")
            done.append(await bound(site, templates, one.example))
            say(f"  {done[-1].rate:.1f} bindings/s")
    say(f"{ask.lone} lone bindings …")
    lone = [await latencies(site, one, templates[: ask.lone + 1]) for one in (OURS, PEER_LIFTED)]
    say(f"{ask.jobs} Volcano Jobs of 8 pods through one member …")
    gangs, missing = await measure(site, ask.jobs)
    ours, bare, lifted, again, peer_lifted, peer, *others = done
    return Found(
        ask=ask,
        versions=versions(ask.karmada),
        bare=[bare, again],
        ours=ours,
        ours_lifted=lifted,
        peer=peer,
        peer_lifted=peer_lifted,
        volcano_global=others,
        lone_ours=lone[0],
        lone_peer=lone[1],
        gangs=gangs,
        volcano_missing=missing,
        answers=decided,
        processes=site.peaks,
    )


def versions(karmada: str) -> dict[str, str]:
    """What was run."""
    found = {one.name: one.version for one in tools.upstreams(karmada) if one.name != "helm"}
    beside = ", ".join(sorted(volcano.find().programs)) or "not found"
    own = {"global-sched": version("global-sched"), "Python": platform.python_version()}
    return own | found | {"Volcano": beside}
