"""Every claim lowers a potential: on random sequences over random trees of queues.

Preemption: what a queue runs by priority, compared from the highest on, gets larger. Reclaim: the
sorted excess of the brothers where claimant and victim part gets smaller. Both are bounded and of
whole numbers, so that claims alone end.
"""

from collections import Counter

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.core.quota.ledger import Charge, Ledger
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from tests.deep import examples
from tests.properties.test_reclaim import COMMON, POLICY, jobs, shown, towns


@settings(COMMON, max_examples=examples(30))  # several cycles each
@given(towns(), st.data())
def test_every_claim_lowers_a_potential(town, data):
    """Jobs come and end between the cycles; each claim is looked at with those before it done."""
    seen = Counter()
    for turn in range(data.draw(st.integers(2, 5))):
        snapshot, before = town.snapshot(), dict(town.workloads)
        plan = run_cycle(snapshot, POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        seen.update(_check(Ledger(snapshot, POLICY), before, plan))
        check_nobody_below_its_deserved_gives(snapshot, before, plan)
        town.execute(plan, linger=True)
        town.leave()
        town.now = Instant(town.now + 10 * SECOND)
        running = sorted(key for key, one in town.workloads.items() if one.targets)
        if running and data.draw(st.booleans()):
            _end(town, data.draw(st.sampled_from(running)))
        if data.draw(st.booleans()):
            town.add(data.draw(jobs(f"more{turn}")))
    event(f"claims: {', '.join(sorted(seen)) or 'none'}")


def _end(town, key):
    """A job ends, and its pods go."""
    one = town.workloads.pop(key)
    for member in town.members.values():
        member.remove(one.binding_id)


def _check(ledger, workloads, plan):
    """The potentials of every claim of a plan, one after the other; which kinds there were."""
    running = {key: _held(one.decision) for key, one in workloads.items() if one.targets}
    if any(one.makes_room_for is None for one in plan.admissions):
        return  # the order of admissions and claims is not known
    for claiming in plan.claims:
        if claiming.decision.claim is None:
            continue
        claimant, claim = workloads[claiming.workload], claiming.decision.claim
        leaving = _leaving(plan, claimant.key)
        own = [key for key in leaving if workloads[key].queue == claimant.queue]
        others = {workloads[key].queue for key in leaving} - {claimant.queue}
        profile = _profile(workloads, running, claimant)
        excess = {q: ledger.entitlements.potential(claimant.queue, q) for q in others}
        for key, left in leaving.items():
            _change(ledger, workloads[key], left, running)
        has = dict(running.get(claimant.key, {}))
        has[claim.first.cluster] = has.get(claim.first.cluster, Amounts()).plus(claim.amounts)
        _change(ledger, claimant, has, running)
        if own:
            assert _profile(workloads, running, claimant, claimed=True) > profile
            yield "preemption"
        for queue in others:
            assert ledger.entitlements.potential(claimant.queue, queue) < excess[queue]
            yield "reclaim"


def _leaving(plan, claimant):
    """The victims, with what they keep."""
    leaving = [w for w in (*plan.withdrawals, *plan.admissions) if w.makes_room_for == claimant]
    return {one.workload: _held(one.decision) for one in leaving}


def _held(decision):
    """Pods by cluster."""
    return {grant.cluster: grant.amounts for grant in decision.grants}


def _change(ledger, one, has, running):
    """It holds these pods from now on."""
    gang = one.demand.gang
    for held, sign in ((running.get(one.key, {}), -1), (has, 1)):
        for cluster, pods in held.items():
            ledger.charge(Charge(one.queue, one.tenant, cluster, gang.requests(pods)), sign)
    running[one.key] = has


def _profile(workloads, running, claimant, *, claimed=False):
    """CPUs of a queue by priority, the highest first, down to the claimant's own."""
    found = Counter()
    for key, has in running.items():
        one = workloads[key]
        if one.queue == claimant.queue:
            new = claimed and key == claimant.key
            level = claimant.priority if new else one.priority
            found[level] += sum(one.demand.gang.requests(n).get("cpu") for n in has.values())
    levels = sorted({20, 10, 0, *found, claimant.priority}, reverse=True)
    return [found[level] for level in levels if level >= claimant.priority]


def check_nobody_below_its_deserved_gives(snapshot, before, plan):
    """Reclaim takes from queues over their deserved only, on every level up to where they part.

    Each victim, as the last one to leave: its queue and all above it, up to the brother of the
    claimant's, were over in something that both ask for, or the victim had nothing of what its
    queue's deserved speaks of.
    """
    claims = [one for one in plan.claims if one.decision.claim is not None]
    if len(claims) != 1 or any(one.makes_room_for is None for one in plan.admissions):
        return
    ledger, claimant = Ledger(snapshot, POLICY), before[claims[0].workload]
    running = {key: _held(one.decision) for key, one in before.items() if one.targets}
    asked = claimant.demand.gang.requests(claims[0].decision.claim.amounts)
    leaving = _leaving(plan, claimant.key)
    was = {key: running[key] for key in leaving}
    for key, left in leaving.items():
        _change(ledger, before[key], left, running)
    reclaimed = [key for key in leaving if before[key].queue != claimant.queue]
    event("reclaim" if reclaimed else "none")
    for key in reclaimed:
        _change(ledger, before[key], was[key], running)
        assert _gives(ledger, before[key], claimant, asked), f"{key} of a queue that lacks"
        _change(ledger, before[key], leaving[key], running)


def _gives(ledger, victim, claimant, asked):
    """Whether every queue below the fork is over its deserved, with the victim there."""
    entitlements, common = ledger.entitlements, dict(asked.entries)
    above = set(entitlements.path(claimant.queue))
    for name in entitlements.path(victim.queue):
        if name in above:
            return True
        node = ledger.node(name)
        counted = [one for one in common if entitlements.counts(node, one)]
        deserved, held = entitlements.deserved(name), entitlements.allocated(name)
        if counted and not any(held.get(one, 0) > deserved.get(one, 0) for one in counted):
            return False
    return True
