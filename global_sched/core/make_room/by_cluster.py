"""Readings of the workloads of each cluster, kept while they are the same objects."""

from collections.abc import Callable
from typing import Generic, TypeVar

from global_sched.shared.model.lifetime import WhileAlive
from global_sched.shared.model.snapshot import Running

T = TypeVar("T")


class ByCluster(Generic[T]):
    """Answers of one function, by the identity of what it was asked about."""

    def __init__(self, read: Callable[[Running], T]) -> None:
        self._read = read
        self._kept: WhileAlive[T] = WhileAlive()

    def of(self, running: Running) -> T:
        """The answer about a cluster's workloads."""
        return self._kept.of((running,), lambda: self._read(running))
