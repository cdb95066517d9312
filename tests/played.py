"""Worlds written as scenarios, played to their end, and the reasons of jobs there."""

from global_sched.core import explain_workload
from global_sched.scenario import parse
from global_sched.scenario.run import start
from global_sched.scenario.steps import take
from global_sched.shared.model.explanation import Explanation

ONE_NODE = "[{name: m, nodes: [{allocatable: {cpu: 1}}]}]"


def behind_patience(job: str, *, of: str = "default", more: str = "") -> str:
    """A world in which `job` comes after a gang for which 4 CPUs of its queue's limit are kept.

    `job` is what j says beside its name and queue, `of` the namespace of the others, `more` a line
    under `world`.
    """
    return f"""\
world:
  policy: {{patience_seconds: 10}}
  clusters: [{{name: m, nodes: [{{count: 9, allocatable: {{cpu: 1}}}}]}}]
  queues: [{{name: a, capability: {{cpu: 4}}}}]
  {more}
  jobs:
  - {{name: r, namespace: {of}, queue: a, tasks: [{{replicas: 3, requests: {{cpu: 1}}}}]}}
  - {{name: big, namespace: {of}, queue: a, created: 1,
     tasks: [{{replicas: 4, requests: {{cpu: 1}}}}]}}
steps:
- waitSeconds: 20
  submit: [{{name: j, queue: a, {job}}}]
"""


def explained(text: str, job: str) -> Explanation:
    """The reason of a job of the scenario `text` once all steps were taken.

    `text` is what stands under `world`, and `steps` if there are any.
    """
    scenario = parse(f"scenario: a test\n{text}", "test.yaml")
    play, policy = start(scenario.world, lambda _name: ""), scenario.world.policy
    play.settle()
    for step in scenario.steps:
        play.begin_step()
        policy = take(play, step, policy)
        play.settle()
    found = explain_workload(play.snapshot(), play.policy, play.now, play.workload(job).key)
    assert found is not None
    return found


def remedies(text: str, job: str) -> list[tuple[str, bool]]:
    """What would let it run, and whether that is enough."""
    return [(one.text, one.enough) for one in explained(text, job).remedies]
