"""Worlds written as scenarios, played to their end, and what jobs are told there."""

from global_sched.core import explain
from global_sched.scenario import parse
from global_sched.scenario.run import start
from global_sched.scenario.steps import take
from global_sched.shared.model.explanation import Explanation

ONE_NODE = "[{name: m, nodes: [{allocatable: {cpu: 1}}]}]"


def explained(text: str, job: str) -> Explanation:
    """What a job of the scenario `text` is told once all steps were taken.

    `text` is what stands under `world`, and `steps` if there are any.
    """
    scenario = parse(f"scenario: a test\n{text}", "test.yaml")
    play, policy = start(scenario.world, lambda _name: ""), scenario.world.policy
    play.settle()
    for step in scenario.steps:
        play.begin_step()
        policy = take(play, step, policy)
        play.settle()
    found = explain(play.snapshot(), play.policy, play.now, play.workload(job).key)
    assert found is not None
    return found


def remedies(text: str, job: str) -> list[tuple[str, bool]]:
    """What would let it run, and whether that is enough."""
    return [(one.text, one.enough) for one in explained(text, job).remedies]
