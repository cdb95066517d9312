"""One round over a cache, and what it would do to the world, without any API server."""

from member_agent.cache import ClusterCache, units_of
from member_agent.scheduler.plan.outcome import Round, Situation
from member_agent.scheduler.plan.round import plan_round
from tests.member_agent.member import AGENT

OURS = frozenset({AGENT})


def round_of(cache: ClusterCache, situation: Situation | None = None) -> Round:
    """A round for the agent's own scheduler name."""
    return plan_round(cache, units_of(cache, OURS), situation or Situation())


def nodes_of(round_: Round) -> dict[str, str]:
    """Pod name to node, over all placements."""
    return {pod.name: node for p in round_.placements for pod, node in p.nodes}


def reasons_of(round_: Round) -> dict[str, str]:
    """Pod name to the reason for which it waits."""
    return {pod.name: wait.reason for wait in round_.waits for pod in wait.pods}


def bind(cache: ClusterCache, round_: Round) -> Situation:
    """Bind everything that was placed; the situation for the next round."""
    for placement in round_.placements:
        for pod, node in placement.nodes:
            cache.assume(pod.uid, node)
    return Situation(reservations=round_.reservations, reached=round_.reached)
