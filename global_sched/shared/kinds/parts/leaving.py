"""Preemptibility, checkpoints and run time limit, as a template's annotations state them."""

from collections.abc import Iterable
from dataclasses import dataclass

from global_sched.shared.api.base import Meta
from global_sched.shared.api.names import (
    LAST_CHECKPOINT,
    OWN_PREEMPTABLE,
    PREEMPTABLE,
    RUN_TIME_LIMIT,
)
from global_sched.shared.kinds.parts.reading import RefusedError
from global_sched.shared.model.instant import Instant, InstantError, parse_instant, parse_seconds

_YES = frozenset({"true", "True", "TRUE", "t", "T", "1"})
_NO = frozenset({"false", "False", "FALSE", "f", "F", "0"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """Whether it may have to leave, when it ends by itself, and what it would lose."""

    preemptable: bool = True
    run_limit: int | None = None
    checkpoint: Instant | None = None


def leaving_of(
    owner: Meta, templates: Iterable[Meta] = (), *, deadline: int | None = None
) -> Leaving:
    """What the object and its pod templates say. Raises RefusedError.

    `preemptable: false` anywhere counts for the whole gang, which leaves whole. `deadline` is the
    kind's own field (`activeDeadlineSeconds`); without one the annotation counts.
    """
    said = [_preemptable(meta) for meta in (owner, *templates)]
    limit = _seconds(owner.annotation(RUN_TIME_LIMIT))
    if deadline is not None and deadline > 0:
        limit = deadline if limit is None else min(limit, deadline)
    return Leaving(preemptable=all(said), run_limit=limit, checkpoint=_checkpoint(owner))


def _preemptable(meta: Meta) -> bool:
    for key in (OWN_PREEMPTABLE, PREEMPTABLE):
        for text in (meta.annotation(key), meta.label(key)):
            if text and text not in _YES | _NO:
                raise RefusedError(f"metadata[{key}]", f"is {text[:40]!r}", "use true or false")
            if text in _NO:
                return False
    return True


def _seconds(text: str) -> int | None:
    if not text:
        return None
    seconds = parse_seconds(text)
    if not seconds:
        field = f"metadata.annotations[{RUN_TIME_LIMIT}]"
        raise RefusedError(field, f"is {text[:40]!r}", "use a duration such as 90m, 2h or 3600s")
    return seconds


def _checkpoint(owner: Meta) -> Instant | None:
    text = owner.annotation(LAST_CHECKPOINT)
    if not text:
        return None
    try:
        return parse_instant(text)
    except InstantError as error:
        field = f"metadata.annotations[{LAST_CHECKPOINT}]"
        raise RefusedError(field, str(error), "write the time of the last checkpoint") from error
