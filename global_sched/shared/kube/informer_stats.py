"""Counters of an informer."""

from collections import Counter
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

from global_sched.shared.kube.errors import ApiError


class ListReason(StrEnum):
    """Why a collection was listed."""

    FIRST = "first"
    GONE = "gone"
    """The server no longer knew our resourceVersion."""
    RESYNC = "resync"
    """The audit that finds events which were not delivered."""
    UNREADABLE = "unreadable"
    """The watch carried something that is not an event."""


@dataclass(slots=True, kw_only=True)
class InformerStatistics:
    """Counts since the start of one informer; `Informer.statistics()` returns a copy."""

    resource: str
    namespace: str
    lists: Counter[ListReason] = field(default_factory=Counter)
    watches: int = 0
    events: int = 0
    bookmarks: int = 0
    failures: int = 0
    failure: ApiError | None = None
    """The last failure, while nothing has worked since."""
    objects: int = 0
    malformed: int = 0
    resource_version: str = ""
    staleness: float = 0.0
    """Seconds since the server last proved that we are up to date."""
    synced: bool = False

    def count_list(self, reason: ListReason) -> None:
        """One more list."""
        self.lists[reason] += 1

    def count_failure(self, error: ApiError) -> None:
        """One more failure, and the one to show."""
        self.failures += 1
        self.failure = error

    def at(
        self,
        *,
        objects: int,
        malformed: int,
        resource_version: str,
        staleness: float,
        synced: bool,
    ) -> Self:
        """A copy with the figures that are derived."""
        return replace(
            self,
            lists=Counter(self.lists),
            objects=objects,
            malformed=malformed,
            resource_version=resource_version,
            staleness=staleness,
            synced=synced,
        )
