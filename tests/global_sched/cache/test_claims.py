"""Claims in annotations, Directives and the ledger; what templates say about leaving."""

from dataclasses import replace

import pytest

from global_sched.cache.directives import directive_specs
from global_sched.cache.readers.decisions import authentic
from global_sched.cache.stores.demands import Demands
from global_sched.cache.stores.usage_index import Position, UsageIndex
from global_sched.shared.api.names import DECISION
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.decision import (
    Claim,
    ClaimPart,
    Decision,
    Grant,
    Leaver,
    decision_id,
)
from global_sched.shared.model.decision_text import parse_decision, render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from global_sched.shared.model.workload import Workload
from tests.builders import NOW, workload
from tests.global_sched.cache.worlds import feed, state_of
from tests.wire import binding, cluster_object, decode, pod_template, task, vcjob

M1 = ClusterName("m1")
CLAIM = Claim(
    parts=(
        ClaimPart(cluster=M1, amounts=Amounts.of({"main": 4}), domain=DomainId("rack-0"), tier=1),
    ),
    victims=(
        Leaver(binding=BindingId("id-v"), amounts=Amounts.of({"main": 2})),
        Leaver(binding=BindingId("id-w"), amounts=Amounts.of({"main": 1}), whole=False),
    ),
    since=NOW,
    until=Instant(NOW + 300 * SECOND),
    order=2,
)


def kept(**part) -> Claim:
    """The claim with another part."""
    return replace(CLAIM, parts=(replace(CLAIM.first, **part),))


TWO_PARTS = replace(
    kept(amounts=Amounts.of({"main": 3})),
    parts=(
        replace(CLAIM.first, amounts=Amounts.of({"main": 3})),
        ClaimPart(cluster=ClusterName("m2"), amounts=Amounts.of({"main": 1})),
    ),
)
"""Room in two clusters."""


def claiming(name="x", claim=CLAIM, **fields) -> Workload:
    """A workload that waits with a claim."""
    one = workload(name, pods=4)
    made = decision_id(one.binding_id, (), NOW, 2, claim)
    return replace(one, decision=Decision(id=made, epoch=1, at=NOW, order=2, claim=claim, **fields))


def test_the_annotation_holds_the_claim():
    """A new leader reads what the last one wrote, and does not believe another claim."""
    one = claiming(evicted=Instant(NOW - SECOND), give_up=((M1, Amounts.of({"main": 1})),))

    read = parse_decision(render_decision(one.decision))

    assert read == one.decision
    assert authentic(read, one.binding_id)
    wider = kept(domain=None)
    assert not authentic(replace(read, claim=wider), one.binding_id)


def test_the_annotation_holds_every_part_of_a_claim():
    """Room in two clusters is read as it was written, and neither part may be another one."""
    one = claiming(claim=TWO_PARTS)

    text = render_decision(one.decision)

    assert parse_decision(text) == one.decision
    assert authentic(parse_decision(text), one.binding_id)
    assert not authentic(parse_decision(text.replace("m2", "m3")), one.binding_id)
    assert TWO_PARTS.amounts == CLAIM.amounts


def test_each_cluster_is_told_its_part():
    """The member of either part holds that much, and the cache knows both."""
    one, usage_index = claiming(claim=TWO_PARTS), UsageIndex(Demands())

    held = {
        name: [entry.held for spec in specs for entry in spec.entries or ()]
        for name in ("m1", "m2")
        if (specs := directive_specs(name, [], [one], label_keys=(), epoch=1))
    }
    place = usage_index.replace(one.key, Position(), one, look=False)

    assert held == {"m1": [{"main": 3}], "m2": [{"main": 1}]}
    assert {name for name, those in usage_index.claimants.items() if those} == {"m1", "m2"}
    usage_index.replace(one.key, place, claiming(), look=False)
    assert {name for name, those in usage_index.claimants.items() if those} == {"m1"}


def test_a_claim_beside_grants_belongs_to_them():
    """What was admitted has the same id with and without it; another claim is not believed there.

    Nor is the same claim beside other grants. What was admitted stays admitted either way.
    """
    grants = (Grant(cluster=M1, amounts=Amounts.of({"main": 2})),)
    decisions = [
        Decision(
            id=decision_id(BindingId(name), grants, NOW, 2), epoch=1, at=NOW, order=2, grants=grants
        )
        for name in ("id-x", "id-y")
    ]
    x, y = (render_decision(replace(one, claim=CLAIM)) for one in decisions)

    assert parse_decision(x) == replace(decisions[0], claim=CLAIM)
    assert authentic(parse_decision(x), BindingId("id-x"))
    assert parse_decision(x.replace("rack-0", "rack-1")) == decisions[0]
    theirs = x.replace(decisions[0].id, decisions[1].id)
    assert theirs != y
    assert parse_decision(theirs) == decisions[1]


def test_a_directive_holds_room_for_a_claim():
    """What is held, where, until when, and whose pods leave; nothing is admitted."""
    [spec] = directive_specs("m1", [], [claiming()], label_keys=(), epoch=1)
    [entry] = spec.entries or ()

    assert (entry.binding, entry.admitted, entry.held) == ("id-x", None, {"main": 4})
    assert (entry.held_domain, entry.tier) == ("rack-0", 1)
    assert entry.held_until == "2026-01-31T12:05:00.000000Z"
    assert entry.leaving == ["id-v", "id-w"]
    assert entry.gang is not None


def test_a_directive_says_what_to_give_up():
    """Surplus pods that leave, beside the amount that stays."""
    one = workload("low", pods=4, on="m1", admitted=2, bound=4)
    one = replace(one, decision=replace(one.decision, give_up=((M1, Amounts.of({"main": 2})),)))

    [spec] = directive_specs("m1", [one], label_keys=(), epoch=1)
    [entry] = spec.entries or ()

    assert (entry.admitted, entry.give_up) == ({"main": 2}, {"main": 2})


def test_running_is_shared_while_unchanged():
    """A cluster's running workloads are the same object until one of them changes."""
    usage_index = UsageIndex(Demands())
    a, b = workload("a", on="m1"), workload("b", on="m2")
    place = usage_index.replace(a.key, Position(), a, look=False)
    usage_index.replace(b.key, Position(), b, look=False)
    first = usage_index.running()

    again = usage_index.running()
    usage_index.replace(a.key, place, None, look=False)
    later = usage_index.running()

    assert [(one.cluster, one.workloads) for one in first] == [("m1", (a,)), ("m2", (b,))]
    assert all(x is y for x, y in zip(first, again, strict=True))
    assert [one.cluster for one in later] == ["m2"]
    assert later[0] is first[1]


def test_a_claim_changes_the_directive_of_its_cluster():
    """The Directive says when a claim comes and when it goes."""
    usage_index = UsageIndex(Demands())
    one = claiming()

    place = usage_index.replace(one.key, Position(), one, look=False)
    came = set(usage_index.changed_holders)
    usage_index.changed_holders.clear()
    usage_index.replace(one.key, place, replace(one, decision=None), look=False)

    assert came == {"m1"}
    assert usage_index.changed_holders == {"m1"}
    assert not usage_index.claimants[M1]


READER = KINDS[("batch.volcano.sh/v1alpha1", "Job")]


def _job(annotations=None, labels=None, pods=None):
    template = pod_template()
    if pods:
        template = {**template, "metadata": {"annotations": pods}}
    job = vcjob("j", task("a", 2, template=template))
    job["metadata"] |= {"annotations": annotations or {}, "labels": labels or {}}
    return READER.reading(decode(job, READER.wire))


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param({}, (True, None, None), id="nothing said"),
        pytest.param(
            {"annotations": {"volcano.sh/preemptable": "false"}},
            (False, None, None),
            id="Volcano's annotation",
        ),
        pytest.param(
            {"labels": {"volcano.sh/preemptable": "false"}}, (False, None, None), id="its label"
        ),
        pytest.param(
            {"pods": {"federation.global-sched.io/preemptable": "false"}},
            (False, None, None),
            id="ours, on the pods",
        ),
        pytest.param(
            {"annotations": {"federation.global-sched.io/run-time-limit": "90m"}},
            (True, 5400, None),
            id="a run-time limit",
        ),
        pytest.param(
            {"annotations": {"federation.global-sched.io/last-checkpoint": "2026-01-31T11:00:00Z"}},
            (True, None, parse_instant("2026-01-31T11:00:00Z")),
            id="a checkpoint",
        ),
    ],
)
def test_what_a_template_says_about_leaving(job, want):
    """Whether it may have to leave, when it ends, and since when it has work to lose."""
    found = _job(**job)

    assert (found.preemptable, found.run_limit, found.checkpoint) == want


@pytest.mark.parametrize(
    ("annotation", "text", "says"),
    [
        pytest.param("volcano.sh/preemptable", "perhaps", "use true or false", id="preemptable"),
        pytest.param(
            "federation.global-sched.io/run-time-limit", "soon", "use a duration", id="a limit"
        ),
        pytest.param(
            "federation.global-sched.io/last-checkpoint", "now", "is not an RFC 3339", id="a time"
        ),
    ],
)
def test_what_cannot_be_read_is_refused(annotation, text, says):
    """The refusal names the annotation."""
    found = _job(annotations={annotation: text})

    assert annotation in found.problem.detail
    assert says in found.problem.detail


def test_two_jobs_that_differ_in_their_limit_are_not_one():
    """Equal specs with other annotations are read apart."""
    key = "federation.global-sched.io/run-time-limit"
    first = decode(vcjob("j", task("a", 2)), READER.wire)
    job = vcjob("j", task("a", 2))
    job["metadata"]["annotations"] = {key: "1h"}

    assert READER.content(first) != READER.content(decode(job, READER.wire))


def test_a_directive_holds_room_for_growth():
    """A gang that runs keeps its entry; the room for more of it is an entry of its own, as of now.

    Its id is the one from before: what was admitted is the same.
    """
    one = workload("high", pods=4, on="m1", admitted=2, bound=2)
    later = Instant(NOW + 60 * SECOND)
    claim = replace(kept(amounts=Amounts.of({"main": 2})), since=later, order=5)
    grown = replace(one, decision=replace(one.decision, claim=claim))

    [before] = directive_specs("m1", [one], label_keys=(), epoch=1)
    [spec] = directive_specs("m1", [grown], [grown], label_keys=(), epoch=1)
    runs, held = spec.entries or ()

    assert [runs] == before.entries
    assert (held.binding, held.admitted, held.held) == ("id-high/growth", None, {"main": 2})
    assert (held.at, held.order) == ("2026-01-31T12:01:00.000000Z", 5)
    assert [(p["name"], p["count"], p["minimum"]) for p in held.gang["pod_sets"]] == [
        ("main", 2, 2)
    ]


def test_a_claim_for_growth_that_changes_is_told():
    """The Directive's entry for the growth follows the claim, though its decision's id stays."""
    one = workload("high", pods=4, on="m1", admitted=2, bound=2)
    specs = []
    for claim in (CLAIM, kept(domain=DomainId("rack-9"))):
        grown = replace(one, decision=replace(one.decision, claim=claim))
        [spec] = directive_specs("m1", [grown], [grown], label_keys=(), epoch=1)
        specs.append(spec.entries)

    (runs, first), (same, second) = specs
    assert runs == same
    assert first.decision == second.decision == runs.decision
    assert [first.held_domain, second.held_domain] == ["rack-0", "rack-9"]


def test_room_for_growth_is_told_and_kept():
    """The cache shows one that runs with a claim to cycles and to its member, until it is gone."""
    job = vcjob("x", replicas=4)
    grants = (Grant(cluster=M1, amounts=Amounts.of({"worker": 2})),)
    made = decision_id("id-x-job", grants, NOW, 2, None, 0)
    claim = replace(kept(amounts=Amounts.of({"worker": 2})), victims=())
    decision = Decision(id=made, epoch=1, at=NOW, order=2, grants=grants, priority=0, claim=claim)

    def told(content, version):
        annotations = {DECISION: render_decision(content)}
        return binding(job, clusters=["m1"], annotations=annotations, version=version)

    state = state_of(cluster_object("m1"), job, told(decision, "1"))
    snapshot = state.snapshot()

    assert [one.decision.claim for one in snapshot.unsettled] == [claim]
    assert list(state.builder.usage_index.claimants[M1]) == ["team-a/x-job"]
    feed(state, told(replace(decision, claim=None), "2"))
    state.snapshot()
    assert not state.builder.usage_index.claimants[M1]
