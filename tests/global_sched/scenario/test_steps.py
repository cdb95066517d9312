"""Steps of a scenario, and the report of each that does not hold."""

import pytest

from global_sched.scenario import ScenarioError, parse, parse_all, run

WORLD = """
scenario: s
world:
  clusters:
  - name: a
    domains: {r1: {tier: 1}}
    nodes: [{domain: r1, count: 2}]
  priorityClasses: {high: 10}
  queues: [{name: top}, {name: q, parent: top}, {name: sub, parent: top}]
  tenants: [{name: lab, namespaces: [lab]}]
  jobs:
  - {name: one, namespace: lab, queue: q}
"""


def failures(text):
    """What does not hold, without the instants."""
    return [one.partition(": ")[2] for one in run(parse(WORLD + text), lambda _: "").failures]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("expectAll: {running: [one], evicted: [], shrunk: {}}", [], id="all is well"),
        pytest.param(
            "expectAll: {running: []}",
            ["running are ['lab/one'], wanted []"],
            id="a job runs that should not",
        ),
        pytest.param(
            "expectAll: {evicted: [one], evictions: 1}",
            ["evicted are [], wanted ['one']", "0 jobs were evicted ([]), wanted 1"],
            id="nobody was evicted",
        ),
        pytest.param(
            "expectAll: {shrunk: {one: 1}}",
            ["pods were given back by {}, wanted {'one': 1}"],
            id="nobody gave pods back",
        ),
        pytest.param(
            "expectAll: {held: {q: {nvidia.com/gpu: 8}, tenant/lab: {nvidia.com/gpu: 9}}}",
            ["tenant/lab holds nvidia.com/gpu: 8, wanted 9 (9)"],
            id="a tenant holds less",
        ),
        pytest.param(
            "expect: {one: {cluster: '', bound: 2, onNodes: [r1-1], nodes: {one-worker-0: r1-1}}}",
            [
                "one: cluster is a, wanted None",
                "one: 1 pods are bound, wanted 2: {'one-worker-0': 'r1-0'}",
                "one: pod one-worker-0 is on r1-0, wanted r1-1",
                "one: its pods are on {'r1-0': 1}, wanted ['r1-1']",
            ],
            id="where its pods are",
        ),
        pytest.param(
            "expect: {one: {podsIn: {r1: 2}, sizes: [2], waiting: 1}}",
            [
                "one: 0 pods wait, wanted at least 1: {'one-worker-0': 'r1-0'}",
                "one: 1 of its pods are in r1, wanted 2",
                "one: its pods lie in domains as {'r1': 1}, wanted [2]",
            ],
            id="how many of them are where",
        ),
    ],
)
def test_what_does_not_hold_is_told(text, want):
    """Both sides of every difference: what was wanted and what is."""
    assert failures(text) == want


def test_jobs_of_queues_below_count_for_the_queue():
    """`held` of a queue is that of its whole subtree."""
    text = """
steps:
- submit: [{name: two, queue: sub}]
  expectAll: {held: {top: {nvidia.com/gpu: 16}, q: {nvidia.com/gpu: 8}}}
"""
    assert failures(text) == []


def test_a_lost_node_moves_its_pods_and_no_others():
    """Pods stay where they are bound; those of a node that is gone are placed anew."""
    text = """
steps:
- loseNodes: {a: [r1-0]}
  expect: {one: {onNodes: [r1-1], sameDomain: true}}
"""
    assert failures(text) == []


def test_sharing_changes_and_is_taken_back():
    """Priority classes, tenants and queues come and go between steps; the Policy changes."""
    text = """
steps:
- priorityClasses: {urgent: 20}
  tenants: [{name: lab, namespaces: [lab], queues: [other]}]
  policy: {admissions_per_cycle: 50}
  submit: [{name: two, namespace: lab, queue: q, priorityClass: urgent}]
  expect: {two: {pending: NEVER, reason: QueueNotAllowed}}
- deleteTenants: [lab]
  deletePriorityClasses: [urgent]
  expect: {two: {pending: WAIT, reason: PriorityClassMissing}}
- deleteQueues: [q]
  priorityClasses: {urgent: 20}
  expect: {two: {pending: WAIT, reason: QueueMissing}}
"""
    assert failures(text) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("steps: [{loseNodes: {b: [n]}}]", "'b' is not a cluster", id="a cluster"),
        pytest.param("steps: [{failNodes: {a: [n]}}]", "a has no node n", id="a node"),
        pytest.param(
            "steps: [{resize: {one: {boss: 1}}}]", "no task 'boss'; it has worker", id="a task"
        ),
        pytest.param(
            "steps: [{killPods: {one: 5}}]",
            "one has 1 pods that run",
            id="more pods than there are",
        ),
        pytest.param("steps: [{policy: {speed: 1}}]", "world.policy.speed", id="a Policy field"),
    ],
)
def test_a_step_about_nothing_says_what_there_is(text, says):
    """Errors name what is not known."""
    with pytest.raises(ScenarioError, match=says):
        failures(text)


def test_groups_need_an_agent():
    """PodGroups of a member are the agent's: without one the file says how to run it."""
    text = "scenario: s\nworld: {clusters: [{name: a}], groups: [{name: g}]}"
    with pytest.raises(ScenarioError, match="make scenarios"):
        run(parse(text), lambda _: "")


def test_the_cases_of_a_suite_share_its_world():
    """A case's own parts of the world stand in place of the suite's."""
    text = """
suite: s
world:
  clusters: [{name: a, nodes: [{}]}]
  jobs: [{name: shared}]
cases:
- {scenario: first, expect: {shared: {cluster: a}}}
- {scenario: second, world: {jobs: [{name: own}]}, expect: {own: {cluster: a}}}
"""
    cases = parse_all(text)

    assert [one.scenario for one in cases] == ["first", "second"]
    assert [run(one, lambda _: "").failures for one in cases] == [(), ()]


def test_a_bad_case_of_a_suite_is_named():
    """The error says which case, and where in it."""
    text = "suite: s\nworld: {clusters: []}\ncases: [{scenario: one}, {scenario: two, expct: {}}]"
    with pytest.raises(ScenarioError, match=r"x: case 2 \(two\): .*`expct`"):
        parse_all(text, "x")


def test_a_suite_is_not_one_scenario():
    """A suite where one scenario is expected is refused with a remedy."""
    with pytest.raises(ScenarioError, match="x: it is a suite of cases: try it with gsched whatif"):
        parse("suite: s\ncases: []", "x")
