"""Steps of a scenario: changes to its world."""

from collections.abc import Mapping
from dataclasses import fields

from pydantic import TypeAdapter, ValidationError

from global_sched.scenario.format import Step
from global_sched.scenario.jobs import policy_of, template_of
from global_sched.scenario.member_world import MemberWorld
from global_sched.scenario.objects import (
    cluster_object,
    priority_object,
    queue_object,
    tenant_object,
)
from global_sched.scenario.simulator import Simulator
from global_sched.scenario.world import JobSpec, ScenarioError
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.words import did_you_mean


def policy_from(values: Mapping[str, object]) -> Policy:
    """The Policy with the scenario's changes. Raises ScenarioError."""
    try:
        return TypeAdapter(Policy).validate_python(dict(values), extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        why = first["msg"]
        if first["type"] == "unexpected_keyword_argument":
            hint = did_you_mean(place, [one.name for one in fields(Policy)])
            why = f"is no field of a Policy{hint}"
        raise ScenarioError(f"world.policy.{place}: {why}") from error


def submit(play: Simulator, job: JobSpec, *, begun: int = 0) -> None:
    """A job and its policy are applied, `begun` seconds after the start at the earliest."""
    play.apply(template_of(job), created=max(begun, job.created), running=job.running)
    play.apply(policy_of(job))


def take(play: Simulator, step: Step, policy: Mapping[str, object]) -> dict[str, object]:
    """Let one step happen, in the order of its fields; the Policy's changes so far."""
    play.now = Instant(play.now + step.wait_seconds * SECOND)
    for name in step.finish:
        play.finish(name)
    for name in step.fail:
        play.finish(name, well=False)
    for name in step.delete:
        play.delete(name)
    _change_sharing(play, step)
    changes = {**policy, **step.policy}
    if step.policy:
        play.policy = policy_from(changes)
    for job in step.submit:
        submit(play, job, begun=play.seconds())
    play.propagate()
    for name, replicas in step.resize.items():
        play.resize(name, replicas)
    _change_members(play, step)
    return changes


def _change_sharing(play: Simulator, step: Step) -> None:
    """Priority classes, queues and tenants."""
    for name, value in step.priority_classes.items():
        play.apply(priority_object(name, value))
    for name in step.delete_priority_classes:
        play.drop("PriorityClass", name)
    for queue in step.queues:
        play.apply(queue_object(queue))
    for name in step.delete_queues:
        play.drop("Queue", name)
    for tenant in step.tenants:
        play.apply(tenant_object(tenant))
    for name in step.delete_tenants:
        play.drop("Tenant", name)
    for names, state in ((step.close_queues, "Closed"), (step.open_queues, "Open")):
        for name in names:
            play.set_queue_state(name, state)


def _change_members(play: Simulator, step: Step) -> None:
    """Reports, nodes and clusters."""
    for name, age in step.report_age.items():
        agent = member_of(play, name).agent
        if agent is not None:
            agent.report_age_seconds = age
    for name, nodes in step.lose_nodes.items():
        member_of(play, name).lose(nodes)
    for name, nodes in step.fail_nodes.items():
        member_of(play, name).set_nodes(nodes, ready=False)
    for name, nodes in step.mend_nodes.items():
        member_of(play, name).set_nodes(nodes, ready=True, cordoned=False)
    for name, nodes in step.cordon_nodes.items():
        member_of(play, name).set_nodes(nodes, cordoned=True)
    for name, groups in step.add_nodes.items():
        member_of(play, name).add(groups)
    for name, killed in step.kill_pods.items():
        play.kill(name, killed)
    for names, ready in ((step.fail_clusters, False), (step.mend_clusters, True)):
        for name in names:
            spec = member_of(play, name).spec
            spec.ready = ready
            play.apply(cluster_object(spec))
    for name, jobs in step.take_out.items():
        member_of(play, name)
        for job in jobs:
            play.take_out(job, name)
    for name in step.mend_clusters:
        play.end_tasks(name)


def member_of(play: Simulator, name: str) -> MemberWorld:
    """The member of that name. Raises ScenarioError."""
    if name not in play.members:
        raise ScenarioError(f"{name!r} is not a cluster of this scenario")
    return play.members[name]
