"""Invariants of every claim, on random trees of queues and random clusters."""

from collections import Counter
from dataclasses import replace

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.core.quota.ledger import Charge, Ledger
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.values import to_json
from global_sched.shared.model.workload import Division
from tests.builders import workload
from tests.deep import examples
from tests.towns import Member, Town

COMMON = settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
POLICY = Policy(patience_seconds=0)
NO_CLAIMS = replace(POLICY, searches_per_cycle=0)
LEAVES = ("a", "b", "p-x", "p-y", "q-z")


@st.composite
def amounts(draw, least, most):
    """So many CPUs, or mostly nothing said."""
    said = draw(st.sampled_from((None,) * 5 + tuple(range(least, most + 1))))
    return () if said is None else (("cpu", said * 1000),)


@st.composite
def limits(draw):
    """A limit in one of the clusters, or mostly none."""
    found = draw(amounts(0, 2))
    return ((ClusterName(draw(st.sampled_from(("m0", "m1")))), found),) if found else ()


@st.composite
def trees(draw):
    """Five leaves under the root, three of them under queues of their own; few have limits."""
    found = [
        Queue(
            name=QueueName(name),
            capability=draw(amounts(1, 4)),
            cluster_capability=draw(limits()),
        )
        for name in ("p", "q")
    ]
    for name in LEAVES:
        above = QueueName(name[0]) if "-" in name else QueueName("root")
        said = draw(st.sampled_from((None, None, 0, 1, 2, 3)))
        found.append(
            Queue(
                name=QueueName(name),
                parent=above,
                weight=draw(st.integers(1, 3)),
                priority=draw(st.sampled_from((0, 0, 1))),
                deserved=() if said is None else (("cpu", said * 1000), ("pods", said)),
                reclaimable=draw(st.sampled_from((True,) * 5 + (False,))),
                capability=draw(amounts(1, 3)),
                cluster_capability=draw(limits()),
                guarantee=draw(amounts(0, 1)),
            )
        )
    return found


@st.composite
def jobs(draw, name):
    """A gang of small pods, sometimes elastic, under a rack or for one cluster; or a service."""
    pods = draw(st.integers(1, 4))
    division = draw(
        st.sampled_from((Division.WHOLE,) * 6 + (Division.DIVIDED, Division.DUPLICATED))
    )
    gang = division == Division.WHOLE
    return workload(
        name,
        cpu=draw(st.sampled_from((1, 1, 2))),
        pods=pods,
        minimum=draw(st.integers(1, pods)) if gang else None,
        tier=draw(st.sampled_from((None, None, 1, 2))) if gang else None,
        division=division,
        clusters=draw(st.sampled_from(((),) * 5 + (("m0",), ("m1",)))),
        queue=draw(st.sampled_from(LEAVES)),
        tenant=draw(st.sampled_from(("t1", "t2"))),
        priority=draw(st.sampled_from((0, 0, 10, 20))),
        created=draw(st.integers(0, 5)),
        preemptable=draw(st.sampled_from((True,) * 4 + (False,))),
    )


@st.composite
def towns(draw):
    """A town that has filled up with a first wave of jobs, and a second wave that waits."""
    members = [
        Member(
            f"m{at}",
            draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)),
            cpu=draw(st.sampled_from((1, 2, 2))),
        )
        for at in range(draw(st.integers(1, 2)))
    ]
    town = Town(members, draw(trees()))
    for at in range(draw(st.integers(1, 3))):
        town.add(*[draw(jobs(f"old{at}{i}")) for i in range(draw(st.integers(1, 3)))])
        town.execute(run_cycle(town.snapshot(), NO_CLAIMS, town.now))
        town.now = Instant(town.now + 10 * SECOND)
    town.add(*[draw(jobs(f"new{i}")) for i in range(draw(st.integers(1, 3)))])
    return town


@COMMON
@given(towns(), st.randoms(use_true_random=False))
def test_what_holds_for_a_plan_with_claims(town, rng):
    """One world is settled and planned for once; each rule below looks at a world of its own."""
    snapshot = town.snapshot()
    plan = run_cycle(snapshot, POLICY, town.now)
    note(f"first: {shown(plan)}")
    check_order_of_input(snapshot, plan, town.now, rng)
    check_reclaim_is_fairer(town.copy(), plan)
    check_minimal(town.copy(), plan)
    check_a_copy_of_a_victim(town.copy(), plan)
    check_claims(town, plan)


def check_claims(town, first):
    """Who leaves may leave, no victim takes its room back, claimants come in, soon all is quiet."""
    claimants, whole, taken_by = set(), Counter(), {}
    for turn in range(16):
        if turn % 2:
            town.leave()
        plan = run_cycle(town.snapshot(), POLICY, town.now) if turn else first
        note(f"{turn}: {shown(plan)}")
        if plan.empty() and turn % 2:
            break
        check_victims(town.snapshot(), plan, dict(town.workloads))
        gone = {
            one.workload: one.makes_room_for
            for one in plan.withdrawals
            if one.makes_room_for is not None
        }
        for victim, claimant in gone.items():
            assert taken_by.get(claimant) != victim, "a victim takes its room back"
        taken_by |= gone
        claimants |= {one.workload for one in plan.claims if one.decision.claim is not None}
        whole.update(list(gone))
        town.execute(plan, linger=True)
        town.now = Instant(town.now + SECOND)
    assert plan.empty()
    assert max(whole.values(), default=0) <= 2
    for key in claimants:
        assert town.workloads[key].targets or whole[key], f"{key} got no place in the end"


def shown(plan):
    """A plan in one line."""
    parts = [f"{w.workload} leaves for {w.makes_room_for}" for w in plan.withdrawals]
    parts += [
        f"{a.workload} gets {[(g.cluster, g.amounts.pods(), g.domain) for g in a.decision.grants]}"
        f"{' for ' + a.makes_room_for if a.makes_room_for else ''}"
        for a in plan.admissions
    ]
    parts += [f"{c.workload} claims {c.decision.claim}" for c in plan.claims]
    return (
        "; ".join(parts)
        + " | "
        + "; ".join(f"{o.workload} {o.verdict.code} {o.verdict.reason}" for o in plan.outcomes)
    )


def check_victims(snapshot, plan, workloads):
    """Only workloads that may leave do: by right, by will, by priority."""
    for one in (*plan.withdrawals, *plan.admissions):
        if one.makes_room_for is None:
            continue
        victim, claimant = workloads[one.workload], workloads[one.makes_room_for]
        assert victim.preemptable
        if victim.queue == claimant.queue:
            assert victim.priority < claimant.priority
        else:
            queue = next(q for q in snapshot.queues if q.name == victim.queue)
            assert queue.reclaimable
    whole = {one.workload for one in plan.withdrawals}
    for one in plan.admissions:
        if one.makes_room_for is not None:
            kept = one.decision.grants[0].amounts
            assert one.workload not in whole
            assert kept.covers(workloads[one.workload].demand.gang.minimum_amounts())


def check_reclaim_is_fairer(town, plan):
    """Reclaim lowers the sorted excess of the brothers where claimant and victim part."""
    before = town.snapshot()
    leaving = [one for one in plan.withdrawals if one.makes_room_for is not None]
    claimants = {one.workload for one in plan.claims}
    queues = {town.workloads[one.workload].queue for one in leaving}
    others = [one for one in plan.admissions if one.makes_room_for is None]
    if len(claimants) != 1 or len(queues) != 1 or others or len(plan.admissions):
        return
    claimant, victims = town.workloads[claimants.pop()], queues.pop()
    if victims == claimant.queue:
        return
    town.execute(plan)
    later = run_cycle(town.snapshot(), POLICY, Instant(town.now + SECOND))
    if [one.workload for one in later.admissions] != [claimant.key]:
        return
    if later.admissions[0].decision.grants[0].amounts != claimant.demand.gang.minimum_amounts():
        return
    town.execute(later)
    old, new = (
        Ledger(one, POLICY).entitlements.potential(claimant.queue, victims)
        for one in (before, town.snapshot())
    )
    note(f"{shown(plan)} {old} {new}")
    assert new < old


def check_minimal(town, plan):
    """Give any one victim back, and the claimant has no place, or another one a right to it."""
    if len(plan.claims) != 1 or [a for a in plan.admissions if a.makes_room_for is None]:
        return
    claimant = plan.claims[0].workload
    leaving = [one for one in plan.withdrawals if one.makes_room_for is not None]
    for kept in leaving:
        other = town.copy()
        other.workloads = {k: w for k, w in town.workloads.items() if w.targets or k == claimant}
        fewer = tuple(one for one in leaving if one is not kept)
        shrunk = tuple(one for one in plan.admissions if one.makes_room_for is not None)
        other.execute(replace(plan, withdrawals=fewer, admissions=shrunk, claims=()))
        gone = {one.workload for one in fewer}
        other.workloads = {k: w for k, w in other.workloads.items() if k not in gone}
        again = run_cycle(other.snapshot(), NO_CLAIMS, town.now)
        if claimant in {one.workload for one in again.admissions}:
            claim = plan.claims[0].decision.claim
            elsewhere = claim.first.domain is not None or claim.first.cluster != kept.cluster
            assert takes_back(town, (*fewer, *shrunk), claimant, lawful=elsewhere), kept.workload


def takes_back(town, leaving, key, *, lawful):
    """Whether one of these, once they have left, could take its room from the claimant at once.

    Or `lawful`: whether the claimant had no right to it with all others gone.
    """
    ledger, claimant = Ledger(town.snapshot(), POLICY), town.workloads[key]
    taken = []
    for one in leaving:
        victim = town.workloads[one.workload]
        for grant in victim.decision.grants:
            left = one.decision.grant(grant.cluster)
            gone = grant.amounts.minus(left.amounts if left else Amounts())
            amount = victim.demand.gang.requests(gone)
            ledger.charge(Charge(victim.queue, victim.tenant, grant.cluster, amount), -1)
            taken.append((victim.queue, amount))
    asked = claimant.demand.gang.requests(claimant.demand.gang.minimum_amounts())
    rights = ledger.entitlements
    for queue, amount in taken if lawful else ():
        node = ledger.tree.node(queue)
        ledger.tree.charge(node, None, amount, 1)
        given = queue == claimant.queue or rights.gives(queue, amount, claimant.queue, asked)
        ledger.tree.charge(node, None, amount, -1)
        if not given:
            return True
    return not rights.stands(taken, claimant.queue, asked)


def check_order_of_input(snapshot, plan, now, rng):
    """Who leaves does not depend on the order in which anything is listed."""

    def mixed(items):
        listed = list(items)
        return tuple(rng.sample(listed, len(listed)))

    shuffled = Snapshot(
        clusters=mixed(snapshot.clusters),
        queues=mixed(snapshot.queues),
        tenants=mixed(snapshot.tenants),
        usage=mixed(snapshot.usage),
        pending=mixed(replace(one, workloads=mixed(one.workloads)) for one in snapshot.pending),
        unsettled=mixed(snapshot.unsettled),
        running=mixed(replace(one, workloads=mixed(one.workloads)) for one in snapshot.running),
        epoch=snapshot.epoch,
    )

    assert to_json(run_cycle(shuffled, POLICY, now)) == to_json(plan)


def check_a_copy_of_a_victim(town, plan):
    """Who submits a victim again under another name takes nothing back, and no claimant leaves."""
    left_for = {one.workload: one.makes_room_for for one in plan.withdrawals}
    claimants = {one.workload for one in plan.claims}
    town.execute(plan, linger=True)
    town.leave()
    town.execute(run_cycle(town.snapshot(), POLICY, Instant(town.now + SECOND)), linger=True)
    copies = {}
    for key, claimant in left_for.items():
        victim = town.workloads[key]
        if victim.targets:  # it runs on in other clusters, or found room elsewhere
            continue
        town.workloads.pop(key)
        again = workload(
            f"again-{victim.name}",
            asks=victim.demand,
            queue=victim.queue,
            tenant=victim.tenant,
            priority=victim.priority,
            created=100,
        )
        town.add(again)
        copies[again.key] = claimant
    plan = run_cycle(town.snapshot(), POLICY, Instant(town.now + 2 * SECOND))
    note(f"{sorted(claimants)} {shown(plan)}")
    for one in (*plan.withdrawals, *plan.admissions):
        taker = one.makes_room_for
        assert taker is None or copies.get(taker) != one.workload, f"{taker} takes its room back"
    assert not claimants & {one.workload for one in plan.withdrawals}
