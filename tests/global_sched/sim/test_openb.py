"""Parts of GPUs packed by Best Fit and FGD, worked out by hand; whole ones by the engine."""

import pytest

from global_sched.sim.openb import (
    FGD,
    BestFit,
    Node,
    Pod,
    by_engine,
    given_away,
    nodes_of,
    placements,
    pods_of,
)


def node(*gpus, cpu=10, memory=10, model="A"):
    """A node with so many thousandths free of each GPU."""
    return Node(cpu, memory, gpus, model)


def pod(gpus=1, part=1000, cpu=1, memory=1, models=""):
    """A pod."""
    return Pod(cpu, memory, gpus, part, models)


@pytest.mark.parametrize(
    ("one", "want"),
    [
        pytest.param(pod(part=400), [(1000, 100), (600, 500)], id="on each GPU that it may share"),
        pytest.param(pod(), [(500, 0)], id="a whole GPU"),
        pytest.param(pod(gpus=2), [], id="two whole GPUs are not there"),
        pytest.param(pod(gpus=0, part=0), [(1000, 500)], id="no GPU"),
        pytest.param(pod(cpu=11), [], id="too little CPU"),
        pytest.param(pod(memory=11), [], id="too little memory"),
        pytest.param(pod(part=400, models="B|C"), [], id="another model"),
        pytest.param(pod(part=600, models="B|A"), [(500, 400)], id="a model that it may use"),
    ],
)
def test_where_a_pod_may_go_on_a_node(one, want):
    """The node's GPUs after it, most free first."""
    assert [after.gpus for after in placements(node(1000, 500), one)] == want


def test_best_fit_takes_the_node_that_has_least_left_and_its_fullest_gpu():
    """Half a GPU is better used on a GPU that is half used."""
    nodes = [node(1000, 1000), node(1000, 500)]

    _, after = BestFit(nodes).best(nodes[1], pod(part=500))

    assert after.gpus == (1000, 0)


def test_fragments_are_what_pods_of_the_list_cannot_use():
    """Half of the pods ask for a whole GPU, half for 300 thousandths."""
    packer = FGD([pod(), pod(part=300)])

    assert packer.fragments(node(1000, 200)) == 0.5 * 200 + 0.5 * 200
    assert packer.fragments(node(500)) == 0.5 * 500
    assert packer.fragments(node(500, cpu=0)) == 500


def test_fgd_keeps_whole_gpus_for_pods_that_need_them():
    """A third goes beside another third, though much is free elsewhere."""
    packer = FGD([pod(), pod(part=300)])

    _, after = packer.best(node(1000, 700), pod(part=300))

    assert after.gpus == (1000, 400)


def test_the_part_that_is_given_away():
    """Pods of 600 thousandths: one on each GPU, and nothing for the others."""
    nodes = [node(1000), node(1000)]
    pods = [pod(part=600)] * 4

    assert given_away(pods, nodes, BestFit(nodes), 1.0, seed=1) == 0.6


def test_the_engine_packs_whole_gpus():
    """All of both nodes, in whatever order the pods come; a model that is not there gets none."""
    nodes = [node(*[1000] * 4, cpu=100, memory=100), node(*[1000] * 2, cpu=100, memory=100)]
    pods = [pod(gpus=2), pod(), pod(), pod(gpus=2)]

    assert by_engine(pods, nodes, 1.0, seed=3) == 1.0
    assert by_engine([pod(models="Z")], nodes, 1.0, seed=3) == 0


def test_lists_are_read_as_they_are_published():
    """A list without the column of models allows any."""
    nodes = "sn,cpu_milli,memory_mib,gpu,model\nn,64000,262144,2,P100\n"
    pods = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,6000,12288,1,460\n"

    assert nodes_of(nodes) == [Node(64_000, 262_144, (1000, 1000), "P100")]
    assert pods_of(pods) == [Pod(6000, 12_288, 1, 460, "")]
