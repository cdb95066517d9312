"""Views of scenario worlds, as the commands have them of a live federation."""

from global_sched.core import run_cycle
from global_sched.scenario import parse
from global_sched.scenario.run import start
from global_sched.view.look import View

RACKS = """
scenario: one gang runs, one does not fit
world:
  clusters:
  - name: a
    domains: {a-spine: {tier: 2}, a-1: {tier: 1, parent: a-spine}, a-2: {tier: 1, parent: a-spine}}
    nodes: [{domain: a-1, count: 3}, {domain: a-2, count: 3}]
  - name: b
    domains: {b-1: {tier: 1}, b-2: {tier: 1}, b-10: {tier: 1}}
    nodes:
    - {domain: b-1, count: 4}
    - {domain: b-2, count: 1}
    - {domain: b-10, count: 1}
    - {domain: b-10, count: 1, cordoned: true}
  jobs:
  - {name: rack, tasks: [{replicas: 4}], topology: {highestTierAllowed: 1}, created: 1}
  - {name: too-wide, tasks: [{replicas: 5}], topology: {highestTierAllowed: 1}, created: 2}
"""


def scenario_view(text: str = RACKS) -> View:
    """The world of a scenario when nothing starts any more."""
    play = start(parse(text, "test.yaml").world, lambda _name: "")
    plan = play.settle()
    play.report()
    snapshot = play.snapshot()
    return View(
        state=play.state,
        snapshot=snapshot,
        policy=play.policy,
        policy_note="policy 0123456789ab",
        now=play.now,
        plan=run_cycle(snapshot, play.policy, play.now) if plan.admissions == () else plan,
    )
