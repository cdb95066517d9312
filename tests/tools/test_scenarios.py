"""`make scenarios`: what it takes, what it prints, and that nothing wrong passes."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.world import ClusterSpec, GroupPodSpec, GroupSpec, NodesSpec
from tools.scenarios.__main__ import main
from tools.scenarios.cases import read
from tools.scenarios.check import Watching

ROOT = Path(__file__).parents[2]

LABELS = {"volcano.sh/task-spec": "worker"}


def pod(name, *, node="", cpu="2", group="pg1", **more):
    """A pod of the data's own form."""
    phase = "Running" if node else "Pending"
    given = {"name": name, "node": node, "phase": phase, "req": {"cpu": cpu}, "group": group}
    return {**given, "labels": LABELS, "selector": {}, **more}


def unit_case(*pods, binds, group=None, **more):
    """Two domains of two nodes of two CPUs under one of tier 2; a gang of all pods, hard tier 1."""
    names = ["a1", "a2", "b1", "b2"]
    leaves = {"a": ["a1", "a2"], "b": ["b1", "b2"]}
    tree = {
        name: {"tier": 1, "tierName": None, "members": nodes, "memberType": ["Node", "Node"]}
        for name, nodes in leaves.items()
    }
    tree["top"] = {"tier": 2, "members": ["a", "b"], "memberType": ["HyperNode", "HyperNode"]}
    pod_group = {"name": "pg1", "minMember": len(pods), "mode": "hard", "highestTierAllowed": 1}
    return {
        "id": "U",
        "name": "a case",
        "podGroups": [pod_group | (group or {})],
        "pods": list(pods),
        "nodes": [
            {"name": n, "alloc": {"cpu": "2", "pods": "10"}, "labels": {"name": n}} for n in names
        ],
        "tree": tree,
        "expectBinds": binds,
        "onlyCount": True,
    } | more


def cluster_case(*, task, expect, **more):
    """One job on the cluster of eight nodes."""
    return {"id": "E", "name": "a case", "task": task, "expect": expect} | more


def results(tmp_path, *, unit=(), cluster=()):
    """What each case of a file gives."""
    path = tmp_path / "cases.json"
    path.write_text(json.dumps({"allocateUnit": list(unit), "hypernodeE2E": list(cluster)}))
    return [case.run() for case in read(path)]


PAIR = (pod("p1"), pod("p2"))


@pytest.mark.parametrize(
    ("case", "passed", "says"),
    [
        pytest.param(unit_case(*PAIR, binds=2), True, "2 bound", id="a gang that fits is bound"),
        pytest.param(
            unit_case(*PAIR, pod("p3"), binds=0), True, "room for 2 of 3 pods",
            id="one that does not fit stays unbound, and the reason is told",
        ),
        pytest.param(
            unit_case(*PAIR, binds=1), False, "2 pods are bound, wanted 1", id="a wrong count"
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, onlyCount=False, expectBindMap={"c1/p1": "b2"}),
            False, "pod p1 is on a1, wanted b2", id="a wrong node counts when not only counts do",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, expectBindMap={"c1/p1": "b2"}),
            True, "2 bound", id="and not when only counts do",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, onlyCount=False, expectBindNumsInHyperNode=[1, 1]),
            False, "wanted [1, 1]", id="a wrong size per domain",
        ),
        pytest.param(
            unit_case(pod("p1", selector={"name": "b2"}), binds=1, onlyCount=False,
                      expectBindMap={"c1/p1": "b2"}),
            True, "p1→b2", id="selectors are followed",
        ),
        pytest.param(
            unit_case(pod("p1", node="a1"), pod("p2"), binds=1), True, "p2→a2",
            id="a running pod holds its node, and the others go beside it",
        ),
        pytest.param(
            unit_case(
                *PAIR, pod("q", node="a1", group="other"), binds=2, group={"minMember": 2}
            ),
            True, "p1→b1",
            id="pods of a group that is not listed hold their nodes",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, group={"highestTierAllowed": 0, "highestTierName": "x"}),
            True, "no tier name 'x'", id="an unknown tier name is a refusal on purpose",
        ),
        pytest.param(
            unit_case(*PAIR, pod("p3"), binds=3, group={"mode": "", "highestTierAllowed": 0}),
            True, "3 bound", id="no mode is no constraint",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, tree=None, tiers={"1": ["a", "b"], "2": ["top"]},
                      realNodes={"a": ["a1", "a2"], "b": ["b1", "b2"],
                                 "top": ["a1", "a2", "b1", "b2"]}),
            True, "p1→a1, p2→a2", id="without a tree, tiers and nodes give it",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, tree=None, tiers={"0": ["a", "b"]},
                      realNodes={"a": ["a1", "a2"], "b": ["b1", "b2"],
                                 "top": ["a1", "a2", "b1", "b2"]}),
            True, "p1→a1, p2→a2", id="node sets of a name without a tier are no HyperNode",
        ),
        pytest.param(
            unit_case(pod("p1", selector={"name": "b2"}), binds=1, onlyCount=False,
                      group={"namespace": "ns"}, expectBindMap={"ns/p1": "b2"}),
            True, "p1→b2", id="a group's namespace is that of its pods",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, tiers=None, notes=None, expectBindMap=None,
                      group={"subGroupPolicy": None, "queue": None}),
            True, "2 bound", id="what is null says nothing",
        ),
        pytest.param(
            unit_case(*PAIR, binds=0, tree={}), True, "it has no HyperNodes",
            id="a hard constraint where there are no HyperNodes is a refusal on purpose",
        ),
    ],
)  # fmt: skip
def test_a_unit_case(tmp_path, case, passed, says):
    """One allocation cycle on the agent's own round: counts, nodes, sizes and reasons."""
    [result] = results(tmp_path, unit=[case])

    assert (result.passed, says in result.got) == (passed, True), result.line()


@pytest.mark.parametrize(
    ("case", "says"),
    [
        pytest.param(unit_case(*PAIR, binds=2, surprise=1), "surprise", id="an unknown field"),
        pytest.param(
            unit_case(*PAIR, binds=2, group={"mode": "firm"}), "'firm'", id="an unknown mode"
        ),
        pytest.param(
            unit_case(pod("p1", phase="Dreaming"), binds=1), "'Dreaming'", id="an unknown phase"
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, onlyCount=False, expectBindMap={"c1/p9": "a1"}),
            "p9", id="an expectation about no pod",
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, tree=None, tiers={"1": ["a"]}, realNodes={"b": ["b1"]}),
            "tiers and realNodes differ", id="tiers without nodes",
        ),
        pytest.param(
            unit_case(pod("p1"), pod("p1"), binds=2), "c1/p1", id="a pod that is there twice"
        ),
        pytest.param(
            unit_case(*PAIR, binds=2, nodes=[{"name": "a1", "alloc": {"cpu": "2"}}] * 2),
            "nodes: there twice: a1", id="a node that is there twice",
        ),
        pytest.param({"id": "U"}, "missing required field", id="almost nothing"),
    ],
)  # fmt: skip
def test_a_case_that_cannot_be_read_has_failed(tmp_path, case, says):
    """Never a silent pass: the line names what is not known, and the other cases go on."""
    bad, good = results(tmp_path, unit=[case, unit_case(*PAIR, binds=2)])

    assert (bad.passed, good.passed) == (False, True)
    assert says in bad.got


TASK = {"cpu": 2, "replicas": 2, "min": 2, "partitionPolicy": None}
TIER_1 = {"mode": "hard", "highestTierAllowed": 1}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "passed", "says"),
    [
        pytest.param(
            cluster_case(
                task=TASK,
                jobNetworkTopology=TIER_1,
                blockers=[{"node": "kwok-node-2", "cpu": 1, "memGi": 1}],
                expect={"allPodsOnNodes": ["kwok-node-2", "kwok-node-3"], "thenKillPods": 1,
                        "podsPerHyperNodeInclBlockers": {"s1": 3}},
            ),
            True, "2 bound", id="bound beside what runs, killed, and back in the same domain",
        ),
        pytest.param(
            cluster_case(
                task=TASK | {"replicas": 20, "min": 20},
                jobNetworkTopology=TIER_1,
                expect={"pendingAtLeast": 20},
            ),
            True, "nodes for 6", id="pending for good, and the reason is on the binding",
        ),
        pytest.param(
            cluster_case(task=TASK, jobNetworkTopology=TIER_1, expect={"pendingAtLeast": 2}),
            False, "0 pods wait", id="a wrong expectation fails",
        ),
        pytest.param(
            cluster_case(
                task=TASK, jobNetworkTopology=TIER_1, expect={"pendingAtLeast": 2},
                blockers=[{"node": f"kwok-node-{n}", "cpu": 4, "memGi": 4} for n in range(8)],
                notes=["too small; use task cpu/mem=5 to get the named behaviour"],
            ),
            True, "0 bound", id="a note corrects the size of the pods",
        ),
    ],
)  # fmt: skip
def test_a_cluster_case(tmp_path, case, passed, says):
    """A whole federation over HTTP: where pods are once nothing happens any more, and why not."""
    [result] = results(tmp_path, cluster=[case])

    assert (result.passed, says in result.got) == (passed, True), result.line()


@pytest.mark.parametrize(
    ("case", "says"),
    [
        pytest.param(cluster_case(task=TASK, expect={}), "says nothing", id="no expectation"),
        pytest.param(
            cluster_case(task=TASK, expect={"podsPerHyperNodeInclBlockers": {"s9": 1}}),
            "no HyperNode 's9'", id="a HyperNode that does not exist",
        ),
        pytest.param(
            cluster_case(task=TASK, expect={"pendingAtLeast": 1}, jobColor="red"),
            "jobColor", id="an unknown field",
        ),
    ],
)  # fmt: skip
def test_a_cluster_case_that_cannot_be_read_has_failed(tmp_path, case, says):
    """Like those of the first kind."""
    [result] = results(tmp_path, cluster=[case])

    assert (result.passed, says in result.got) == (False, True)


VOLCANO = list(read(ROOT / "tests" / "scenarios" / "volcano-hypernode.yaml"))


@pytest.mark.slow
@pytest.mark.parametrize("case", VOLCANO, ids=lambda case: case.name)
def test_volcanos_cluster_cases_on_a_federation(case):
    """The file also runs in memory, with all scenarios; here real programs decide, over HTTP."""
    result = case.run()

    assert result.passed, result.line()


def test_the_command_counts_and_fails(tmp_path):
    """One line per case, the count at the end, and an exit code that says whether all passed."""
    good, bad = unit_case(*PAIR, binds=2), unit_case(*PAIR, binds=1)
    (tmp_path / "good.json").write_text(json.dumps({"allocateUnit": [good]}))
    (tmp_path / "bad.json").write_text(json.dumps({"allocateUnit": [good, bad]}))

    fine = CliRunner().invoke(main, [str(tmp_path / "good.json")])
    wrong = CliRunner().invoke(main, [str(tmp_path / n) for n in ("good.json", "bad.json", "no")])

    assert (fine.exit_code, fine.output.splitlines()[-1]) == (0, "1 passed, 0 failed")
    assert (wrong.exit_code, wrong.output.splitlines()[-1]) == (1, "2 passed, 2 failed")
    assert [line.split()[0] for line in wrong.output.splitlines()[:-2]] == [
        "PASS", "PASS", "FAIL", "FAIL",
    ]  # fmt: skip
    assert fine.output.splitlines()[-2] == "0 answers not proven within the search limit"


def test_the_converted_file_is_the_same_case(tmp_path):
    """What is written in the project's own format gives what the original gives."""
    (tmp_path / "one.json").write_text(json.dumps({"allocateUnit": [unit_case(*PAIR, binds=2)]}))

    done = CliRunner().invoke(main, ["--convert", str(tmp_path), str(tmp_path / "one.json")])
    [case] = read(tmp_path / "volcano-allocate.yaml")

    assert done.exit_code == 0
    assert case.run().passed


class Liar:
    """An agent that binds as scripted, whatever the rules say."""

    def __init__(self, nodes):
        self.nodes = nodes

    def bind(self, _cluster, groups, _read):
        """The same answer for every group."""
        return {
            f"{group.namespace}/{group.name}": PodLocations(nodes=self.nodes) for group in groups
        }


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        pytest.param({"p1": "n1", "p2": "n1"}, "node n1 holds cpu", id="too much on a node"),
        pytest.param({"p1": "n1"}, "its minimum is 2", id="less than the minimum"),
        pytest.param({"p1": "n1", "p2": "n2"}, None, id="all is well"),
    ],
)
def test_what_an_agent_binds_is_checked(nodes, want):
    """A right count in a wrong place does not pass."""
    room = [NodesSpec(name=name, allocatable={"cpu": 2}) for name in ("n1", "n2")]
    pods = [GroupPodSpec(name=name, requests={"cpu": 2}) for name in ("p1", "p2")]
    watching = Watching(Liar(nodes))

    watching.bind(
        ClusterSpec(name="c", nodes=room),
        [GroupSpec(name="g", min_member=2, pods=pods)],
        lambda name: Path(name).read_text(encoding="utf-8"),
    )

    assert [want in text for text in watching.violations] == ([True] if want else [])


def test_a_tree_that_goes_in_a_circle_ends_no_run(tmp_path):
    """The bad part is set aside, the other cases go on, and each has its line."""
    ring = {
        "x": {"tier": 2, "members": ["y"], "memberType": ["HyperNode"]},
        "y": {"tier": 3, "members": ["x"], "memberType": ["HyperNode"]},
    }
    good = unit_case(*PAIR, binds=2)
    bad = unit_case(*PAIR, binds=2, tree=good["tree"] | ring)

    found = results(tmp_path, unit=[bad, good])

    assert [one.passed for one in found] == [True, True], [one.line() for one in found]


def test_a_case_has_one_line(tmp_path):
    """Line breaks in names and reasons do not make a second one."""
    [result] = results(tmp_path, unit=[unit_case(*PAIR, binds=2, name="two\nlines")])

    assert "\n" not in result.line()
