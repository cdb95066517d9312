"""The tree kept in step node by node is the tree made anew."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement, Meta
from global_sched.shared.api.volcano import (
    ExactMatch,
    HyperNode,
    HyperNodeSpec,
    Member,
    MemberSelector,
    RegexMatch,
)
from global_sched.shared.placement import LiveTree, build_tree
from global_sched.shared.placement.tree import build as tree_module
from global_sched.shared.placement.tree import live_tree as live_module
from global_sched.shared.placement.tree.member_selectors import literal_prefix
from tests.deep import examples

NAMES = ["a-1", "a-2", "a-10", "b-1", "b-2"]
PATTERNS = ["^a-", "^a-1$", "-1", "^(a|b)-2", "^b-[12]$", "1|2", "^a\\-1"]
KEYS = ["rack", "row"]
VALUES = ["x", "y"]

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES))


@st.composite
def selectors(draw):
    kind = draw(st.sampled_from(["exact", "regex", "label", "expression", "exact", "wrong"]))
    if kind == "wrong":
        return MemberSelector(regex_match=RegexMatch(pattern="("))
    if kind == "exact":
        return MemberSelector(exact_match=ExactMatch(name=draw(st.sampled_from(NAMES))))
    if kind == "regex":
        return MemberSelector(regex_match=RegexMatch(pattern=draw(st.sampled_from(PATTERNS))))
    if kind == "label":
        return MemberSelector(label_match=LabelSelector(match_labels=draw(labels)))
    expression = LabelSelectorRequirement(
        key=draw(st.sampled_from(KEYS)),
        operator=draw(st.sampled_from(["In", "NotIn"])),
        values=[draw(st.sampled_from(VALUES))],
    )
    return MemberSelector(label_match=LabelSelector(match_expressions=[expression]))


@st.composite
def hyper_nodes(draw):
    found = []
    count = draw(st.integers(0, 5))
    for at in range(count):
        members = [
            Member(type="Node", selector=draw(selectors())) for _ in range(draw(st.integers(0, 2)))
        ]
        if draw(st.booleans()):
            child = f"h{draw(st.integers(0, count))}"
            match = MemberSelector(exact_match=ExactMatch(name=child))
            members.append(Member(type="HyperNode", selector=match))
        spec = HyperNodeSpec(tier=draw(st.integers(1, 4)), members=members)
        found.append(HyperNode(metadata=Meta(name=f"h{at}"), spec=spec))
    return found


changes = st.lists(
    st.tuples(st.sampled_from(NAMES), st.one_of(st.none(), labels)), min_size=1, max_size=8
)


@settings(max_examples=examples(120), deadline=None)
@given(tree=hyper_nodes(), start=st.dictionaries(st.sampled_from(NAMES), labels), changed=changes)
def test_step_by_step_is_the_same_as_anew(tree, start, changed):
    """Nodes that come, go, flap and change labels leave no trace of what was before."""
    live = LiveTree(tree, start)
    nodes = dict(start)
    for name, now in changed:
        if now is None:
            nodes.pop(name, None)
            live.drop_node(name)
        else:
            nodes[name] = now
            live.put_node(name, now)
        found, want = live.tree(), build_tree(tree, nodes)
        assert dict(sorted(found.leaf_of.items())) == want.leaf_of
        assert found.domains == want.domains
        assert found.problems == want.problems
        assert found.notes == want.notes


@st.composite
def one_of_them(draw):
    """A HyperNode with a name of those in `hyper_nodes`, or one that is dropped."""
    found = draw(hyper_nodes())
    name = f"h{draw(st.integers(0, 5))}"
    if not found or draw(st.integers(0, 2)) == 0:
        return name, None
    return name, HyperNode(metadata=Meta(name=name), spec=draw(st.sampled_from(found)).spec)


@pytest.fixture(params=[100_000, 3], ids=["all are read", "three are read"])
def most(request, monkeypatch):
    """How many HyperNodes are read."""
    for module in (live_module, tree_module):
        monkeypatch.setattr(module, "MOST_HYPERNODES", request.param)


both = st.lists(st.one_of(one_of_them(), changes), min_size=1, max_size=6)


@pytest.mark.usefixtures("most")
@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(tree=hyper_nodes(), start=st.dictionaries(st.sampled_from(NAMES), labels), steps=both)
def test_changed_hyper_nodes_are_the_same_as_anew(tree, start, steps):
    """A HyperNode that comes, goes or changes leaves no trace, whatever hangs below it.

    And the nodes that are reported to hang elsewhere are those that do.
    """
    live, nodes = LiveTree(tree, start), dict(start)
    objects = {one.metadata.name: one for one in tree}
    for step in steps:
        if isinstance(step, list):
            for name, now in step:
                nodes.pop(name, None)
                live.drop_node(name)
                if now is not None:
                    nodes[name] = now
                    live.put_node(name, now)
        else:
            before = dict(live.tree().leaf_of)
            name, now = step
            objects.pop(name, None)
            if now is None:
                moved = live.drop_hyper_node(name)
            else:
                objects[name] = now
                moved = live.put_hyper_node(now)
            if moved is None:
                live, moved = LiveTree(list(objects.values()), nodes), list(nodes)
            after = live.tree().leaf_of
            differ = {node for node in nodes if before[node] != after[node]}
            assert differ <= set(moved)
        found, want = live.tree(), build_tree(list(objects.values()), nodes)
        assert dict(sorted(found.leaf_of.items())) == want.leaf_of
        assert found.domains == want.domains
        assert found.problems == want.problems
        assert found.notes == want.notes


@pytest.mark.parametrize(
    ("pattern", "want"),
    [
        pytest.param("^rack-7-", "rack-7-", id="a plain beginning"),
        pytest.param("^rack\\-7", "rack-7", id="with an escaped dash"),
        pytest.param("^rack-7.*", "rack-7", id="up to the first sign that is no letter"),
        pytest.param("^rack-7*", "rack-", id="what is repeated may be absent"),
        pytest.param("^rack-7?$", "rack-", id="so may what is optional"),
        pytest.param("rack-7", "", id="not anchored: anywhere in the name"),
        pytest.param("^a|b", "", id="alternatives"),
        pytest.param("^(a)", "", id="a group"),
    ],
)
def test_literal_prefix(pattern, want):
    """A pattern only has to be tried on names with its literal beginning."""
    assert literal_prefix(pattern) == want
