"""The same jobs through the scenario simulator: real objects, the cache, patches, members.

It is slow and it is what scenario files are tested with, so it says whether `engine` and `ours`
admit what the leader would.
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace

from global_sched.controllers.scheduling_timer import next_due
from global_sched.scenario.members import Read
from global_sched.scenario.run import start
from global_sched.scenario.simulator import Simulator
from global_sched.scenario.steps import submit
from global_sched.scenario.world import JobSpec, TaskSpec, World
from global_sched.shared.model.ids import MAIN
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Workload
from global_sched.sim.engine import Stage
from global_sched.sim.jobs import GPU, Gangs, Job
from global_sched.sim.member import Member
from global_sched.sim.ours import BEGIN, Ours, Sharing
from global_sched.sim.world import queues_of, tenants_of, topology_of

Admissions = dict[str, tuple[tuple[int, str], ...]]
"""By job: (second, cluster) of each time at which it was admitted."""


def admissions_of_engine(world: World, jobs: Sequence[Job], read: Read) -> Admissions:
    """What `engine` and `ours` admit."""
    members = [Member(one.name, topology_of(one, read)) for one in world.clusters]
    stage = Stage(jobs, members, Gangs())
    queues = queues_of(world.queues, {})
    ours = Ours(stage, Sharing(queues=queues, tenants=tenants_of(world.tenants, jobs, {})))
    stage.run(ours)
    return {
        one.job.name: tuple((span[0] // SECOND, members[span[3]].name) for span in one.spans)
        for one in stage.history.values()
    }


def admissions_of_scenario(world: World, jobs: Sequence[Job], read: Read) -> Admissions:
    """What the scenario simulator admits when the same jobs come, run and end.

    Times of the jobs are whole seconds, and each tenant is a namespace of its name.
    """
    play = start(world, read)
    heap = [(job.submit // SECOND, 1, job.number, "") for job in jobs]
    heapq.heapify(heap)
    by_number = {job.number: job for job in jobs}
    running: dict[int, str] = {}
    found: dict[str, list[tuple[int, str]]] = {job.name: [] for job in jobs}
    while heap:
        second = heap[0][0]
        play.now = Instant(BEGIN + second * SECOND)
        play.begin_step()
        while heap and heap[0][0] == second:
            _, kind, number, decision = heapq.heappop(heap)
            if kind == 1:
                submit(play, _spec(by_number[number]))
            elif kind == 0 and running.get(number) == decision:
                del running[number]
                play.finish(_name(by_number[number]))
        play.propagate()
        play.settle()
        admitted = {int(one.name.rpartition("-")[2]): one for one in _admitted(play)}
        running = {number: known for number, known in running.items() if number in admitted}
        for number, one in sorted(admitted.items()):
            decision = "" if one.decision is None else str(one.decision.id)
            if running.get(number) != decision:
                job = by_number[number]
                running[number] = decision
                found[job.name].append((second, str(one.targets[0].cluster)))
                heapq.heappush(heap, (second + job.duration // SECOND, 0, number, decision))
        due = next_due(replace(play.snapshot(), clusters=()), play.policy, play.now)
        if due is not None:
            heapq.heappush(heap, (-(-(due - BEGIN) // SECOND), 2, -1, ""))
    return {name: tuple(times) for name, times in found.items()}


def _admitted(play: Simulator) -> list[Workload]:
    return [one for one in play.state.workloads() if one.admitted()]


def _name(job: Job) -> str:
    return f"{job.tenant}/{job.name}"


def _spec(job: Job) -> JobSpec:
    """The Volcano Job of a job whose name ends in its number."""
    return JobSpec(
        name=job.name,
        namespace=job.tenant,
        queue=job.queue,
        created=job.submit // SECOND,
        tasks=[TaskSpec(name=MAIN, replicas=job.pods, requests={GPU: job.gpus})],
    )
