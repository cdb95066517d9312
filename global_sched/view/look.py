"""One look at the federation: state, Policy in force, plan, and a job of it by name."""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

import click
import msgspec

from global_sched.cache import State
from global_sched.controllers.reading import read_state
from global_sched.core import run_cycle
from global_sched.dispatch.policy_map import HASH_KEY, POLICY_KEY, SCHEDULERS_KEY
from global_sched.shared.api.names import GLOBAL_SCHEDULER, POLICY_CONFIG_MAP, SYSTEM_NAMESPACE
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden, NotFound
from global_sched.shared.model.ids import WorkloadKey, split_key
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Outcome, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.values import from_json
from global_sched.shared.model.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at the federation. `plan` is what a cycle would decide at this moment."""

    state: State
    snapshot: Snapshot
    policy: Policy
    policy_note: str
    now: Instant
    plan: Plan

    def outcome(self, key: WorkloadKey) -> Outcome | None:
        """How a workload would leave the cycle."""
        return next((one for one in self.plan.outcomes if one.workload == key), None)


async def look(client: Client, clock: Clock, *, leader_namespace: str = SYSTEM_NAMESPACE) -> View:
    """Read everything once.

    Raises:  Forbidden when the caller may not read the federation; ConfigError; ApiError.
    """
    state = await read_state(
        client, clock, scheduler_names=partial(scheduler_names, client, leader_namespace)
    )
    policy, note = await policy_in_force(client, leader_namespace)
    snapshot, now = state.snapshot(), clock.now()
    return View(
        state=state,
        snapshot=snapshot,
        policy=policy,
        policy_note=note,
        now=now,
        plan=run_cycle(snapshot, policy, now),
    )


async def scheduler_names(
    client: Client, leader_namespace: str = SYSTEM_NAMESPACE
) -> frozenset[str]:
    """The names that the leader answers for, as it published them; else the default one."""
    try:
        found = await client.get(CONFIGMAPS, POLICY_CONFIG_MAP, namespace=leader_namespace)
    except (NotFound, Forbidden):
        return frozenset({GLOBAL_SCHEDULER})
    text = str((found.get("data") or {}).get(SCHEDULERS_KEY) or GLOBAL_SCHEDULER)
    return frozenset(name.strip() for name in text.split(",") if name.strip())


async def policy_in_force(client: Client, leader_namespace: str) -> tuple[Policy, str]:
    """The Policy that the leader published, with where it is from."""
    try:
        found = await client.get(CONFIGMAPS, POLICY_CONFIG_MAP, namespace=leader_namespace)
        data = found.get("data") or {}
        policy = from_json(str(data[POLICY_KEY]).encode(), Policy)
    except Forbidden as error:
        return Policy(), f"the Policy in force may not be read ({error.message}): defaults"
    except NotFound:
        return Policy(), (
            f"no leader has published its Policy in namespace {leader_namespace}: defaults; "
            "--leader-namespace names another"
        )
    except (KeyError, msgspec.DecodeError, msgspec.ValidationError):
        return Policy(), f"ConfigMap {POLICY_CONFIG_MAP} cannot be read: defaults"
    return policy, f"policy {str(data.get(HASH_KEY, ''))[:12]}"


def find_job(state: State, name: str, namespace: str | None) -> Workload:
    """The workload of a job: NAME, NAMESPACE/NAME, or the name of its binding.

    Raises:  click.ClickException when there is none, or more than one.
    """
    if "/" in name:
        namespace, _, name = name.partition("/")
    found = [
        one
        for one in state.workloads()
        if namespace in (None, one.namespace) and name in (one.name, split_key(one.key)[1])
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        where = f" in namespace {namespace}" if namespace else ""
        names = {one.name for one in state.workloads() if namespace in (None, one.namespace)}
        like = ", ".join(get_close_matches(name, sorted(names)))
        hint = (
            f"did you mean {like}?"
            if like
            else "is there a PropagationPolicy with schedulerName global-sched that selects it?"
        )
        raise click.ClickException(f"no job {name!r}{where} is scheduled by global-sched; {hint}")
    listed = ", ".join(f"{one.demand.kind} {one.key}" for one in found)
    raise click.ClickException(f"{name!r} names several jobs: {listed}; use -n or the binding name")
