"""Measurements as figures against their targets; every ratio is within one run."""

from collections.abc import Iterator
from typing import Final

from bench.harness import Figure, at_least, at_most, percentile, shown
from bench.peers.cases import Answer
from bench.peers.gangs import AGENT, BARE, BARE_IN_TURN, IN_TURN, PODS, Gangs
from bench.peers.run import Found
from bench.peers.throughput import Burst

RATES: Final = "peers: rate"
LONE: Final = "peers: lone"
GANGS: Final = "peers: gangs"
PLACES: Final = "peers: placement"
PROCESSES: Final = "peers: processes"
VOLCANO_SEEN: Final = 49.0
"""Pods per second that Volcano reached elsewhere on two cores; for where it cannot be run."""
_SHOWN_CPU: Final = ("control-plane/kube-apiserver", "etcd", "karmada-webhook")


def figures(found: Found) -> list[Figure]:
    """One table."""
    rows = [*_rates(found), *_writes(found), *_cpu(found), *_lone(found)]
    return [*rows, *_gangs(found), *_placements(found.answers), *_processes(found)]


def bound_of(found: Found) -> float:
    """W: the better of the bare loop's runs."""
    return max(one.rate for one in found.bare)


def _rates(found: Found) -> Iterator[Figure]:
    w, ours = bound_of(found), found.ours.rate
    runs = "; ".join(f"{one.rate:.1f}" for one in found.bare)
    note = f"64 in flight, the same bodies; {len(found.bare)} runs: {runs}"
    yield shown(RATES, "bare loop, spec and status: W", w, "bindings/s", note)
    bursts = (found.ours, found.ours_lifted, found.peer, found.peer_lifted)
    for one in (*bursts, *found.volcano_global):
        yield shown(RATES, one.system, one.rate, "bindings/s", _how(one))
    if not found.volcano_global:
        yield shown(RATES, "volcano-global", None, "bindings/s", "skipped: not on this machine")
    yield at_least(RATES, "global-sched ÷ W", ours / w, "×", 0.8)
    for peer, least in ((found.peer_lifted, 4), (found.peer, 10)):
        if peer.rate:
            title, note = f"global-sched ÷ {peer.system}", f"W itself: {w / peer.rate:.2f} ×"
            yield at_least(RATES, title, ours / peer.rate, "×", least, note)


def _how(one: Burst) -> str:
    whole = f"{one.done} of {one.asked} committed in {one.seconds:.1f} s, first write to last"
    servers = ", ".join(
        f"{name.rpartition('/')[2]} {1000 * one.cpu.get(name, 0) / max(1, one.done):.1f}"
        for name in _SHOWN_CPU
    )
    return f"{whole}; CPU ms per binding: {servers}"


def _writes(found: Found) -> Iterator[Figure]:
    ours, peer = found.ours, found.peer_lifted
    beside = ", ".join(f"{count} {what}" for what, count in sorted(ours.others.items())) or "none"
    title = "global-sched: writes of bindings per binding"
    note = f"audit log; beside them: {beside}"
    yield at_most(RATES, title, ours.writes_each, "writes", 2, note)
    beside = ", ".join(f"{count} {what}" for what, count in sorted(peer.others.items())) or "none"
    title = "karmada-scheduler: writes of bindings per binding"
    yield shown(RATES, title, peer.writes_each, "writes", f"beside them: {beside}")


def _cpu(found: Found) -> Iterator[Figure]:
    note = "user and system time of the process from its start, /proc"
    for one in (*found.bare, found.ours, found.ours_lifted, found.peer, found.peer_lifted):
        title = f"CPU per binding, {one.system}"
        yield shown(RATES, title, one.cpu_per_binding_ms, "ms", note)
    agents = sum(spent for name, spent in found.ours.cpu.items() if name.startswith("member-"))
    share = found.ours.cpu_per_binding_ms / max(found.peer_lifted.cpu_per_binding_ms, 1e-9)
    note = (
        f"global-sched alone; its three agents used {agents:.1f} s beside it, their start with it"
    )
    title = "CPU per binding, global-sched ÷ karmada-scheduler"
    yield at_most(RATES, title, share, "×", 0.2, note)


def _lone(found: Found) -> Iterator[Figure]:
    peers = found.lone_peer
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        peer = percentile(peers, share)
        yield shown(LONE, f"karmada-scheduler, limits lifted: {name}", peer, "ms")
        note = f"{len(found.lone_ours)} tries; created to placed, both as one watcher sees them"
        mine = percentile(found.lone_ours, share)
        yield at_most(LONE, f"global-sched: {name}", mine, "ms", round(peer, 2), note)


def _gangs(found: Found) -> Iterator[Figure]:
    by_name = {one.system: one for one in found.gangs}
    ours, bare, in_turn = (by_name[one] for one in ("member-agent", BARE, BARE_IN_TURN))
    volcano = by_name.get("volcano")
    title = f"{found.ask.jobs} Jobs × {PODS} pods, "
    for one in (bare, in_turn):
        yield shown(GANGS, title + one.system, one.rate, "pods/s", _wrote(one))
    if volcano is None:
        least = f"Volcano was skipped ({found.volcano_missing}); 43-49 were seen on two cores"
        most = VOLCANO_SEEN
    else:
        least, most = "Volcano in this run", volcano.rate
        yield shown(GANGS, title + "Volcano", volcano.rate, "pods/s", _wrote(volcano))
    note = f"{_wrote(ours)}; {least}"
    yield at_least(GANGS, title + "member-agent", ours.rate, "pods/s", round(most, 1), note)
    ratio = ours.rate / bare.rate if bare.rate else 0.0
    spent = ours.cpu.get(AGENT, 0.0)
    note = f"the agent's own CPU: {spent:.1f} s, {1000 * spent / max(1, ours.bound):.1f} ms per pod"
    yield at_least(GANGS, "member-agent ÷ bare loop", ratio, "×", 0.8, note)
    ratio = ours.rate / in_turn.rate if in_turn.rate else 0.0
    yield shown(
        GANGS, f"member-agent ÷ {BARE_IN_TURN}", ratio, "×", f"{IN_TURN} Jobs at once, as the agent"
    )
    yield at_most(GANGS, "Jobs outside one rack (hard tier 1)", ours.apart, "Jobs", 0)


def _wrote(one: Gangs) -> str:
    parts = ", ".join(f"{count} {what}" for what, count in sorted(one.writes.items()))
    return f"{one.bound} of {one.pods} pods bound in {one.seconds:.2f} s; all writes: {parts}"


def _placements(answers: list[Answer]) -> Iterator[Figure]:
    asked: dict[str, list[Answer]] = {}
    for one in answers:
        asked.setdefault(one.case.name, []).append(one)
    for name, both in asked.items():
        mine = next(one for one in both if one.system == "global-sched")
        said = "; ".join(f"{one.system}: {_said(one)}" for one in both)
        yield at_least(PLACES, name, float(mine.right), "right", 1, said)


def _said(one: Answer) -> str:
    where = " and ".join(cluster or "waits" for cluster in one.clusters) or "no binding"
    right = "right" if one.right else "wrong"
    return f"{where} ({right})" + (f", “{one.reason}”" if one.reason else "")


def _processes(found: Found) -> Iterator[Figure]:
    for name, one in sorted(found.processes.items()):
        note = f"{one.cpu_seconds:.1f} CPU seconds since its last start"
        yield shown(PROCESSES, f"RSS, {name}", one.rss_mb, "MB", note)
