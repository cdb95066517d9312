"""Requests of our programs to API servers, read from the servers' audit logs.

A server that has just been started knows no Roles and denies everything until it is ready. What it
denied in that time is kept apart: from the start that the supervisor wrote down to the first answer
200 of `/readyz` in the server's own log.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from tools.local_karmada.federation import Federation
from tools.local_karmada.servers import CONTROL_PLANE

MEMBER: Final = "member"
GLOBAL_SCHED: Final = "system:serviceaccount:karmada-system:global-sched"
AGENT_SUFFIX: Final = ":member-agent"
OK: Final = 200
READY: Final = "/readyz"
_WORDS: Final = (GLOBAL_SCHED, AGENT_SUFFIX, READY)
"""A line without any of them tells of nothing that is counted here."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Asked:
    """One kind of request: who, where, what."""

    account: str
    """`global-sched` or `member-agent`."""
    server: str
    """`control-plane` or `member`."""
    verb: str
    resource: str
    """With its group and subresource, as messages write it: `jobs.batch.volcano.sh/status`."""
    name: str = ""
    """The object, for verbs that name one."""
    namespace: str = ""
    user: str = ""
    allowed: bool = True
    host: str = ""
    """The server by name, for what it denied before it was ready; empty for all else."""


class Requests:
    """Counts what was asked of federations that run, until it was counted first."""

    def __init__(self, *federations: Federation) -> None:
        self._running = federations

    @cached_property
    def _asked(self) -> list[tuple[Federation, Counter[Asked]]]:
        return [(one, Counter(_read(one))) for one in self._running]

    def counted(self) -> Counter[Asked]:
        """All of them."""
        return sum((counts for _, counts in self._asked), Counter())

    def early(self) -> Iterator[tuple[Federation, Asked]]:
        """What servers that run now denied before they were ready, each kind of request once."""
        for federation, counts in self._asked:
            yield from ((federation, one) for one in sorted(counts) if one.host)


def _read(federation: Federation) -> Iterator[Asked]:
    ledger = federation.ledger
    if ledger.options is None:
        return
    for server in (CONTROL_PLANE, *federation.members):
        path = federation.audit(server)
        parts = sorted(path.parent.glob(f"{path.stem}*.log"))
        starts = ledger.starts.get(f"{server}/kube-apiserver", [])
        yield from asked_of(server, _lines(parts), starts)


def _lines(parts: Iterable[Path]) -> Iterator[str]:
    for part in parts:
        with part.open(encoding="utf-8") as file:
            yield from file


def asked_of(server: str, lines: Iterable[str], starts: Iterable[str]) -> list[Asked]:
    """The requests of our programs in the log of a server that was started at these times."""
    asked: list[tuple[str, Asked]] = []
    ready: list[str] = []
    for line in lines:
        if not any(word in line for word in _WORDS):
            continue  # of another program, as most are
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # the last line may be half written
        if event["requestURI"].partition("?")[0] == READY:
            if event["responseStatus"]["code"] == OK:
                ready.append(event["stageTimestamp"])
            continue
        found = _asked(event, CONTROL_PLANE if server == CONTROL_PLANE else MEMBER)
        if found is not None:
            asked.append((event["requestReceivedTimestamp"], found))
    spans = _unready(starts, ready)
    return [
        replace(one, host=server)
        if not one.allowed and any(start <= at <= end for start, end in spans)
        else one
        for at, one in asked
    ]


def _unready(starts: Iterable[str], ready: Iterable[str]) -> list[tuple[str, str]]:
    """From each start to the first time after it that the server was ready, if it ever was."""
    spans = []
    for start in starts:
        after = [at for at in ready if at > start]
        if after:
            spans.append((start, min(after)))
    return spans


def _asked(event: dict[str, Any], server: str) -> Asked | None:
    user = event["user"].get("username", "")  # none: refused before it was known who asks
    account = _account(user)
    what = event.get("objectRef")
    if account is None or what is None or "resource" not in what:
        return None
    group = what.get("apiGroup", "")
    sub = f"/{what['subresource']}" if what.get("subresource") else ""
    notes = event.get("annotations") or {}
    return Asked(
        account=account,
        server=server,
        verb=event["verb"],
        resource=(f"{what['resource']}.{group}" if group else what["resource"]) + sub,
        name=what.get("name", ""),
        namespace=what.get("namespace", ""),
        user=user,
        allowed=notes.get("authorization.k8s.io/decision", "allow") == "allow",
    )


def _account(user: str) -> str | None:
    if user == GLOBAL_SCHED:
        return "global-sched"
    if user.startswith("system:serviceaccount:") and user.endswith(AGENT_SUFFIX):
        return "member-agent"
    return None
