"""The snapshot that a cycle decides on: frozen, ordered, complete."""

from dataclasses import dataclass, field

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.lifetime import KeepsAnswers
from global_sched.shared.model.past import Past
from global_sched.shared.model.queue import Queue, Tenant, Usage
from global_sched.shared.model.usage_sums import UsageSums
from global_sched.shared.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """The pending workloads of one tenant in one queue.

    Order:  priority descending, then creation, then UID.
    """

    queue: QueueName
    tenant: TenantName
    workloads: tuple[Workload, ...]


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Running(KeepsAnswers):
    """The admitted, unfinished workloads with pods in one cluster, by key.

    The object is the same as in the last snapshot as long as none of them changed.
    """

    cluster: ClusterName
    workloads: tuple[Workload, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One consistent view of the federation.

    `pending` holds every workload without clusters that is not finished; `unsettled` the admitted
    ones that a cycle must look at (minimum not reached yet, growth asked for, status behind,
    a target gone, a reschedule asked for). Admitted ones that need nothing are only in `usage`
    and in the clusters' capacity, from which everything assumed is deducted already; `running`
    names them all, since any of them may have to leave for another one.

    Order:  every tuple ascends by name or key; input order does not matter to a cycle.
    """

    clusters: tuple[Cluster, ...] = ()
    queues: tuple[Queue, ...] = ()
    tenants: tuple[Tenant, ...] = ()
    usage: tuple[Usage, ...] = ()
    usage_sums: UsageSums | None = field(default=None, compare=False)
    """`usage` summed up, where that is kept; a snapshot with another `usage` has other sums."""
    leaving: tuple[Usage, ...] = ()
    """What was withdrawn and may still run: it counts against limits, and in no share."""
    pending: tuple[Bucket, ...] = ()
    unsettled: tuple[Workload, ...] = ()
    running: tuple[Running, ...] = ()
    past: tuple[Past, ...] = ()
    """What tenants held before, by queue and tenant, as the Queues' annotations say."""
    priorities: tuple[tuple[str, int], ...] = ()
    """What every PriorityClass gives, for people who ask what another one would do."""
    epoch: int = 0
