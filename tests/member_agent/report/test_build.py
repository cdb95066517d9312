"""A topology to the slices of a report: nothing is lost, nothing is reported larger than it is."""

from dataclasses import replace

import msgspec
import pytest

from global_sched.shared.api.federation import ReportOmission, ReportWorkload
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId, PodSetName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.pods import Effect, PodShape, Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import (
    Domain,
    Leaf,
    NodeClass,
    Occupant,
    Topology,
    Wanted,
)
from member_agent.report.build import (
    Limits,
    Observation,
    ReportTooLarge,
    report_bytes,
    slices_of,
)

AXIS = ("cpu", "memory", "nvidia.com/gpu", "pods")
GIB = 2**30


def leaf(domain="r0", *, free=(64000, 256 * GIB, 8, 110), count=1, occupants=(), kind=None):
    return Leaf(
        domain=DomainId(domain) if domain else None,
        node_class=kind or NodeClass(),
        free=free,
        count=count,
        occupants=occupants,
    )


def topology(*leaves, domains=("r0",), keys=()):
    return Topology(
        axis=AXIS,
        domains=tuple(Domain(name=DomainId(name), tier=1) for name in domains),
        leaves=leaves,
        label_keys=keys,
    )


def seen(told, **fields):
    base = {"cluster": ClusterName("m"), "generation": 7, "observed": Instant(0), "topology": told}
    return Observation(**(base | fields))


def read(slices):
    """The leaves that the slices tell, as a reader of them would count them."""
    leaves = []
    for part in slices:
        for row in part.rows or ():
            told = part.classes[row.node_class]
            kind = NodeClass(
                labels=tuple(sorted((told.labels or {}).items())),
                taints=tuple(Taint(t.key, t.value, Effect(t.effect)) for t in told.taints or ()),
                schedulable=not told.cordoned,
            )
            occupants = tuple(
                Occupant(binding=BindingId(o.binding), pod_set=PodSetName(o.pod_set), pods=o.pods)
                for o in row.occupants or ()
            )
            leaves.append(
                leaf(
                    row.domain,
                    free=tuple(part.free[row.free]),
                    count=row.count,
                    occupants=occupants,
                    kind=kind,
                )
            )
    return leaves


GPU_CLASS = NodeClass(labels=(("gpu", "h100"),), taints=(Taint("a", "b", Effect.NO_SCHEDULE),))
OCCUPANT = Occupant(binding=BindingId("b"), pod_set=PodSetName("worker"), pods=2)


@pytest.mark.parametrize(
    "leaves",
    [
        pytest.param([leaf(count=20)], id="alike nodes are one row"),
        pytest.param([leaf(""), leaf("r0")], id="nodes in no HyperNode have no domain"),
        pytest.param([leaf(kind=GPU_CLASS), leaf()], id="labels and taints make classes"),
        pytest.param([leaf(kind=NodeClass(schedulable=False))], id="a cordon makes a class"),
        pytest.param([leaf(occupants=(OCCUPANT,))], id="occupants are told"),
        pytest.param([leaf(free=(0, 0, 0, 0), count=3)], id="full nodes are told, too"),
    ],
)
def test_rows_tell_the_topology(leaves):
    """A reader gets back exactly the leaves that were counted, through the wire."""
    slices = slices_of(seen(topology(*leaves, keys=("gpu",))), Limits())

    wired = [msgspec.json.decode(msgspec.json.encode(part), type=type(part)) for part in slices]
    assert read(wired) == leaves
    assert wired[0].label_keys == ["gpu"]
    assert wired[0].resolution is None


def test_the_first_slice_holds_what_belongs_to_all():
    """Totals, omissions and the tree come first; every slice names its generation."""
    told = replace(topology(leaf()), problems=("HyperNode bad is set aside: a cycle",))
    omitted = (ReportOmission(what="Node n", reason="unreadable"),)

    [part] = slices_of(seen(told, omitted=omitted), Limits())

    assert (part.cluster, part.generation, part.slice, part.slices) == ("m", 7, 0, 1)
    assert [(o.what, o.reason) for o in part.omitted] == [
        ("Node n", "unreadable"),
        ("HyperNode bad", "is set aside: a cycle"),
    ]


def many(count):
    """Leaves that all differ."""
    return [
        leaf(f"r{at}", free=(1000 * at + 777, 64 * GIB + at, at % 9, 100)) for at in range(count)
    ]


def test_slices_stand_alone():
    """No slice is larger than allowed, each can be read by itself, and together they tell all."""
    leaves = many(2000)
    workloads = tuple(
        ReportWorkload(binding=f"binding-{at}", bound={"worker": 8}) for at in range(1000)
    )
    told = topology(*leaves, domains=[f"r{at}" for at in range(2000)])

    slices = slices_of(seen(told, workloads=workloads), Limits(slice_bytes=20_000))

    assert len(slices) > 5
    assert [part.slice for part in slices] == list(range(len(slices)))
    assert {part.slices for part in slices} == {len(slices)}
    assert max(len(msgspec.json.encode(part)) for part in slices) <= 20_500
    assert read(slices) == leaves
    assert [w for part in slices for w in part.workloads or ()] == list(workloads)
    assert [d.name for part in slices for d in part.tree or ()] == [d.name for d in told.domains]


def test_too_many_rows_are_rounded_down():
    """Past the limit free vectors are rounded down, never up, and the resolution is named."""
    leaves = [leaf("r0", free=(1000 + at, 64 * GIB + at, 4, 100)) for at in range(500)]

    [part] = slices_of(seen(topology(*leaves)), Limits(rows=50))

    told = read([part])
    assert len(told) <= 50
    assert sum(one.count for one in told) == 500
    assert part.resolution["cpu"] >= 250
    for position, name in enumerate(AXIS):
        step = (part.resolution or {}).get(name, 1)
        assert all(one.free[position] % step == 0 for one in told)
        assert max(one.free[position] for one in told) <= max(x.free[position] for x in leaves)
    assert {one.free[2] for one in told} == {4}


def test_occupants_go_when_rounding_does_not_suffice():
    """Who sits where is left out before a report fails, and that is said."""
    leaves = [
        leaf("r0", occupants=(replace(OCCUPANT, binding=BindingId(f"b{at}")),)) for at in range(99)
    ]

    [part] = slices_of(seen(topology(*leaves)), Limits(rows=10))

    assert [one.count for one in read([part])] == [99]
    assert [(o.what) for o in part.omitted] == ["occupants"]


def test_a_report_beyond_all_bounds_is_refused():
    """More slices than the wire type allows are an error with the numbers."""
    with pytest.raises(ReportTooLarge, match="slices of 300 bytes, and at most 1024"):
        slices_of(seen(topology(*many(3000))), Limits(slice_bytes=300))


def test_omissions_are_bounded():
    """A member full of bad objects does not make a report full of complaints."""
    omitted = tuple(ReportOmission(what=f"Pod {at}", reason="x" * 999) for at in range(80))

    [part] = slices_of(seen(topology(), omitted=omitted), Limits())

    assert len(part.omitted) == 51
    assert part.omitted[-1].what == "30 more"
    assert max(len(o.reason) for o in part.omitted) == 300


def test_size_of_5000_equal_nodes():
    """5,000 equal nodes in 4 tiers stay under 64 KiB, without and with occupants."""
    domains, leaves = [Domain(name=DomainId("core"), tier=4)], []
    for pod in range(5):
        domains.append(Domain(name=DomainId(f"pod-{pod}"), tier=3, parent=DomainId("core")))
        for spine in range(5):
            name = f"pod-{pod}-spine-{spine}"
            domains.append(Domain(name=DomainId(name), tier=2, parent=DomainId(f"pod-{pod}")))
            for rack in range(10):
                domains.append(
                    Domain(name=DomainId(f"{name}-rack-{rack}"), tier=1, parent=DomainId(name))
                )
                leaves.append(leaf(f"{name}-rack-{rack}", count=20))
    told = Topology(axis=AXIS, domains=tuple(domains), leaves=tuple(leaves), label_keys=())
    held = [
        replace(one, occupants=(replace(OCCUPANT, binding=BindingId(f"{at // 4:036d}")),))
        for at, one in enumerate(leaves)
    ]

    bare = report_bytes(slices_of(seen(told), Limits()))
    occupied = report_bytes(slices_of(seen(replace(told, leaves=tuple(held))), Limits()))

    assert bare < 64 * 1024
    assert occupied < 64 * 1024


def test_an_absurd_node_does_not_spoil_the_report():
    """Amounts and resource names beyond what a reader believes are bounded, downwards."""
    names = (*AXIS, *(f"x.example/{at:03d}" for at in range(300)))
    told = Topology(
        axis=tuple(sorted(names)),
        leaves=(leaf("", free=(2**62,) * len(names)),),
        label_keys=(),
    )

    [part] = slices_of(seen(told), Limits())

    assert len(part.axis) == 256
    assert set(AXIS) - {"nvidia.com/gpu"} <= set(part.axis)
    assert set(part.free[0]) == {2**60}
    assert len(part.omitted) == len(names) - 256


def test_the_mix_of_shapes_stands_in_the_first_slice_in_few_bytes():
    """What pods ask for is reported once, without the fields that say nothing."""
    shape = PodShape(requests=Resources.of({"cpu": 1000, "pods": 1}), selector=(("zone", "a"),))
    leaves = [leaf(free=(at, 0, 0, 0)) for at in range(200)]
    told = replace(topology(*leaves), demand=(Wanted(shape=shape, pods=4),))
    first, *others = slices_of(seen(told), Limits(slice_bytes=2000))

    assert [msgspec.to_builtins(one) for one in first.demand] == [
        {
            "shape": {
                "requests": {"entries": (("cpu", 1000), ("pods", 1))},
                "selector": (("zone", "a"),),
            },
            "pods": 4,
        }
    ]
    assert others
    assert not any(part.demand for part in others)
