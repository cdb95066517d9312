"""Random small worlds and gangs, drawn through the builders."""

from hypothesis import strategies as st

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import BindingId, PodSetName
from global_sched.shared.model.pods import Effect, Taint, Toleration
from global_sched.shared.model.topology import NodeClass, Occupant
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    domain,
    free,
    hard,
    leaf,
    parts,
    pod_set,
    shape,
    topology,
)

TAINT = Taint("reserved", "yes", Effect.NO_SCHEDULE)
OCCUPANT = Occupant(binding=BindingId("other"), pod_set=PodSetName("main"), pods=1)
REPORTED = ("kind",)


@st.composite
def trees(draw):
    """Up to three tiers, uneven, with several roots."""
    spines = draw(st.integers(0, 2))
    domains = [domain("top", 5)] if draw(st.booleans()) else []
    topped = bool(domains)
    domains.extend(
        domain(f"spine{at}", 3, "top" if topped and draw(st.booleans()) else None)
        for at in range(spines)
    )
    for at in range(draw(st.integers(0, 4))):
        tier = draw(st.sampled_from([1, 1, 2]))
        parents = [d.name for d in domains if d.tier > tier]
        parent = draw(st.sampled_from([*parents, None]))
        domains.append(domain(f"rack{at}", tier, parent))
    return domains


@st.composite
def node_classes(draw):
    labels = []
    if draw(st.booleans()):
        labels.append(("kind", draw(st.sampled_from(["a", "b"]))))
    if draw(st.booleans()):
        labels.append(("a-private", draw(st.sampled_from(["x", "y", "z"]))))
    return NodeClass(
        labels=tuple(sorted(labels)),
        taints=(TAINT,) if draw(st.integers(0, 4)) == 0 else (),
        schedulable=draw(st.integers(0, 9)) > 0,
    )


@st.composite
def topologies(draw, most_nodes=7):
    domains = draw(trees())
    places = [d.name for d in domains] + [None]
    classes = draw(st.lists(node_classes(), min_size=1, max_size=3))
    leaves = [
        leaf(
            draw(st.sampled_from(places)),
            free(draw(st.integers(0, 4)), draw(st.integers(0, 2)), 0, draw(st.integers(1, 4))),
            node=f"n{at}",
            kind=draw(st.sampled_from(classes)),
            occupants=(OCCUPANT,) if draw(st.integers(0, 5)) == 0 else (),
        )
        for at in range(draw(st.integers(0, most_nodes)))
    ]
    return topology(domains, leaves)


@st.composite
def shapes(draw):
    more = {}
    if draw(st.integers(0, 3)) == 0:
        more["selector"] = (("kind", draw(st.sampled_from(["a", "b"]))),)
    if draw(st.integers(0, 3)) == 0:
        more["tolerations"] = (Toleration(exists=True),)
    if draw(st.integers(0, 4)) == 0:
        more["anti_affine"] = True
    return shape(draw(st.integers(0, 3)), draw(st.sampled_from([0, 0, 1, 2])), **more)


constraints = st.one_of(st.none(), st.just(SOFT), st.builds(hard, st.sampled_from([1, 2, 3, 5, 9])))


@st.composite
def pod_sets(draw, name):
    if draw(st.integers(0, 3)) == 0:
        size, total = draw(st.integers(1, 2)), draw(st.integers(1, 2))
        rule = parts(size, total, constraint=draw(constraints))
        least = size * draw(st.integers(0, total))
        return pod_set(name, size * total, least, rule, like=draw(shapes()))
    count = draw(st.integers(1, 4))
    least = count if draw(st.booleans()) else draw(st.integers(0, count))
    return pod_set(name, count, least, like=draw(shapes()))


@st.composite
def gangs(draw, most_sets=3):
    sets = tuple(draw(pod_sets(f"set{at}")) for at in range(draw(st.integers(1, most_sets))))
    return Gang(
        pod_sets=sets,
        minimum=sum(p.minimum for p in sets),
        constraint=draw(constraints),
    )


@st.composite
def led_groups(draw):
    """A LeaderWorkerSet's gang: groups of a leader and its workers, each under one tier."""
    total, workers = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    least = draw(st.integers(1, total))
    rule = draw(st.one_of(st.none(), st.just(SOFT), st.builds(hard, st.sampled_from([1, 2, 3]))))
    sets = tuple(
        pod_set(
            name,
            size * total,
            size * least,
            parts(size, total, least, rule, "leader+worker"),
            like=draw(shapes()),
        )
        for name, size in (("leader", 1), ("worker", workers))
    )
    return Gang(pod_sets=sets, minimum=sum(p.minimum for p in sets), constraint=draw(constraints))
