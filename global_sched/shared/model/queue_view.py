"""One queue as people see it: its place in the tree, what it may have, what it has."""

from dataclasses import dataclass

from global_sched.shared.model.explanation import Share
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """Amounts are those of the queue and of everything below it.

    `share` is the largest part of its deserved that it holds (`held` of `total`, 1 or more: it has
    what it deserves). `borrowed` is what it holds over its deserved, `lent` what of its deserved it
    does not use. `frozen` says why nothing is admitted, `notice` what else is wrong; empty when all
    is well.
    """

    queue: Queue
    exists: bool = True
    depth: int = 0
    leaf: bool = True
    frozen: str = ""
    notice: str = ""
    held: Resources = Resources()
    asked: Resources = Resources()
    """Held, and what waits."""
    deserved: Resources = Resources()
    guarantee: Resources = Resources()
    """Its own, or what is kept free for the queues below it together."""
    borrowed: Resources = Resources()
    lent: Resources = Resources()
    share: Share = Share()
    excess: Share = Share()
    """The largest part of the federation that it holds over its deserved, and its weight."""
    clusters: tuple[tuple[ClusterName, Resources], ...] = ()
    """What it holds in each cluster."""

    @property
    def problem(self) -> str:
        """What an administrator has to mend, whether it freezes the queue or not."""
        return self.frozen or self.notice
