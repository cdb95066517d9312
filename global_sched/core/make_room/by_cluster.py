"""Answers about the workloads of one cluster, which own them as long as they are unchanged."""

from collections.abc import Callable
from typing import Generic, TypeVar

from global_sched.shared.model.snapshot import Running

T = TypeVar("T")


class ByCluster(Generic[T]):
    """One question about a cluster's workloads; the answer is kept by these (`KeepsAnswers`)."""

    def __init__(self, read: Callable[[Running], T]) -> None:
        self._read = read

    def of(self, running: Running) -> T:
        """The answer about a cluster's workloads."""
        return running.kept(self._read, lambda: self._read(running))
