"""Nodes that a workload may not use now: they drain, or victims leave them for another one."""

from member_agent.cache import ManagedWorkload, PodRecord
from member_agent.scheduler.plan.reservations import draining_for
from member_agent.scheduler.plan.round_state import RoundInputs, RoundState, has_started


def barred_nodes(state: RoundState, entry: ManagedWorkload | None) -> frozenset[str]:
    """Nodes that drain or are closed for others, but for its own before it was admitted.

    A workload that found no capacity otherwise may use a domain that drains since its own
    admission's cycle; workloads of later cycles may not, so that the delay is bounded.
    """
    early = entry is not None and entry.binding in state.inputs.first
    holds = [one for one in state.inputs.holds if not (early and entry and one.at == entry.at)]
    draining = draining_for(holds, entry, state.capacity.tree.lies_in)
    own = frozenset() if entry is None else state.held_before.get(entry.binding, frozenset())
    return state.capacity.tree.nodes_in(draining).difference(own) | vacated_nodes(state, entry)


def vacated_nodes(state: RoundState, entry: ManagedWorkload | None) -> frozenset[str]:
    """Nodes on which pods are leaving for another workload.

    What was admitted before that was decided, and has not started since, was counted there:
    it may go there, and so may what had room there before its admission. Pods of what has
    started may not when they start again.
    """
    if entry is None or has_started(state.inputs, entry):
        return frozenset(state.inputs.vacating)
    own = state.held_before.get(entry.binding, frozenset())
    shut = [name for name, turn in state.inputs.vacating.items() if turn <= entry.turn]
    return frozenset(shut) - own


def is_vacated(inputs: RoundInputs, pod: PodRecord) -> bool:
    """Whether its node is one on which pods are leaving for a claim that still stands."""
    return pod.node in inputs.vacating


def free_on_vacated(
    state: RoundState, hold: ManagedWorkload, nodes: frozenset[str]
) -> dict[str, dict[str, int]]:
    """What is free on nodes that pods leave for a claim: nothing where they leave for others.

    What an earlier claim has of these is not known until its gang comes.
    """
    others = [name for name in nodes if state.inputs.vacating.get(name, hold.turn) < hold.turn]
    return state.capacity.free_on(nodes.difference(others)) | {name: {} for name in others}
