"""The acts of one run, drawn from a seed: jobs, edits by third parties, and faults.

A story is a list of acts with their instants. Jobs come and are deleted, third parties edit
objects, programs are killed, paused and cut off, calls fail and watches break. The same seed gives
the same story in every process.
"""

import random
from dataclasses import dataclass, field
from typing import Any, Final

from global_sched.shared.kube.faults import Fault, FaultKind

SECONDS: Final = 300
"""Virtual seconds of a story."""
MEMBERS: Final = ("m1", "m2")
SCHEDULERS: Final = ("global-sched", "global-sched-2")
PROGRAMS: Final = (*SCHEDULERS, *MEMBERS)
CONTROL_PLANE: Final = "control-plane"

_CALLS: Final = (
    FaultKind.CONFLICT,
    FaultKind.THROTTLE,
    FaultKind.ERROR,
    FaultKind.LOST_BEFORE,
    FaultKind.LOST_AFTER,
    FaultKind.TIMEOUT,
    FaultKind.DELAY,
)
_STREAMS: Final = (
    FaultKind.CUT,
    FaultKind.GONE,
    FaultKind.DUPLICATE,
    FaultKind.HALF_OPEN,
    FaultKind.DELAY,
)


@dataclass(frozen=True, slots=True, order=True)
class Act:
    """At an instant of the story (seconds) this is done; `run.py` has a function for each word."""

    at: float
    word: str
    of: str = ""
    more: dict[str, Any] = field(default_factory=dict, compare=False)


def story(seed: int) -> list[Act]:
    """The acts of a seed, in order of time."""
    rng = random.Random(f"story {seed}")
    acts = [*_jobs(rng), *_edits(rng), *_faults(rng)]
    return sorted(acts)


def _jobs(rng: random.Random) -> list[Act]:
    acts = []
    for number in range(rng.randint(5, 9)):
        name, at = f"j{number}", rng.uniform(0, SECONDS * 0.7)
        job = {
            "pods": rng.randint(1, 4),
            "gpus": rng.choice((2, 4, 8, 8)),
            "seconds": rng.randint(3, 90),
            "tier": rng.choice((1, 1, 2, None)),
            "queue": rng.choice(("default", "small", "urgent")),
        }
        acts.append(Act(at, "submit", name, job))
        if rng.random() < 0.25:
            acts.append(Act(at + rng.uniform(1, 60), "delete", name))
    return acts


def _edits(rng: random.Random) -> list[Act]:
    """What people and other programs do to objects."""
    words = ("cordon", "end a pod", "capability", "delete the report", "delete the Directive")
    acts = []
    for _ in range(rng.randint(1, 4)):
        at, word, member = rng.uniform(5, SECONDS - 30), rng.choice(words), rng.choice(MEMBERS)
        more = {"number": rng.randint(0, 99)}
        acts.append(Act(at, word, member, more))
        if word == "cordon":
            acts.append(Act(at + rng.uniform(5, 60), "uncordon", member, more))
    return acts


def _faults(rng: random.Random) -> list[Act]:
    """At least five that programs meet, so that three fire also where some come too late."""
    acts = []
    for _ in range(rng.randint(5, 9)):
        at, program = rng.uniform(3, SECONDS - 60), rng.choice(PROGRAMS)
        match rng.choice(("kill", "kill", "pause", "pause", "split", "calls", "calls", "karmada")):
            case "kill":
                acts.append(Act(at, "kill", program))
                acts.append(Act(at + rng.uniform(0, 25), "start", program))
            case "pause":
                acts.append(Act(at, "pause", program))
                acts.append(Act(at + rng.uniform(2, 45), "resume", program))
            case "split":
                servers = (CONTROL_PLANE,) if program in SCHEDULERS else (CONTROL_PLANE, program)
                server = {"server": rng.choice(servers)}
                acts.append(Act(at, "split", program, server))
                acts.append(Act(at + rng.uniform(2, 60), "join", program, server))
            case "karmada":
                server = {"server": rng.choice(MEMBERS)}
                acts.append(Act(at, "split", "karmada", server))
                acts.append(Act(at + rng.uniform(2, 60), "join", "karmada", server))
            case _:
                acts.append(Act(at, "calls", program, {"faults": tuple(_calls(rng))}))
    return acts


def _calls(rng: random.Random) -> list[Fault]:
    """Some calls that fail, and a watch."""
    found = [
        Fault(
            verb,
            "*",
            kind=rng.choice(_CALLS),
            nth=rng.randint(1, 4),
            times=rng.randint(1, 3),
            seconds=rng.uniform(0.1, 6),
        )
        for verb in rng.sample(("create", "update", "patch", "delete", "list"), 2)
    ]
    stream = Fault(
        "watch",
        "*",
        kind=rng.choice(_STREAMS),
        nth=rng.randint(1, 3),
        events=rng.randint(0, 3),
        seconds=rng.uniform(0.1, 3),
    )
    return [*found, stream]
