"""The yardsticks of the figures are right themselves."""

import random
from itertools import combinations

import pytest

from bench.micro.closeness import Network, greedy, optimum
from bench.micro.growth import picture, slope
from bench.micro.packing import best_fit, fgd, ours
from bench.trees import from_hosts


def hosts(leaves=(3, 2, 2, 4)):
    """A core over two spines of two leaves, with so many hosts each."""
    return [
        (f"h{leaf}-{host}", ("core", f"spine-{leaf // 2}", f"leaf-{leaf}"))
        for leaf, count in enumerate(leaves)
        for host in range(count)
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("pods", [2, 3, 4, 6])
def test_the_exact_optimum_is_that_of_all_choices(seed, pods):
    """The dynamic program finds what trying every set of hosts finds; greedy is never better."""
    draw = random.Random(seed)
    every = hosts()
    network = Network(every, draw.sample([name for name, _ in every], 8))
    choices = [network.mean_tier(chosen) for chosen in combinations(network.free, pods)]

    closest, anywhere = optimum(network, pods)

    assert anywhere == pytest.approx(min(choices))
    assert closest >= anywhere
    assert network.mean_tier(greedy(network, pods)) >= anywhere - 1e-9


def test_a_real_tree_has_its_tiers():
    """The lowest domain of a host has tier 1, and what is not free has no device."""
    topology = from_hosts(hosts(), {"h0-0"})

    assert {domain.tier for domain in topology.domains if domain.name.startswith("leaf")} == {1}
    assert [leaf.node for leaf in topology.leaves if leaf.free[2]] == ["h0-0"]


def test_packers_see_the_same_room():
    """Two nodes, four pods: all three fill them to the last GPU."""
    nodes = [(8_000, 8_192, 2, "A"), (8_000, 8_192, 4, "B")]
    arrivals = [(1_000, 1_024, 2, "B"), (1_000, 1_024, 2, ""), (1_000, 1_024, 2, "A")]

    assert best_fit(arrivals[:1], nodes) == 2
    assert fgd(arrivals, nodes, arrivals) == 6
    assert ours(arrivals[:1], nodes) == 2
    assert ours([(9_000, 1, 1, "")], nodes) == 0


def test_a_slope_is_an_exponent():
    """Time that grows with the square of the size has slope 2, and the picture says so."""
    curve = {1: 1.0, 10: 100.0, 100: 10_000.0}

    assert slope(curve) == pytest.approx(2)
    assert "one: slope 2.00" in picture([("squares", {"one": curve})])
