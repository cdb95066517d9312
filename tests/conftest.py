"""Profiles of generated examples, and which tests run in which order.

`small` repeats the same examples, `deep` searches for new ones. Tests that take long come first, so
that no worker sits alone at the end with one of them. `SHARD=2/3` keeps every third test from the
second on.
"""

import gc
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.deep import DEEP
from tools.browser import missing

settings.register_profile(
    "small", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep",
    max_examples=10_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("deep" if DEEP else "small")
LONGEST_FIRST = ("properties", "tools", "flows")
"""Folders with long tests, the longest first; then comes what is marked `slow`; then all else."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """All properties look at more examples in `make test-deep`, wherever they stand."""
    drawn = is_hypothesis_test(getattr(item, "obj", None))
    if drawn or item.nodeid.startswith("tests/properties/"):
        item.add_marker("deep")


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never in the tests themselves: it took a fifth of the time.

    Hypothesis remembers every example of a deep run, and a full collection walks through all of
    them: a quarter of the time of a property after 1,000 examples.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 1_000 if DEEP else 20)


@pytest.fixture(autouse=True)
def _logs_as_at_first() -> Iterator[None]:
    """A program that a test ran has set level and form of the logs; the next test begins anew."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep this shard's tests, and begin with those that take long."""
    given = os.environ.get("SHARD")
    if given:
        mine = set(shard(given, [item.nodeid for item in items]))
        config.hook.pytest_deselected(items=[one for one in items if one.nodeid not in mine])
        items[:] = [one for one in items if one.nodeid in mine]
    if without := missing():
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=without))
    items.sort(key=_rank)


def _rank(item: pytest.Item) -> int:
    _, folder, *_ = item.nodeid.split("/")
    if folder in LONGEST_FIRST:
        return LONGEST_FIRST.index(folder)
    return len(LONGEST_FIRST) + (item.get_closest_marker("slow") is None)


def shard(given: str, names: list[str]) -> list[str]:
    """The tests of a shard: of `2/3` every third one from the second on, in the order of names.

    Raises:  UsageError where it is not two numbers, the first one from 1 to the second.
    """
    at, _, of = given.partition("/")
    if not (at.isdecimal() and of.isdecimal() and 1 <= int(at) <= int(of)):
        raise pytest.UsageError(f"SHARD={given}: which shard of how many is needed, such as 1/3")
    return sorted(names)[int(at) - 1 :: int(of)]
