"""Comparison of an outcome with its expectation: a sentence for every difference."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from global_sched.cache import State
from global_sched.core import queue_views, tenant_shares
from global_sched.scenario.format import Want, WantAll
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.simulator import Simulator
from global_sched.scenario.world import Amount, ScenarioError
from global_sched.shared.model.explanation import Share
from global_sched.shared.model.ids import TenantName, WorkloadKey
from global_sched.shared.model.plan import Outcome, Plan
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload


def compare(play: Simulator, plan: Plan, expect: Mapping[str, Want]) -> Iterator[str]:
    """A sentence for every expectation about a job that does not hold."""
    outcomes: dict[WorkloadKey, Outcome] = {one.workload: one for one in plan.outcomes}
    for name, want in expect.items():
        workload = play.workload(name)
        yield from differences(name, want, workload, outcomes.get(workload.key))
        outcome = outcomes.get(workload.key)
        lies = play.lies(workload)
        if not lies.reason and outcome is not None:
            lies = replace(lies, reason=outcome.verdict.detail)
        yield from misplaced(name, want, lies, before=play.domains.get(workload.key))
        lost = workload.key in play.evicted
        if want.evicted is not None and want.evicted != lost:
            why = f" ({play.evicted[workload.key]})" if lost else ""
            yield f"{name}: evicted is {lost}, wanted {want.evicted}{why}"


def compare_all(play: Simulator, want: WantAll) -> Iterator[str]:
    """A sentence for everything that does not hold for all workloads together."""
    evicted = sorted(play.name_of(key) for key in play.evicted)
    if want.evicted is not None and sorted(map(play.full_name, want.evicted)) != evicted:
        yield f"evicted are {evicted}, wanted {sorted(want.evicted)}"
    if want.evictions is not None and want.evictions != len(evicted):
        yield f"{len(evicted)} jobs were evicted ({evicted}), wanted {want.evictions}"
    if want.shrunk is not None:
        shrunk = {play.name_of(key): pods for key, pods in sorted(play.shrunk.items())}
        if {play.full_name(name): pods for name, pods in want.shrunk.items()} != shrunk:
            yield f"pods were given back by {shrunk}, wanted {want.shrunk}"
    if want.running is not None:
        runs = sorted(play.name_of(one.key) for one in play.state.workloads() if one.admitted())
        if sorted(map(play.full_name, want.running)) != runs:
            yield f"running are {runs}, wanted {sorted(want.running)}"
    for holder, wanted in (want.held or {}).items():
        yield from _amounts(f"{holder} holds", _held(play, holder), wanted)
    yield from _queues(play, want)
    yield from _tenants(play, want)


def _queues(play: Simulator, want: WantAll) -> Iterator[str]:
    """What does not hold for the entitlements of queues."""
    if not any((want.deserved, want.borrowed, want.excess, want.frozen is not None)):
        return
    views = {str(view.queue.name): view for view in queue_views(play.snapshot())}
    named = (want.deserved or (), want.borrowed or (), want.excess or (), want.frozen or ())
    for name in chain.from_iterable(named):
        if name not in views:
            raise ScenarioError(f"expectAll: there is no queue {name!r}")
    for name, wanted in (want.deserved or {}).items():
        yield from _amounts(f"{name} deserves", views[name].deserved, wanted)
    for name, wanted in (want.borrowed or {}).items():
        yield from _amounts(f"{name} borrows", views[name].borrowed, wanted)
    for name, text in (want.excess or {}).items():
        yield from _fraction(f"{name} is over by", views[name].excess, text)
    frozen = {name: view.frozen for name, view in sorted(views.items()) if view.frozen}
    if want.frozen is not None and sorted(want.frozen) != list(frozen):
        yield f"frozen are {frozen}, wanted {sorted(want.frozen)}"


def _tenants(play: Simulator, want: WantAll) -> Iterator[str]:
    """What does not hold for the shares of tenants."""
    shares = tenant_shares(play.snapshot()) if want.shares else {}
    for name, text in (want.shares or {}).items():
        if name not in shares:
            raise ScenarioError(f"expectAll.shares: there is no tenant {name!r}")
        yield from _fraction(f"the share of {name} is", shares[TenantName(name)], text)


def _fraction(what: str, share: Share, wanted: str) -> Iterator[str]:
    try:
        goal = Fraction(wanted)
    except ValueError as error:
        raise ScenarioError(f"expectAll: {wanted!r} is not a fraction such as 1/5") from error
    if share.denominator == 0 or Fraction(share.numerator, share.denominator) != goal:
        yield f"{what} {share.numerator}/{share.denominator} of {share.resource}, wanted {wanted}"


def _amounts(who: str, held: Resources, wanted: Amount) -> Iterator[str]:
    for name, quantity in wanted.items():
        try:
            amount = parse_quantity(str(quantity), name)
        except QuantityError as error:
            raise ScenarioError(f"{who} {name}: {error}") from error
        if held.get(name) != amount:
            yield f"{who} {name}: {held.get(name)}, wanted {amount} ({quantity})"


def _held(play: Simulator, holder: str) -> Resources:
    """What the admitted jobs of a queue, or of `tenant/NAME`, hold."""
    kind, slash, name = holder.partition("/")
    if slash and kind == "tenant":
        jobs = [w for w in play.state.workloads() if w.admitted() and w.tenant == name]
    else:
        jobs = play.held_by(holder)
    return Resources.total(
        one.demand.gang.requests(grant.amounts)
        for one in jobs
        if one.demand.gang is not None and one.decision is not None
        for grant in one.decision.grants
    )


def compare_live(expect: Mapping[str, Want], state: State, plan: Plan) -> list[str]:
    """The same for a live federation: jobs are found by `namespace/name` of their template."""
    outcomes = {one.workload: one for one in plan.outcomes}
    workloads = {f"{one.namespace}/{one.name}": one for one in state.workloads()}
    failures: list[str] = []
    for name, want in expect.items():
        workload = workloads.get(name)
        if workload is None:
            failures.append(f"{name}: has no binding yet")
        else:
            failures += differences(name, want, workload, outcomes.get(workload.key))
    return failures


def differences(
    name: str, want: Want, workload: Workload, outcome: Outcome | None
) -> Iterator[str]:
    """What of an expectation does not hold for a job."""
    grants = workload.decision.grants if workload.decision and workload.targets else ()
    where = {str(grant.cluster): grant.amounts.pods() for grant in grants}
    first = grants[0] if grants else None
    verdict = outcome.verdict if outcome is not None else None
    admitted = bool(workload.targets)
    amounts: Counter[str] = Counter()
    for grant in grants:
        amounts.update({str(task): pods for task, pods in grant.amounts.entries})
    have: dict[str, object] = {
        "cluster": ", ".join(str(target.cluster) for target in workload.targets),
        "clusters": where,
        "domain": first.domain if first else None,
        "tier": first.tier if first else None,
        "pods": sum(where.values()),
        "amounts": dict(amounts),
        "pending": None if admitted or verdict is None else str(verdict.code),
        "reason": None if verdict is None else str(verdict.reason),
        "nearest": None if outcome is None else outcome.nearest,
        "position": None if outcome is None else outcome.position,
        "finished": workload.finished,
    }
    why = f" ({verdict.detail})" if verdict is not None and verdict.detail else ""
    for attribute, value in have.items():
        wanted = getattr(want, attribute)
        if wanted is not None and wanted != value:
            yield f"{name}: {attribute} is {_shown(value)}, wanted {_shown(wanted)}{why}"
    if want.says is not None and (verdict is None or want.says not in verdict.detail):
        said = verdict.detail if verdict is not None else "nothing"
        yield f"{name}: says {said!r}, wanted {want.says!r} in it"
    if want.refused is not None:
        reasons = (
            {str(c.cluster): str(c.verdict.reason) for c in outcome.clusters} if outcome else {}
        )
        for cluster, reason in want.refused.items():
            if reasons.get(cluster) != reason:
                yield f"{name}: {cluster} refuses with {reasons.get(cluster)}, wanted {reason}"


def misplaced(
    name: str, want: Want, lies: PodLocations, before: str | None = None, waited: int = 0
) -> Iterator[str]:
    """What of an expectation about single pods does not hold.

    `before` is where they lay, and `waited` how many had no node then.
    """
    placed = dict(sorted(lies.nodes.items()))
    why = f" ({lies.reason})" if lies.reason else ""
    yield from _waiting(name, want, lies)
    if want.bound is not None and want.bound != len(placed):
        yield f"{name}: {len(placed)} pods are bound, wanted {want.bound}: {placed}{why}"
    for pod, node in (want.nodes or {}).items():
        if placed.get(pod) != node:
            yield f"{name}: pod {pod} is on {placed.get(pod)}, wanted {node}{why}"
    if want.on_nodes is not None and (
        lies.waiting or not set(placed.values()) <= set(want.on_nodes)
    ):
        yield f"{name}: its pods are on {_counts(placed.values())}, wanted {want.on_nodes}{why}"
    for domain, pods in (want.pods_in or {}).items():
        if lies.under(domain) != pods:
            yield f"{name}: {lies.under(domain)} of its pods are in {domain}, wanted {pods}{why}"
    if want.sizes is not None:
        sizes = Counter(lies.leaf_of.get(node, "") for node in placed.values())
        if sorted(sizes.values()) != sorted(want.sizes):
            yield f"{name}: its pods lie in domains as {dict(sizes)}, wanted {want.sizes}{why}"
    if want.same_domain and (lies.waiting > waited or lies.around() != before):
        yield f"{name}: its pods lie in {lies.around()}, wanted {before} as before{why}"


def _waiting(name: str, want: Want, lies: PodLocations) -> Iterator[str]:
    """Every waiting workload has a reason."""
    if want.waiting is None:
        return
    if lies.waiting < want.waiting:
        placed = dict(sorted(lies.nodes.items()))
        yield f"{name}: {lies.waiting} pods wait, wanted at least {want.waiting}: {placed}"
    elif lies.waiting and not lies.reason:
        yield f"{name}: {lies.waiting} pods wait, and nothing says why"


def compare_group(name: str, want: Want, lies: PodLocations) -> Iterator[str]:
    """What of an expectation does not hold for a PodGroup; a wait has a reason."""
    yield from misplaced(name, want, lies)
    if lies.waiting and not lies.reason:
        yield f"{name}: {lies.waiting} pods wait, and nothing says why"
    if want.says is not None and want.says not in lies.reason:
        yield f"{name}: says {lies.reason!r}, wanted {want.says!r} in it"
    known = {"bound", "nodes", "on_nodes", "pods_in", "sizes", "says", "waiting"}
    other = [f for f in want.__struct_fields__ if f not in known and getattr(want, f) is not None]
    if other:
        raise ScenarioError(f"{name}: of a PodGroup {', '.join(other)} cannot be expected")


def _counts(nodes: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(nodes).items()))


def _shown(value: object) -> object:
    return None if value == "" else value
