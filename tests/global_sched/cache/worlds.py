"""A State fed with wire objects, in one line."""

from typing import Any

from global_sched.cache import State
from global_sched.shared.api import core, federation, karmada, volcano
from global_sched.shared.kinds import KINDS, RUNTIMES
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.workload import Workload
from tests.wire import NOW, Object, decode


def feed(state: State, *objects: Object, now: Instant = NOW) -> bool:
    """Upsert each object; whether a cycle may come to another result than at the last call."""
    for obj in objects:
        _feed(state, obj, now)
    return state.take_dirty()


def _feed(state: State, obj: Object, now: Instant) -> None:
    kind = obj["kind"]
    upserts: dict[str, tuple[Any, Any]] = {
        "ResourceBinding": (karmada.ResourceBinding, state.upsert_binding),
        "ClusterResourceBinding": (karmada.ResourceBinding, state.upsert_binding),
        "Cluster": (karmada.Cluster, state.upsert_cluster),
        "Queue": (volcano.Queue, state.upsert_queue),
        "Tenant": (federation.Tenant, state.upsert_tenant),
        "PriorityClass": (core.PriorityClass, state.upsert_priority),
        "OverridePolicy": (karmada.OverridePolicy, state.upsert_override),
        "ClusterOverridePolicy": (karmada.OverridePolicy, state.upsert_override),
    }
    if kind == "CapacityReport":
        state.upsert_report(decode(obj, federation.CapacityReport), now)
    elif kind in upserts:
        wire, upsert = upserts[kind]
        upsert(decode(obj, wire))
    elif (obj["apiVersion"], kind) in RUNTIMES:
        _, crd = RUNTIMES[obj["apiVersion"], kind]
        meta = obj["metadata"]
        ref = RuntimeRef(obj["apiVersion"], kind, meta.get("namespace", ""), meta["name"])
        state.upsert_runtime(ref, decode(obj, crd.type))
    else:
        reader = KINDS[(obj["apiVersion"], kind)]
        state.upsert_template(reader, decode(obj, reader.wire))


def state_of(*objects: Object, epoch: int = 1) -> State:
    """A State that has seen these objects."""
    state = State(frozenset({"global-sched"}))
    state.epoch = epoch
    feed(state, *objects)
    return state


def workload_in(state: State, key: str) -> Workload:
    """One workload as the state has it now."""
    found = state.workload(WorkloadKey(key))
    assert found is not None, f"{key} is not ours"
    return found
