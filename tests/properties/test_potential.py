"""Every claim lowers a potential: on random sequences over random trees of queues.

Preemption: what a queue runs by priority, compared from the highest on, gets larger. Reclaim: the
sorted excess of the brothers where claimant and victim part gets smaller. Both are bounded and of
whole numbers, so that claims alone end.
"""

from collections import Counter

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.core.ledger import Charge, Ledger
from global_sched.core.occupancy import priority_of
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from tests.properties.test_reclaim import COMMON, DEEP, POLICY, jobs, shown, towns


@settings(COMMON, max_examples=COMMON.max_examples if DEEP else 60)  # several cycles each
@given(towns(), st.data())
def test_every_claim_lowers_a_potential(town, data):
    """Jobs come and end between the cycles; each claim is looked at with those before it done."""
    seen = Counter()
    for turn in range(data.draw(st.integers(2, 5))):
        snapshot, before = town.snapshot(), dict(town.workloads)
        plan = run_cycle(snapshot, POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        seen.update(_check(Ledger(snapshot, POLICY), before, plan))
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
        member.cut(one.binding_id, Amounts())


def _check(ledger, workloads, plan):
    """The potentials of every claim of a plan, one after the other; which kinds there were."""
    running = {key: one.decision.grants[0].amounts for key, one in workloads.items() if one.targets}
    if any(one.makes_room_for is None for one in plan.admissions):
        return  # who came before a claim and who after it is not told
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
        _change(ledger, claimant, claim.amounts, running, claim.cluster)
        if own:
            assert _profile(workloads, running, claimant, claimed=True) > profile
            yield "preemption"
        for queue in others:
            assert ledger.entitlements.potential(claimant.queue, queue) < excess[queue]
            yield "reclaim"


def _leaving(plan, claimant):
    """The victims, with what they keep."""
    found = {w.workload: Amounts() for w in plan.withdrawals if w.makes_room_for == claimant}
    for one in plan.admissions:
        if one.makes_room_for == claimant:
            found[one.workload] = one.decision.grants[0].amounts
    return found


def _change(ledger, one, amounts, running, cluster=None):
    """It holds so many pods from now on."""
    where = cluster or (one.decision.grants[0].cluster if one.targets else "m0")
    gang = one.demand.gang
    for pods, sign in ((running.get(one.key, Amounts()), -1), (amounts, 1)):
        ledger.charge(Charge(one.queue, one.tenant, where, gang.requests(pods)), sign)
    running[one.key] = amounts


def _profile(workloads, running, claimant, *, claimed=False):
    """CPUs of a queue by priority, the highest first, down to the claimant's own."""
    found = Counter()
    for key, amounts in running.items():
        one = workloads[key]
        if one.queue == claimant.queue:
            new = claimed and key == claimant.key
            level = claimant.priority if new else priority_of(one)
            found[level] += one.demand.gang.requests(amounts).get("cpu")
    levels = sorted({20, 10, 0, *found, claimant.priority}, reverse=True)
    return [found[level] for level in levels if level >= claimant.priority]
