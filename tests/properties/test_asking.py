"""Clusters are asked together; the plan is the one of asking each of them alone."""

from unittest.mock import patch

from hypothesis import HealthCheck, given, settings

from global_sched.core import run_cycle
from global_sched.shared.placement import ClusterSet
from tests.builders import NOW, POLICY
from tests.deep import examples
from tests.strategies import worlds


class Alone:
    """A question that every cluster's own Space answers."""

    def __init__(self, field, gang):
        self._field, self._gang = field, gang
        glances = [field.space(at).glance(gang) for at in range(len(field.baselines))]
        self.plain = all(one is not None for one in glances)

    def answers(self, clusters):
        found = [self._space(at).glance(self._gang) for at in clusters]
        return [(one.tier, one.holds) if one.fits else None for one in found]

    def at_once(self, clusters):  # noqa: ARG002 - its signature
        return False

    def verdicts(self, clusters):
        return [self._space(at).place(self._gang).verdict for at in clusters]

    def _space(self, at):
        return self._field.space(at)


def _ask_alone(field, gang):
    return Alone(field, gang)


@settings(
    deadline=None,
    max_examples=examples(50),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(worlds())
def test_together_or_alone(world):
    """The same admissions, scores and refusals, in the same numbers."""
    together = run_cycle(world, POLICY, NOW)

    with patch.object(ClusterSet, "question", _ask_alone):
        alone = run_cycle(world, POLICY, NOW)

    assert together == alone
