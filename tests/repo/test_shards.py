"""`SHARD=i/n` shares the tests out: each one is in exactly one shard."""

import pytest

from tests.conftest import shard

NAMES = ["c", "a", "e", "b", "d"]


def test_every_test_is_in_one_shard():
    """Three shards of five tests."""
    parts = [shard(f"{at}/3", NAMES) for at in (1, 2, 3)]

    assert parts == [["a", "d"], ["b", "e"], ["c"]]


@pytest.mark.parametrize("given", ["0/3", "4/3", "2", "a/b", "1/0", "-1/3"])
def test_a_shard_that_there_is_not_is_refused(given):
    """With what is needed."""
    with pytest.raises(pytest.UsageError, match=r"which shard of how many.*1/3"):
        shard(given, NAMES)
