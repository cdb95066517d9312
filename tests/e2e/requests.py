"""What our programs asked API servers for, read from the servers' audit logs."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from deploy.local.federation import Federation
from deploy.local.servers import CONTROL_PLANE

MEMBER: Final = "member"
GLOBAL_SCHED: Final = "system:serviceaccount:karmada-system:global-sched"
AGENT_SUFFIX: Final = ":member-agent"


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


class Requests:
    """Counts requests of the suite's federation, and of others before they are gone."""

    def __init__(self, federation: Federation) -> None:
        self._running = [federation]
        self._others: Counter[Asked] = Counter()

    def also(self, federation: Federation) -> None:
        """Count what is asked of one more federation, which runs until the end."""
        self._running.append(federation)

    def absorb(self, federation: Federation) -> None:
        """Count what was asked of a federation that is about to end."""
        self._others.update(_read(federation))

    def counted(self) -> Counter[Asked]:
        """Everything so far."""
        return sum((Counter(_read(one)) for one in self._running), self._others.copy())


def _read(federation: Federation) -> Iterator[Asked]:
    if federation.ledger.options is None:
        return
    for server in (CONTROL_PLANE, *federation.members):
        path = federation.audit(server)
        folder = path.parent
        for part in sorted(folder.glob(f"{path.stem}*.log")):
            with part.open(encoding="utf-8") as file:
                for line in file:
                    found = _asked(line, CONTROL_PLANE if server == CONTROL_PLANE else MEMBER)
                    if found is not None:
                        yield found


def _asked(line: str, server: str) -> Asked | None:
    try:
        event: dict[str, Any] = json.loads(line)
    except ValueError:
        return None  # the last line may be half written
    user = event["user"]["username"]
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
