"""Gates: what must hold before any figure of the simulator is worth a look.

Each gate compares with a published result, an independent program, a closed form, or the scenario
simulator. The large ones read traces that are not in the repository, and are left out, and say so,
where these are absent.
"""

import hashlib
import math
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from global_sched.scenario.world import ClusterSpec, NodesSpec, QueueSpec, TenantSpec, World
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.sim.baselines import BASELINES
from global_sched.sim.engine import Stage
from global_sched.sim.errors import TraceAbsentError
from global_sched.sim.files import Reader
from global_sched.sim.jobs import BIG, GPU, Gangs, Job
from global_sched.sim.member import Member
from global_sched.sim.openb import FGD, WHOLE, BestFit, by_engine, given_away, nodes_of, pods_of
from global_sched.sim.oracle import admissions_of_engine, admissions_of_scenario
from global_sched.sim.traces import read_jobs

_READ: Final = Reader(Path())
_MURI: Final = {
    "srtf-oracle-like": (1_370_603, 2_665_607, 193_082, 581_983),
    "srsf-oracle-like": (980_141, 2_213_950, 185_022, 487_167),
}
"""Mean completion times in seconds of traces 1 to 4 (Muri, SIGCOMM'22, its simulator's figures)."""
_PHILLY: Final = {
    "fifo-skip-like": (12_046, 222_597),
    "fifo-strict-like": (180_570, 117_941),
    "sjf-oracle-like": (3_290, 306_957),
    "karmada-static-like": (21_792, 310_001),
}
"""Mean waits, and those of gangs above 8 GPUs, of an independent program (`refsim.py` beside the
traces) with the same rules: the fullest node that fits, the first of equally full ones."""
_TWELVE: Final = 12
"""GPUs of seven jobs, which that program puts on 8 and 4 GPUs of two nodes. A gang of equal pods
cannot be cut so, and strict FIFO turns on every job: both sides leave them out."""

_OPENB: Final = {
    "default": (1.0, 92.86, 95.23),
    "multigpu50": (1.0, 95.62, 97.09),
    "cpu200": (1.0, 92.15, 94.82),
    "gpuspec33": (1.1, 87.70, 94.43),
}
"""By list of pods: arrivals as a part of the capacity, and the GPUs given away in percent by Best
Fit and FGD (FGD's artifact, means of ten seeds)."""


@dataclass(frozen=True, slots=True)
class Gate:
    """One comparison; `met` None: it could not be made."""

    name: str
    met: bool | None
    text: str


class GpusAlone(Gangs):
    """Gangs of which a pod takes one of its node's places for each GPU.

    Nodes with as many free GPUs are then alike, however many pods they have: the first is taken.
    """

    def make(self, job: Job) -> Gang:
        """The job's gang, with more places."""
        gang = super().make(job)
        (pods,) = gang.pod_sets
        requests = Resources.of({GPU: job.gpus, PODS: job.gpus})
        return replace(
            gang, pod_sets=(replace(pods, shape=replace(pods.shape, requests=requests)),)
        )


def nodes(count: int, gpus: int, places: int = 110) -> Topology:
    """A cluster of equal nodes in no HyperNode."""
    leaves = tuple(
        Leaf(domain=None, node_class=NodeClass(), free=(gpus, places), count=1, node=f"n{at:04d}")
        for at in range(count)
    )
    return Topology(axis=(GPU, "pods"), leaves=leaves, label_keys=())


def played(
    jobs: Sequence[Job],
    baseline: str,
    topologies: Sequence[Topology],
    gangs: Gangs | None = None,
) -> Stage:
    """The jobs under a baseline, to the end."""
    members = [Member(f"c{at}", one) for at, one in enumerate(topologies)]
    stage = Stage(jobs, members, gangs or Gangs())
    stage.run(BASELINES[baseline](stage))
    return stage


def muri(numbers: Sequence[int] = (1, 2, 3, 4)) -> Iterator[Gate]:
    """Published mean completion times within 8 %."""
    for number in numbers:
        file = f"traces/muri/trace{number}.csv.gz"
        try:
            jobs = read_jobs(_READ(file), "muri", file, per_node=64)
        except TraceAbsentError as error:
            yield Gate(f"Muri trace {number}", None, str(error))
            continue
        for baseline, published in _MURI.items():
            stage = played(jobs, baseline, [nodes(1, 64)])
            mean = _mean([(one.ended or 0) - one.job.submit for one in stage.history.values()])
            yield _near(
                f"Muri trace {number}, {baseline}: mean JCT", mean, published[number - 1], 8
            )


def philly() -> Iterator[Gate]:
    """640 GPUs in four clusters of 20 nodes, the whole trace, within 1 %."""
    file = "traces/philly/philly.csv.gz"
    try:
        jobs = read_jobs(_READ(file), "philly", file)
    except TraceAbsentError as error:
        yield Gate("Philly, 4 × 20 nodes", None, str(error))
        return
    jobs = [job for job in jobs if job.width != _TWELVE]
    for baseline, (wait, big) in _PHILLY.items():
        stage = played(jobs, baseline, [nodes(20, 8, places=8)] * 4, GpusAlone())
        runs = stage.history.values()
        mean = _mean([(one.started or 0) - one.job.submit for one in runs])
        yield _near(f"Philly, 4 × 20 nodes, {baseline}: mean wait", mean, wait, 1)
        waits = [(x.started or 0) - x.job.submit for x in runs if x.job.width > BIG]
        yield _near(f"Philly, 4 × 20 nodes, {baseline}: big gangs", _mean(waits), big, 1)


def openb(workloads: Sequence[str] = tuple(_OPENB), seed: int = 42) -> Iterator[Gate]:
    """Best Fit and FGD as published, within a point; the engine on the pods of whole GPUs."""
    for workload in workloads:
        try:
            nodes = nodes_of(_READ("traces/openb/openb_node_list_all_node.csv.gz"))
            pods = pods_of(_READ(f"traces/openb/openb_pod_list_{workload}.csv.gz"))
        except TraceAbsentError as error:
            yield Gate(f"openb {workload}", None, str(error))
            continue
        share, best_fit, fgd = _OPENB[workload]
        packers = (("Best Fit", BestFit(nodes), best_fit), ("FGD", FGD(pods), fgd))
        for name, packer, published in packers:
            have = 100 * given_away(pods, nodes, packer, share, seed)
            text = f"{have:.2f} % of GPUs given away, {published:.2f} % there (± 1 point)"
            yield Gate(f"openb {workload}, {name}", abs(have - published) <= 1, text)
        whole = [pod for pod in pods if pod.gpus and pod.part == WHOLE]
        ours = 100 * by_engine(whole, nodes, share, seed)
        theirs = 100 * given_away(whole, nodes, BestFit(nodes), share, seed)
        yield Gate(
            f"openb {workload}, global-sched, whole GPUs only",
            ours >= theirs - 1,
            f"{ours:.2f} % of GPUs given away, Best Fit {theirs:.2f} % with the same pods; "
            f"{len(pods) - len(whole)} of {len(pods)} pods are left out",
        )


def queueing(jobs: int = 4_000, servers: int = 4, load: float = 0.7) -> Iterator[Gate]:
    """The mean wait of M/M/c (Erlang C), within three standard errors of the simulated mean.

    The error is that of batch means, since waits that follow each other are alike.
    """
    rng = random.Random(7)  # noqa: S311 - arrivals, nothing secret
    mean_run, at, made = 100.0, 0.0, []
    for number in range(jobs):
        at += rng.expovariate(servers * load / mean_run)
        run = max(1, round(rng.expovariate(1 / mean_run) * SECOND))
        made.append(
            Job(number=number, name=f"m-{number}", submit=round(at * SECOND), duration=run, pods=1,
                gpus=1)
        )  # fmt: skip
    stage = played(made, "fifo-strict-like", [nodes(servers, 1)])
    waits = [((one.started or 0) - one.job.submit) / SECOND for one in stage.history.values()]
    batches = [_plain(waits[low : low + jobs // 20]) for low in range(0, jobs, jobs // 20)]
    mean = _plain(batches)
    error = math.sqrt(sum((one - mean) ** 2 for one in batches) / (len(batches) - 1) / len(batches))
    exact = erlang_wait(servers, load, mean_run)
    yield Gate(
        f"M/M/{servers} at load {load:g}: mean wait",
        abs(mean - exact) <= 3 * error,
        f"{mean:.1f} s, closed form {exact:.1f} s, standard error {error:.1f} s",
    )


def erlang_wait(servers: int, load: float, mean_run: float) -> float:
    """Erlang's C formula times the mean time to the next free server."""
    offered = servers * load
    terms = [offered**n / math.factorial(n) for n in range(servers)]
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (sum(terms) + last) * mean_run / (servers * (1 - load))


def scenario(jobs: int = 50) -> Iterator[Gate]:
    """The same admissions as the scenario simulator, evictions included."""
    world, made = small_world(jobs)
    ours = admissions_of_engine(world, made, _READ)
    theirs = admissions_of_scenario(world, made, _READ)
    differ = [name for name in ours if ours[name] != theirs[name]]
    again = sum(len(times) - 1 for times in ours.values())
    first = f"; first: {differ[0]} {ours[differ[0]]} and {theirs[differ[0]]}" if differ else ""
    yield Gate(
        f"{jobs} jobs as in the scenario simulator",
        not differ,
        f"{len(differ)} differ, {again} admissions after an eviction{first}",
    )


def small_world(jobs: int, seed: int = 3) -> tuple[World, list[Job]]:
    """Two clusters of three nodes and three tenants with a queue each, which ask for more."""
    rng = random.Random(seed)  # noqa: S311 - a small world, nothing secret
    tenants = ("red", "green", "blue")
    world = World(
        clusters=[ClusterSpec(name=name, nodes=[NodesSpec(count=3)]) for name in ("east", "west")],
        queues=[
            QueueSpec(name=name, deserved={GPU: 16, "pods": 100, "cpu": 128, "memory": "1Ti"})
            for name in tenants
        ],
        tenants=[TenantSpec(name=name, namespaces=[name]) for name in tenants],
    )
    at, made = 0, []
    for number in range(jobs):
        at += rng.randint(1, 120)
        tenant = rng.choice(tenants[: 1 + min(2, number * 4 // jobs)])
        pods, gpus = rng.choice(((1, 1), (1, 2), (1, 4), (1, 8), (2, 4), (2, 8)))
        made.append(
            Job(
                number=number,
                name=f"job-{number}",
                submit=at * SECOND,
                duration=rng.randint(60, 1500) * SECOND,
                pods=pods,
                gpus=gpus,
                tenant=tenant,
                queue=tenant,
            )
        )
    return world, made


def hash_seeds() -> Iterator[Gate]:
    """Two processes with other hash seeds give the same bytes."""
    command = "from global_sched.sim.gates import digest; print(digest())"
    found = []
    for seed in ("1", "4711"):
        done = subprocess.run(  # noqa: S603 - this interpreter, and a text that stands above
            [sys.executable, "-c", command],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout.strip())
    text = f"SHA-256 {found[0][:16]} and {found[1][:16]}"
    yield Gate("two hash seeds give the same bytes", found[0] == found[1], text)


def digest(jobs: int = 60) -> str:
    """A hash of everything that becomes of the jobs of a small world, under ours."""
    world, made = small_world(jobs, seed=5)
    return hashlib.sha256(repr(admissions_of_engine(world, made, _READ)).encode()).hexdigest()


SMALL: Final[tuple[Callable[[], Iterator[Gate]], ...]] = (queueing, scenario, hash_seeds)
LARGE: Final[tuple[Callable[[], Iterator[Gate]], ...]] = (muri, philly, openb)
GATES: Final = (*SMALL, *LARGE)


def _near(name: str, micros: float, want: float, percent: float) -> Gate:
    have = micros / SECOND
    off = (have / want - 1) * 100
    text = f"{have:,.0f} s, {want:,.0f} s there, {off:+.1f} % (± {percent:g} %)"
    return Gate(name, abs(off) <= percent, text)


def _mean(micros: Sequence[int]) -> float:
    return sum(micros) / len(micros)


def _plain(values: Sequence[float]) -> float:
    return sum(values) / len(values)
