"""The leader as its Lease shows it: whether one decides now, and since when none does."""

from dataclasses import dataclass
from typing import Any, Final

from global_sched.shared.api.resource import LEASES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden, NotFound
from global_sched.shared.model.instant import SECOND, Instant, InstantError, parse_instant

LEASE: Final = "global-sched"
"""`lease_name` of the settings of global-sched, where it has its default."""
_TERMS: Final = 2
"""So many lease times without a renewal, and the leader is away."""
_SKEW: Final = 60 * SECOND
"""What clocks of two machines may differ by: at the first look there is no other measure."""
_SECONDS: Final = 15
"""`leaseDurationSeconds` where the Lease has none."""


@dataclass(slots=True)
class LeaderWatch:
    """The Lease between two looks: a renewal is seen by its change, on our own clock."""

    client: Client
    clock: Clock
    namespace: str
    _renewed: str = ""
    _changed: float = 0.0

    async def problem(self) -> str:
        """Why nothing is decided now; empty while a leader renews, and where it is not known.

        Raises:  ApiError for a server that cannot be asked.
        """
        try:
            lease = await self.client.get(LEASES, LEASE, namespace=self.namespace)
        except (Forbidden, NotFound):
            return ""
        spec: dict[str, Any] = lease.get("spec") or {}
        renewed = str(spec.get("renewTime") or "")
        first = not self._renewed
        if renewed != self._renewed:
            self._renewed, self._changed = renewed, self.clock.monotonic()
        patience = _TERMS * int(spec.get("leaseDurationSeconds") or _SECONDS)
        old = first and self.clock.now() - _instant(renewed) > patience * SECOND + _SKEW
        if old:
            self._changed -= patience + 1
        away = self.clock.monotonic() - self._changed > patience
        if spec.get("holderIdentity") and not away:
            return ""
        since = f" since {renewed[:19].replace('T', ' ')} UTC" if renewed else ""
        return f"No leader decides{since}: what waits goes on waiting, what runs goes on running."


def _instant(text: str) -> Instant:
    try:
        return parse_instant(text)
    except InstantError:
        return Instant(0)
