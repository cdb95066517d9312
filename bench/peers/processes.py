"""CPU seconds and memory of processes, from /proc."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.local_karmada.ledger import Program

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one process has used so far."""

    cpu_seconds: float
    rss_mb: float


def reading(pid: int) -> Reading:
    """CPU and resident memory of a process; zeros when it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return Reading(cpu_seconds=0.0, rss_mb=0.0)
    rss = next((line for line in status.splitlines() if line.startswith("VmRSS:")), "VmRSS: 0 kB")
    return Reading(
        cpu_seconds=(int(stat[11]) + int(stat[12])) / _TICKS,
        rss_mb=int(rss.split()[1]) * 1024 / 1e6,
    )


def readings(programs: Mapping[str, Program]) -> dict[str, Reading]:
    """Every program that runs, and this process."""
    found = {name: reading(one.pid) for name, one in programs.items() if one.alive}
    return found | {"bench": reading(os.getpid())}


def used(before: Mapping[str, Reading], after: Mapping[str, Reading]) -> dict[str, float]:
    """CPU seconds between two readings; one that was not there before counts from its start."""
    none = Reading(cpu_seconds=0.0, rss_mb=0.0)
    return {
        name: round(one.cpu_seconds - before.get(name, none).cpu_seconds, 3)
        for name, one in after.items()
    }
