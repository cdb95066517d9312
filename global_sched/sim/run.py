"""An experiment: every window, load, seed and arm, with the same jobs for all arms."""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from global_sched.scenario.members import Read
from global_sched.scenario.world import ScenarioError
from global_sched.shared.api import yaml_text
from global_sched.shared.model.gang import Mode
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.topology import Topology
from global_sched.shared.placement import Placed, Space
from global_sched.sim.baselines import BASELINES, SILOS
from global_sched.sim.engine import Arm, Stage
from global_sched.sim.errors import SimulationError
from global_sched.sim.experiment import ArmSpec, Experiment, policy_of
from global_sched.sim.jobs import Dropped, Gangs, Job, arriving
from global_sched.sim.member import Member
from global_sched.sim.metrics import Figures, figures
from global_sched.sim.ours import Ours, Sharing
from global_sched.sim.traces import read_jobs
from global_sched.sim.world import (
    asked_for,
    gpu_sizes,
    narrowed,
    pooled,
    queue_set,
    queues_of,
    silo_topology,
    tenants_of,
    topology_of,
    with_queue,
    without_reclaim,
)

Tell = Callable[["Case", int, int, int], None]
"""Called with the case, the events so far, all events, and the instant."""


@dataclass(frozen=True, slots=True)
class Case:
    """One run of one arm."""

    arm: ArmSpec
    window: tuple[float, float] | None
    load: float
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """What came out of a case, and the stage for plots."""

    case: Case
    figures: Figures
    stage: Stage


@dataclass(frozen=True, slots=True)
class Prepared:
    """An experiment with its jobs and members, checked."""

    experiment: Experiment
    jobs: tuple[Job, ...]
    dropped: tuple[Dropped, ...]
    topologies: Mapping[str, Topology]
    weights: Mapping[str, int]
    policies: Mapping[str, Mapping[str, object]]
    """The fields of the policy files, by arm."""
    sha256: str


def prepare(experiment: Experiment, read: Read) -> Prepared:
    """Read the trace and the world, and drop what some arm can never run.

    Raises:  SimulationError.
    """
    text = read(experiment.trace.file)
    spec = experiment.trace
    jobs = read_jobs(text, spec.format, spec.file, spec.gpus_per_node)
    try:
        topologies = {one.name: topology_of(one, read) for one in experiment.world.clusters}
    except ScenarioError as error:
        raise SimulationError(f"world: {error}") from error
    asked = asked_for(jobs, experiment.world)
    topologies = {name: narrowed(one, asked) for name, one in topologies.items()}
    weights = dict(sorted(experiment.silos.items()))
    names = queue_set(queues_of(experiment.world.queues, weights))
    jobs = [with_queue(job, names) for job in jobs]
    for job in jobs:
        if job.queue not in names:
            raise SimulationError(
                f"{spec.file}: line {job.line}: queue: {job.queue!r} is not in world.queues; "
                f"there are {', '.join(sorted(names))}"
            )
    if spec.hard_tiers:
        jobs = _with_tiers(jobs, list(topologies.values()))
    kept, dropped = _held(experiment, jobs, topologies)
    if dropped and spec.too_large == "refuse":
        first = dropped[0]
        raise SimulationError(
            f"{spec.file}: line {first.line}: {first.reason} ({len(dropped)} such jobs); make the "
            "world larger, or set trace.tooLarge: drop to leave them out of all arms"
        )
    policies = {}
    for arm in experiment.arms:
        more = _fields(read(arm.policy_file), arm.policy_file) if arm.policy_file else {}
        policies[arm.title] = more
        policy_of(experiment, arm, dict(more))
    return Prepared(
        experiment,
        tuple(kept),
        tuple(dropped),
        topologies,
        weights,
        policies,
        hashlib.sha256(text.encode()).hexdigest(),
    )


def _fields(text: str, source: str) -> dict[str, object]:
    found = yaml_text.read(text)
    if not isinstance(found, dict):
        raise SimulationError(f"{source}: is no Policy; give its fields, one a line")
    spec = found.get("policy", found)
    return dict(spec) if isinstance(spec, dict) else {}


def cases(prepared: Prepared, arms: Sequence[ArmSpec]) -> Iterator[Case]:
    """All runs in order: windows, loads, seeds, and the arms side by side."""
    experiment = prepared.experiment
    spans: list[tuple[float, float] | None] = [*experiment.windows] or [None]
    for span in spans:
        for load in experiment.loads:
            for seed in range(experiment.seeds):
                for arm in arms:
                    yield Case(arm, span, load, seed)


def simulate(prepared: Prepared, case: Case, tell: Tell | None = None) -> Result:
    """Run one case to the end of its last job."""
    jobs = jobs_of(prepared, case)
    arm = case.arm
    sizes = gpu_sizes(jobs)
    if not arm.topology:
        jobs = [replace(job, tier=None) for job in jobs]
    if not arm.surplus:
        jobs = [_at_minimum(job) for job in jobs]
    members = [Member(name, one, sizes) for name, one in members_of(prepared, arm).items()]
    stage = Stage(jobs, members, Gangs(), arm.checkpoint_seconds * SECOND)
    chosen = _arm(prepared, arm, stage, jobs)
    shown = None
    if tell is not None:
        shown = partial(_shown, tell, case, 2 * len(jobs))
    stage.run(chosen, tick=prepared.experiment.tick_seconds * SECOND, progress=shown)
    cycles = chosen.cycles if isinstance(chosen, Ours) else 0
    return Result(case, figures(stage, prepared.weights, cycles), stage)


def _shown(tell: Tell, case: Case, whole: int, events: int, now: int) -> None:
    tell(case, events, whole, now)


def jobs_of(prepared: Prepared, case: Case) -> list[Job]:
    """The jobs of a case, numbered anew in the order in which they come."""
    found = arriving(prepared.jobs, case.window, case.load)
    if not found:
        raise SimulationError(f"window {case.window}: no job comes in it; choose other days")
    if case.seed:
        found = _jittered(found, case.seed, prepared.experiment.jitter_seconds)
    return found


def _jittered(jobs: Sequence[Job], seed: int, seconds: int) -> list[Job]:
    rng = random.Random(seed)  # noqa: S311 - a seed's arrivals, nothing secret
    moved = [
        replace(job, submit=max(0, job.submit + rng.randint(-seconds, seconds) * SECOND))
        for job in jobs
    ]
    moved.sort(key=lambda job: (job.submit, job.number))
    return [replace(job, number=number) for number, job in enumerate(moved)]


def members_of(prepared: Prepared, arm: ArmSpec) -> dict[str, Topology]:
    """The clusters of an arm: the world's, one of all nodes, or one for each tenant."""
    world = prepared.topologies
    if arm.baseline in SILOS:
        return _silos(prepared.experiment, world)
    return {"pool": pooled(list(world.values()))} if arm.pooled else dict(world)


def _silos(experiment: Experiment, world: Mapping[str, Topology]) -> dict[str, Topology]:
    like = next(iter(world.values()))
    return {
        tenant: silo_topology(nodes, like.leaves[0], like.axis)
        for tenant, nodes in sorted(experiment.silos.items())
    }


def _arm(prepared: Prepared, arm: ArmSpec, stage: Stage, jobs: Sequence[Job]) -> Arm:
    if arm.baseline:
        return BASELINES[arm.baseline](stage)
    world = prepared.experiment.world
    queues = queues_of(world.queues, prepared.weights)
    return Ours(
        stage,
        Sharing(
            policy=policy_of(prepared.experiment, arm, dict(prepared.policies[arm.title])),
            queues=queues if arm.reclaim else without_reclaim(queues),
            tenants=tenants_of(world.tenants, jobs, prepared.weights),
            early=arm.early_binding,
        ),
    )


def _at_minimum(job: Job) -> Job:
    """The job with its least pods, which then take longer for the same work."""
    if job.least == job.pods:
        return job
    duration = -(-job.duration * job.pods // job.least)
    return replace(job, pods=job.least, minimum=0, duration=duration)


def _held(
    experiment: Experiment, jobs: Sequence[Job], world: Mapping[str, Topology]
) -> tuple[list[Job], list[Dropped]]:
    """The jobs that every arm can run at some time, and the others with the reason."""
    gangs = Gangs()
    members = [Member(name, one) for name, one in world.items()]
    silos: dict[str, Member] = {}
    if any(arm.baseline in SILOS for arm in experiment.arms):
        silos = {name: Member(name, one) for name, one in _silos(experiment, world).items()}
    kept, dropped = [], []
    for job in jobs:
        gang = gangs.of(job)
        asks, why = f"pods, gpus_per_pod: {job.pods} × {job.gpus} GPUs", ""
        if not any(member.holds(gang) for member in members):
            why = f"{asks} are more than any cluster holds"
        elif silos and job.tenant not in silos:
            why = f"tenant: {job.tenant!r} has no silo"
        elif silos and not silos[job.tenant].holds(gangs.of(replace(job, tier=None))):
            why = f"{asks} are more than its tenant's silo holds"
        if why:
            dropped.append(Dropped(job.name, job.line, why))
        else:
            kept.append(job)
    return kept, dropped


def reasons(dropped: Sequence[Dropped]) -> dict[str, int]:
    """How many jobs were dropped for each kind of reason."""
    kinds = Counter(
        "has no silo" if "has no silo" in one.reason else one.reason.partition(" are ")[2]
        for one in dropped
    )
    return dict(sorted(kinds.items()))


def _with_tiers(jobs: Sequence[Job], topologies: Sequence[Topology]) -> list[Job]:
    """Gangs of several pods with the lowest tier at which an empty cluster holds them."""
    tiers = sorted({domain.tier for one in topologies for domain in one.domains})
    spaces = [Space(one) for one in topologies]
    gangs = Gangs()
    known: dict[int, int | None] = {}
    found = []
    for job in jobs:
        if job.pods == 1 or job.tier is not None:
            found.append(job)
            continue
        key = id(gangs.of(job))
        if key not in known:
            known[key] = next(
                (
                    tier
                    for tier in tiers
                    for space in spaces
                    if isinstance(
                        space.place(gangs.of(replace(job, tier=tier, mode=Mode.HARD))), Placed
                    )
                ),
                None,
            )
        found.append(replace(job, tier=known[key], mode=Mode.HARD))
    return found
