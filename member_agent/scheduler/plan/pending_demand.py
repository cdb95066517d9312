"""Pending demand of a workload, beside its pods that are bound, being bound, or pinned.

A pod is pinned to the node that an earlier plan names, where it is still without one.
"""

from dataclasses import replace

from global_sched.shared.placement import SpecError
from member_agent.cache import ManagedWorkload, PodUnit, count_pods
from member_agent.scheduler.gang.bind_plan import begun, plan_of
from member_agent.scheduler.gang.demand import Begun, RemainingDemand, allowed_pods, managed_demand
from member_agent.scheduler.gang.subgroups import Key, key_of
from member_agent.scheduler.plan.round_state import (
    RoundState,
    admitted_left,
    decision_of,
    entry_of,
    is_being_bound,
)
from member_agent.scheduler.plan.verdicts import wait


def hold_binding_pods(state: RoundState) -> None:
    """Room of pods that are being bound."""
    for pods in state.inputs.situation.being_bound.values():
        for pod, node in pods:
            if not state.inputs.cache.node_of(pod):
                state.capacity.hold(node, pod.shape)


def pin(state: RoundState, unit: PodUnit) -> None:
    """Hold the nodes that an earlier plan names for pods which are still without one.

    A plan of which nothing is bound is followed only as a whole, and under its own decision.
    """
    plan = plan_of(unit)
    if plan is None or unit.problem or is_being_bound(state.inputs, unit):
        return
    started = begun(plan, unit)
    if not started and plan.decision != decision_of(state.inputs, unit):
        return
    planned = [pod for pod in unit.waiting if plan.node_of(pod.uid)]
    entry = entry_of(state.inputs, unit)
    if unit.binding is not None:
        planned = (
            allowed_pods(
                unit, planned, admitted_left(state.inputs, entry), begun_subgroups(state, unit)
            )
            if entry
            else []
        )
    pinned: dict[str, str] = {}
    for pod in planned:
        node = plan.node_of(pod.uid)
        if state.capacity.fits(node, pod.shape):
            state.capacity.hold(node, pod.shape)
            pinned[pod.uid] = node
    if not started and len(pinned) < len(planned):
        for pod in planned:
            if pod.uid in pinned:
                state.capacity.release(pinned[pod.uid], pod.shape)
        return
    if pinned:
        state.pins[unit.key] = pinned


def nodes_around(state: RoundState, unit: PodUnit) -> list[str]:
    """Nodes where pods of the unit are, or are planned to be."""
    nodes = [state.inputs.cache.node_of(pod) for pod in unit.staying()]
    return [*nodes, *state.pins.get(unit.key, {}).values()]


def begun_subgroups(state: RoundState, unit: PodUnit) -> Begun:
    """The subgroups of which pods are bound, being bound, or have a node by an earlier plan."""
    if not unit.subgroups:
        return frozenset()
    pins = state.pins.get(unit.key, {})
    pods = [pod for pod, _ in state.inputs.situation.being_bound.get(unit.key, ())]
    pods += [*unit.staying(), *(pod for pod in unit.waiting if pod.uid in pins)]
    return frozenset((unit.key, key) for pod in pods if (key := key_of(unit, pod)))


def demand_of(state: RoundState, entry: ManagedWorkload) -> RemainingDemand | None:
    """What room the workload still needs beside bound, flying and pinned pods."""
    if entry.binding not in state.demands:
        state.demands[entry.binding] = demand_asked_by(state, entry)
    return state.demands[entry.binding]


def demand_asked_by(state: RoundState, entry: ManagedWorkload) -> RemainingDemand | None:
    """The same for an entry that may be from before."""
    units = state.inputs.by_binding.get(entry.binding, [])
    rest, taken = [], entry.admitted.minus(admitted_left(state.inputs, entry))
    for unit in units:
        being_bound = {pod.uid for pod, _ in state.inputs.situation.being_bound.get(unit.key, ())}
        pins = state.pins.get(unit.key, {})
        taken = taken.plus(count_pods(pod for pod in unit.waiting if pod.uid in pins))
        waiting = (p for p in unit.waiting if p.uid not in being_bound and p.uid not in pins)
        rest.append(replace(unit, waiting=tuple(waiting)))
    try:
        begun = frozenset[tuple[str, Key]]().union(
            *(begun_subgroups(state, unit) for unit in units)
        )
        return managed_demand(entry, rest, taken, begun)
    except SpecError as error:
        for unit in units:
            wait(state, unit, unit.waiting, str(error))
        return None
