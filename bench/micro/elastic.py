"""Resizes of elastic gangs on the Pollux and ElasticFlow traces, with sizes and cooldown or none.

A job may have a quarter of the GPUs that its row names, two quarters, and so on to twice as many,
one pod for each; it starts with a quarter. One queue for each application, so that surplus is taken
back for what another queue is owed. The leader's own cycle decides in virtual time
(`global_sched.sim`); a job does its work the faster the more pods it has. Rows of Pollux name no
duration: their work is the median GPU time of the same application in the ElasticFlow trace.

*Utilisation* is what is bound of what jobs could use: the GPUs that there are, or what all jobs
that are there would have at most, where that is less.
"""

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.harness import Figure, at_least, at_most, shown
from bench.traces import TraceMissingError, rows
from global_sched.shared.model.elastic_spec import with_elastic
from global_sched.shared.model.gang import Elastic, Gang
from global_sched.shared.model.ids import DomainId, QueueName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.sim.engine import Stage
from global_sched.sim.jobs import GPU, Gangs, Job
from global_sched.sim.member import Member
from global_sched.sim.ours import Ours, Sharing

GROUP: Final = "elastic"
COOLDOWN: Final = 600
"""Seconds."""
PODS_PER_NODE: Final = 110
UTILISATION: Final = 0.97
"""So much of the utilisation without sizes and cooldown is to be kept."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs as (submit in seconds, application, GPUs, GPU seconds of work), and nodes for them."""

    name: str
    rows: tuple[tuple[int, str, int, float], ...]
    nodes: int
    gpus: int


def traces() -> list[Trace]:
    """Both traces. Raises TraceMissingError where one is not beside the repository."""
    found = rows("elasticflow/elasticVpollux_e.csv")
    flow = [
        (int(row["submit_time"]), row["model_name"], int(row["num_gpu"]), float(row["duration"]))
        for row in found
    ]
    begin = min(submit for submit, *_ in flow)
    work = defaultdict(list)
    for _, model, gpus, duration in flow:
        work[model].append(gpus * duration)
    median = {model: statistics.median(each) for model, each in work.items()}
    pollux = [
        (int(row["time"]), row["application"], int(row["num_replicas"]), median[row["application"]])
        for row in rows("pollux/workloads/workload-1.csv")
    ]
    return [
        Trace("Pollux", tuple(pollux), nodes=16, gpus=4),
        Trace("ElasticFlow", tuple((s - begin, m, g, g * d) for s, m, g, d in flow), 32, 8),
    ]


def sizes_of(gpus: int, most: int) -> tuple[int, ...]:
    """One to eight quarters of so many GPUs, at most those of the cluster."""
    quarter = -(-gpus // 4)
    return tuple(quarter * times for times in range(1, 9) if quarter * times <= most)


class _Sized(Gangs):
    """Gangs with the sizes of their rows and a cooldown."""

    def __init__(self, sizes: dict[tuple[int, int], tuple[int, ...]]) -> None:
        super().__init__()
        self._sizes = sizes

    def make(self, job: Job) -> Gang:
        """The job's gang with its sizes, where it has more than one."""
        gang, sizes = super().make(job), self._sizes[job.least, job.pods]
        if len(sizes) == 1:
            return gang
        return with_elastic(gang, Elastic(sizes=sizes, cooldown=COOLDOWN))


class _Counting(Stage):
    """A stage that counts resizes of jobs that run."""

    resizes = 0

    def resize(self, job: Job, pods: int, domain: DomainId | None = None) -> bool:
        """One more resize, where it was carried out."""
        done = super().resize(job, pods, domain)
        self.resizes += done
        return done


@dataclass(frozen=True, slots=True)
class Run:
    """What one run of a trace came to."""

    resizes: int
    evictions: int
    utilisation: float
    mean_hours: float
    """From submission to the end of a job."""


def play(trace: Trace, *, sized: bool, jobs: int | None = None) -> Run:
    """The first `jobs` (None: all) of a trace, with sizes and cooldown or with neither."""
    made, sizes = [], {}
    for number, (submit, application, gpus, work) in enumerate(trace.rows[:jobs]):
        own = sizes_of(gpus, trace.nodes * trace.gpus)
        sizes[own[0], own[-1]] = own
        made.append(
            Job(
                number=number,
                name=f"{application}-{number}",
                submit=submit * SECOND,
                duration=max(1, round(work / own[-1])) * SECOND,
                pods=own[-1],
                gpus=1,
                queue=application,
                minimum=own[0],
            )
        )
    stage = _Counting(made, [_member(trace)], _Sized(sizes) if sized else Gangs())
    queues = tuple(Queue(name=QueueName(one)) for one in sorted({job.queue for job in made}))
    stage.run(Ours(stage, Sharing(queues=queues)))
    history = list(stage.history.values())
    ends = [one.ended - one.job.submit for one in history if one.ended is not None]
    if len(ends) < len(history):
        raise RuntimeError(f"{len(history) - len(ends)} jobs of {trace.name} have not ended")
    bound = sum((end - begin) * pods for one in history for begin, end, pods, _ in one.spans)
    return Run(
        resizes=stage.resizes,
        evictions=sum(one.evictions for one in history),
        utilisation=bound / _usable(stage, trace.nodes * trace.gpus),
        mean_hours=statistics.mean(ends) / SECOND / 3600,
    )


def _usable(stage: Stage, gpus: int) -> int:
    """GPU time that the jobs could have used: of each moment what there is, or what they want."""
    changes: list[tuple[int, int]] = []
    for one in stage.history.values():
        assert one.ended is not None
        changes += [(one.job.submit, one.job.pods), (one.ended, -one.job.pods)]
    total = wanted = before = 0
    for at, change in sorted(changes):
        total += min(gpus, wanted) * (at - before)
        wanted, before = wanted + change, at
    return total


def _member(trace: Trace) -> Member:
    leaves = tuple(
        Leaf(
            domain=None,
            node_class=NodeClass(),
            free=(trace.gpus, PODS_PER_NODE),
            count=1,
            node=f"node-{at:03d}",
        )
        for at in range(trace.nodes)
    )
    return Member("m", Topology(axis=(GPU, "pods"), leaves=leaves, label_keys=()))


def _of(trace: Trace) -> Iterable[Figure]:
    free, sized = play(trace, sized=False), play(trace, sized=True)
    kept = sized.utilisation / free.utilisation
    yield shown(GROUP, f"{trace.name}: resizes of any size, without cooldown", free.resizes, "")
    yield at_most(
        GROUP, f"{trace.name}: with sizes and cooldown", sized.resizes, "", free.resizes - 1
    )
    note = f"{sized.utilisation:.3f} of {free.utilisation:.3f}"
    yield at_least(GROUP, f"{trace.name}: utilisation kept", kept, "", UTILISATION, note)
    yield shown(
        GROUP,
        f"{trace.name}: mean time to the end",
        sized.mean_hours,
        "h",
        f"{free.mean_hours:.2f} h without; evictions {sized.evictions} and {free.evictions}",
    )


def figures() -> list[Figure]:
    """Resizes, utilisation and times of both traces; where they are absent that is said."""
    try:
        found: Sequence[Trace] = traces()
    except TraceMissingError as error:
        return [shown(GROUP, "Pollux and ElasticFlow", None, "", str(error))]
    return [figure for trace in found for figure in _of(trace)]
