"""What is read of the workloads of each cluster, kept while they are the same objects."""

from collections.abc import Callable
from typing import Generic, TypeVar

from global_sched.shared.model.snapshot import Running

T = TypeVar("T")


class ByCluster(Generic[T]):
    """Answers of one function, by the identity of what it was asked about."""

    def __init__(self, read: Callable[[Running], T], most: int = 1024) -> None:
        self._read, self._most = read, most
        self._kept: dict[int, tuple[Running, T]] = {}

    def of(self, running: Running) -> T:
        """The answer about a cluster's workloads."""
        known = self._kept.get(id(running))
        if known is None:
            if len(self._kept) >= self._most:
                self._kept.clear()
            known = self._kept[id(running)] = (running, self._read(running))
        return known[1]
