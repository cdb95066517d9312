"""A member cluster as decisions see it."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.pods import Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Topology


class Readiness(StrEnum):
    """The cluster's Ready condition."""

    READY = "Ready"
    NOT_READY = "NotReady"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What the member's agent reported, less what is assumed there.

    `topology` is the room that is left. `total` is what its usable nodes have in all, for shares.
    `observed` is the report's time, never later than when it arrived. `period_seconds` is how
    often the agent reports at least.
    """

    topology: Topology
    total: Resources
    observed: Instant
    largest: Resources | None = None
    """Of each resource the most that any node has, whatever runs there; None: not known."""
    missing: int = 0
    """Nodes that `total` leaves out: not ready, or cordoned."""
    generation: int = 0
    period_seconds: int = 10
    scheduler_names: tuple[str, ...] = ()
    """Scheduler names that the agent binds for."""
    volcano_scheduler: bool = False
    """Whether Volcano's scheduler runs there, and with its topology plugin:"""
    volcano_topology: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One Karmada Cluster.

    `kinds` are the enabled `apiVersion/Kind`s, None when not collected yet. `capacity` None: there
    is no usable report, and `capacity_problem` says why. `summary` is the free room of Karmada's
    own resource summary (None: unknown), used only where the Policy allows it.
    """

    name: ClusterName
    uid: str = ""
    readiness: Readiness = Readiness.READY
    terminating: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    taints: tuple[Taint, ...] = ()
    kinds: tuple[str, ...] | None = None
    capacity: Capacity | None = None
    capacity_problem: str = ""
    summary: Resources | None = None
