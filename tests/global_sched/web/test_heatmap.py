"""The heat map: cells by node or class, colours by what is held, and the room of each domain."""

from dataclasses import replace

import pytest

from global_sched.core import explain_workload
from global_sched.web import heatmap
from tests.global_sched.cli.worlds import scenario_view


def drawn(view, name, mode="queue", job=None):
    """The racks of a member: name, styles of the cells, and its room for a job."""
    jobs = {one.binding_id: one for one in view.state.workloads() if one.admitted()}
    legend = heatmap.legend_of(view.snapshot.clusters, jobs, heatmap.owner_of(mode))
    cluster = next(one for one in view.snapshot.clusters if one.name == name)
    found = None
    if job is not None:
        key = next(one.key for one in view.state.workloads() if one.name == job)
        found = explain_workload(view.snapshot, view.policy, view.now, key)
    return {
        (block.name, rack.name): ([cell.style for cell in rack.cells], rack.holds, rack.wants)
        for block in heatmap.blocks_of(cluster, jobs, mode, legend, found)
        for rack in block.racks
    }


def test_a_cell_is_a_node_and_a_cordoned_one_is_crossed_out():
    """Racks in their order; what a gang holds has its colour, what takes no pods has its own."""
    view = scenario_view()

    assert drawn(view, "b") == {
        ("", "b-1"): (["k0"] * 4, None, None),
        ("", "b-2"): (["free"], None, None),
        ("", "b-10"): (["free", "troubled"], None, None),
    }
    assert list(drawn(view, "b", "fullness").values()) == [
        (["f4"] * 4, None, None),
        (["f0"], None, None),
        (["f0", "troubled"], None, None),
    ]


def test_beside_a_gang_each_domain_says_its_room():
    """Three of five pods would go into each rack of a; the explanation says so."""
    assert drawn(scenario_view(), "a", job="too-wide") == {
        ("a-spine", "a-1"): (["free"] * 3, 3, 5),
        ("a-spine", "a-2"): (["free"] * 3, 3, 5),
    }


def test_nodes_that_differ_and_look_alike_share_a_cell():
    """What is free on all of them is summed up."""
    cluster = next(one for one in scenario_view().snapshot.clusters if one.name == "b")
    assert cluster.capacity is not None
    topology = cluster.capacity.topology
    (whole,) = [one for one in topology.leaves if one.domain == "b-2"]
    half = replace(whole, free=tuple(value // 2 for value in whole.free), count=3)
    changed = replace(topology, leaves=(whole, half))
    changed_cluster = replace(cluster, capacity=replace(cluster.capacity, topology=changed))

    (block,) = heatmap.blocks_of(changed_cluster, {}, "queue", heatmap.Legend(), single=False)

    (cell,) = block.racks[0].cells
    assert (cell.text, cell.style) == ("4", "free")
    assert cell.title.startswith("4 nodes of several kinds; free on all: cpu ")


def test_nodes_of_a_large_page_share_a_cell(monkeypatch):
    """Its number of nodes stands in the cell, and the title says it."""
    monkeypatch.setattr(heatmap, "SINGLE", 6)
    view = scenario_view()
    cluster = next(one for one in view.snapshot.clusters if one.name == "a")

    (block,) = heatmap.blocks_of(cluster, {}, "queue", heatmap.Legend(), single=False)

    assert [[cell.text for cell in rack.cells] for rack in block.racks] == [["3"], ["3"]]
    assert block.racks[0].cells[0].title.startswith("3 equal nodes; free: ")
    assert block.racks[0].label == "a-1: 3 nodes, 3 free"
    assert [heatmap.few([cluster]), heatmap.few(view.snapshot.clusters)] == [True, False]


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param(1, {"q0": "k0"}, id="one queue has the first colour"),
        pytest.param(
            10,
            {f"q{at}": f"k{at}" if at < 8 else "k-other" for at in range(10)},
            id="the ninth and later queues share a colour",
        ),
    ],
)
def test_colours_go_to_the_largest_holders(queues, want):
    """Eight colours can be kept apart by eye; all further queues share one."""
    jobs = "\n".join(
        f"  - {{name: j{at}, queue: q{at}, tasks: [{{replicas: {20 - at}}}], created: {at + 1}}}"
        for at in range(queues)
    )
    named = ", ".join(f"{{name: q{at}}}" for at in range(queues))
    view = scenario_view(f"""
scenario: jobs of several queues
world:
  queues: [{named}]
  clusters:
  - name: a
    nodes: [{{count: 200}}]
  jobs:
{jobs}
""")
    running = {one.binding_id: one for one in view.state.workloads() if one.admitted()}

    legend = heatmap.legend_of(view.snapshot.clusters, running, heatmap.owner_of("queue"))

    assert {name: legend.of(name) for name in want} == want
