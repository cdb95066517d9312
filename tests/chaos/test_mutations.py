"""The harness sees seeded bugs: the same run shows nothing without them."""

import pytest

from tests.chaos.mutations import MUTATIONS, TargetGoneError, applied, find
from tests.deep import DEEP

CHEAP = ("key leaked", "prefix match")
"""In the gate; the others run in `make test-deep`."""


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda one: one.name)
def test_there_is_something_to_replace(mutation):
    """A mutation whose target has another name by now would seed no bug."""
    assert [callable(find(target)[2]) for target in mutation.wrong] == [True] * len(mutation.wrong)


def test_a_target_that_is_gone_is_named():
    """The message says which one, and what to do."""
    with pytest.raises(TargetGoneError, match="lease:Election"):
        find("global_sched.shared.kube.lease:Election.run")


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize(
    "mutation",
    [one for one in MUTATIONS if DEEP or one.name in CHEAP],
    ids=lambda one: one.name,
)
def test_a_seeded_bug_is_seen(mutation):
    """Its witness shows a violation, and none without it."""
    assert mutation.witness() == []
    with applied(mutation):
        assert mutation.witness() != []
