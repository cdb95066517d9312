"""The annotation `federation.global-sched.io/recovery`: a job's own rules of recovery.

Strict JSON: an unknown key, a value out of its bounds or a ladder that does not widen refuses the
whole annotation, and the job keeps the defaults. Timers of the ladder stand in the Policy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from global_sched.shared.model.strict_json import (
    LONGEST,
    AnnotationRefusedError,
    Json,
    known_keys,
    read_object,
    seconds_of,
    shown,
)

LOSSES_LIMIT: Final = 10_000
CODES_LIMIT: Final = 32
CARRY_LIMIT: Final = 16
_LABEL: Final = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


class Scope(StrEnum):
    """What a step of the ladder restarts or moves, widest last."""

    POD = "pod"
    PARTITION = "partition"
    TASK = "task"
    SHRINK = "shrink"
    JOB = "job"
    CLUSTER = "cluster"


NOT_HERE: Final = frozenset({Scope.SHRINK, Scope.CLUSTER})
"""Scopes that are steps of the leader: in the member a gang waits at them, and the report says so
(`ReportRecovering.waits_at`)."""
HOLD: Final = 900
"""Seconds below its minimum after which a gang moves or gives its place back, unless it says so."""
_WIDTH: Final = {scope: width for width, scope in enumerate(Scope)}


class RecoveryRefusedError(AnnotationRefusedError):
    """The recovery annotation is refused."""

    annotation = "recovery"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryPolicy:
    """Defaults and bounds of recovery in the members, for all jobs."""

    heal_seconds: int = 60
    """A lost pod that is Ready again within so many seconds costs nothing else."""
    step_seconds: int = 600
    """When a step of a job's ladder has not made it whole for so many seconds, the next wider one
    follows."""
    hold_limit_seconds: int = 3600
    """The longest time for which a job may keep its room while it is below its minimum."""
    node_exit_codes: tuple[int, ...] = ()
    """Exit codes of any job's containers that put the node on probation for all jobs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """At most `losses` failures of the job's own pods within `window` seconds."""

    losses: int
    window: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartBackoff:
    """Seconds before a pod that failed by itself is started again: 0, then `first`, and so on.

    Each further wait is `factor` times longer, at most `limit`; after `reset` seconds without a
    failure of the pod the count begins anew.
    """

    first: int = 30
    factor: int = 2
    limit: int = 600
    reset: int = 3600
    least: int = 0
    """No wait is shorter; the annotation does not set it."""

    def before(self, failures: int) -> int:
        """The seconds before the restart after so many failures in a row (1: the first)."""
        if failures <= 1:
            return self.least
        factor: int = self.factor ** min(failures - 2, 40)
        return max(self.least, min(self.limit, self.first * factor))


RESERVED: Final = ("kubernetes.io", "k8s.io", "karmada.io", "volcano.sh", "global-sched.io")
"""Ends of the prefixes of labels that programs give a meaning to: a job may not carry those."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Carry:
    """A label that travels with the gang, from a field of its status."""

    label: str
    json_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverySpec:
    """A job's rules. No `scopes`: its own policies or controller restart it, as without rules."""

    scopes: tuple[Scope, ...] = ()
    budget: Budget | None = None
    backoff: RestartBackoff = field(default_factory=RestartBackoff)
    fail_codes: frozenset[int] = frozenset()
    """Exit codes that end the job at once: what fails so fails again."""
    node_codes: frozenset[int] = frozenset()
    """Exit codes after which the job avoids the node for ten minutes; other jobs do not."""
    hold: int = HOLD
    """Seconds below its minimum after which it moves, or gives its place back."""
    releases: bool = False
    """Whether it gives its place back when it is below its minimum and no cluster takes it."""
    carry: tuple[Carry, ...] = ()


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class BelowMinimum:
    """What becomes of a gang that its member cannot hold.

    Below its minimum for `hold` seconds it moves or gives its place back, as it asked.
    """

    hold: int = HOLD
    moves: bool = False
    """It moves to another cluster that has room for it."""
    releases: bool = False
    """Else it gives its place back, and waits in its queue."""
    carry: tuple[Carry, ...] = ()
    """Labels that travel with it."""
    shrinks: bool = False
    """It goes on with fewer pods, its minimum at least, when it gets no seat for lost ones."""


def below_minimum(text: str) -> tuple[BelowMinimum | None, str]:
    """What an annotation says of that, None where it says nothing; and why it is refused.

    The Policy's bound on `hold` is the cycle's to apply.
    """
    spec, refused = rules_in(text, RecoveryPolicy(hold_limit_seconds=LONGEST))
    moves, shrinks = Scope.CLUSTER in spec.scopes, Scope.SHRINK in spec.scopes
    if refused or not (moves or shrinks or spec.releases):
        return None, refused
    asked = BelowMinimum(
        hold=spec.hold,
        moves=moves,
        releases=spec.releases,
        carry=spec.carry if moves else (),
        shrinks=shrinks,
    )
    return asked, ""


def parse_recovery(text: str, policy: RecoveryPolicy) -> RecoverySpec:
    """The rules that an annotation states. Raises RecoveryRefusedError."""
    known = ("scopes", "budget", "backoff", "exitCodes", "minimum", "hold", "carry")
    top = read_object(text, known, RecoveryRefusedError)
    fail_codes, node_codes = _codes(top.get("exitCodes", {}))
    return RecoverySpec(
        scopes=_scopes(top.get("scopes", [])),
        budget=None if "budget" not in top else _budget(top["budget"]),
        backoff=_backoff(top.get("backoff", {})),
        fail_codes=fail_codes,
        node_codes=node_codes,
        hold=_hold(top, policy),
        releases=_releases(top),
        carry=_carry(top.get("carry", [])),
    )


def rules_in(text: str, policy: RecoveryPolicy) -> tuple[RecoverySpec, str]:
    """The rules of an annotation, the defaults where there is none; and why it is refused.

    Of a refused annotation the defaults count.
    """
    try:
        return (parse_recovery(text, policy) if text else RecoverySpec()), ""
    except RecoveryRefusedError as error:
        return RecoverySpec(), str(error)


def _scopes(value: object) -> tuple[Scope, ...]:
    names = ", ".join(Scope)
    if not isinstance(value, list):
        raise RecoveryRefusedError("scopes", "is no list", f"list some of {names}, widest last")
    found: list[Scope] = []
    for at, one in enumerate(value):
        if one not in list(Scope):
            raise RecoveryRefusedError(f"scopes[{at}]", f"is {shown(one)}", f"use one of {names}")
        scope = Scope(one)
        if found and _WIDTH[scope] <= _WIDTH[found[-1]]:
            raise RecoveryRefusedError(
                f"scopes[{at}]",
                f"{scope} is not wider than {found[-1]}",
                f"order the ladder as {names}, each at most once",
            )
        found.append(scope)
    if found and found[0] is Scope.SHRINK:
        raise RecoveryRefusedError(
            "scopes[0]", "is shrink", "begin with pod, partition, task, job or cluster"
        )
    return tuple(found)


def _budget(value: object) -> Budget:
    found = known_keys(value, "budget", ("losses", "window"), RecoveryRefusedError)
    for key in ("losses", "window"):
        if key not in found:
            raise RecoveryRefusedError(
                f"budget.{key}", "is missing", 'write for example {"losses": 10, "window": "24h"}'
            )
    window = _duration(found["window"], "budget.window")
    if window == 0:
        raise RecoveryRefusedError("budget.window", "is 0", "use at least 1s")
    return Budget(
        losses=_number(found["losses"], "budget.losses", least=0, most=LOSSES_LIMIT), window=window
    )


def _backoff(value: object) -> RestartBackoff:
    found = known_keys(
        value, "backoff", ("first", "factor", "limit", "reset"), RecoveryRefusedError
    )
    base = RestartBackoff()
    return RestartBackoff(
        first=_duration(found.get("first", "30s"), "backoff.first"),
        factor=_number(found.get("factor", base.factor), "backoff.factor", least=1, most=10),
        limit=_duration(found.get("limit", "10m"), "backoff.limit"),
        reset=_duration(found.get("reset", "1h"), "backoff.reset"),
    )


def _codes(value: object) -> tuple[frozenset[int], frozenset[int]]:
    """The codes that end the job, and those after which it avoids the node."""
    found = known_keys(value, "exitCodes", ("fail", "node"), RecoveryRefusedError)
    fail, node = (_code_list(found.get(key, []), f"exitCodes.{key}") for key in ("fail", "node"))
    if both := fail & node:
        raise RecoveryRefusedError(
            "exitCodes.node",
            f"has {min(both)}, which exitCodes.fail has, too",
            "leave it out of one: a job that has ended needs no other node",
        )
    return fail, node


def _code_list(value: object, where: str) -> frozenset[int]:
    if not isinstance(value, list) or len(value) > CODES_LIMIT:
        raise RecoveryRefusedError(
            where, "is no short list", f"list at most {CODES_LIMIT} exit codes"
        )
    return frozenset(
        _number(one, f"{where}[{at}]", least=1, most=255) for at, one in enumerate(value)
    )


def _releases(top: Json) -> bool:
    minimum = top.get("minimum", "hold")
    if minimum not in ("hold", "release"):
        raise RecoveryRefusedError("minimum", f"is {shown(minimum)}", "use hold or release")
    return bool(minimum == "release")


def _hold(top: Json, policy: RecoveryPolicy) -> int:
    if "hold" not in top:
        return min(HOLD, policy.hold_limit_seconds)
    seconds = _duration(top["hold"], "hold")
    if seconds > policy.hold_limit_seconds:
        raise RecoveryRefusedError(
            "hold",
            f"is {seconds} s, and the Policy allows {policy.hold_limit_seconds} s",
            "use less, or ask an administrator for recovery.hold_limit_seconds",
        )
    return seconds


def _carry(value: object) -> tuple[Carry, ...]:
    if not isinstance(value, list) or len(value) > CARRY_LIMIT:
        raise RecoveryRefusedError(
            "carry", "is no short list", f"list at most {CARRY_LIMIT} of label and jsonPath"
        )
    made = []
    for at, one in enumerate(value):
        found: Mapping[str, object] = known_keys(
            one, f"carry[{at}]", ("label", "jsonPath"), RecoveryRefusedError
        )
        label, path = found.get("label"), found.get("jsonPath")
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise RecoveryRefusedError(
                f"carry[{at}].label", f"is {shown(label)}", "use the key of a label"
            )
        if label.rpartition("/")[0].endswith(RESERVED):
            raise RecoveryRefusedError(
                f"carry[{at}].label", f"is {shown(label)}, which is reserved", "use another prefix"
            )
        if not isinstance(path, str) or not path.startswith("{.") or len(path) > 256:
            raise RecoveryRefusedError(
                f"carry[{at}].jsonPath", f"is {shown(path)}", "use one such as {.status.step}"
            )
        made.append(Carry(label=label, json_path=path))
    return tuple(made)


def _number(value: object, where: str, *, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise RecoveryRefusedError(
            where, f"is {shown(value)}", f"use a whole number from {least} to {most}"
        )
    return value


def _duration(value: object, where: str) -> int:
    seconds = seconds_of(value)
    if seconds is None:
        raise RecoveryRefusedError(
            where, f"is {shown(value)}", "use a time from 0s to 7d such as 90s, 10m, 24h or 7d"
        )
    return seconds
