"""The decision annotation: a Decision as text, and back."""

import msgspec

from global_sched.shared.api.federation import (
    BackoffRecord,
    ClaimPartRecord,
    ClaimRecord,
    DecisionRecord,
    GiveUpRecord,
    GrantRecord,
    LeaverRecord,
)
from global_sched.shared.model.decision import (
    MOST_EVICTIONS,
    MOST_MOVES,
    Backoff,
    Claim,
    ClaimPart,
    Decision,
    Grant,
    Leaver,
    Left,
    growth_check,
)
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import (
    BindingId,
    ClusterName,
    DecisionId,
    DomainId,
    PodSetName,
)
from global_sched.shared.model.instant import InstantError, format_micro, parse_instant
from global_sched.shared.model.resources import Resources

_DECODER = msgspec.json.Decoder(DecisionRecord)
_LONGEST = 256 * 1024


class DecisionError(ValueError):
    """An annotation that is not a decision of ours; the text says why."""


def render_decision(decision: Decision) -> str:
    """The text of the annotation."""
    record = DecisionRecord(
        id=decision.id,
        epoch=decision.epoch,
        at=format_micro(decision.at),
        order=decision.order,
        grants=[
            *(_grant_record(grant) for grant in decision.grants),
            *(_left_record(left) for left in decision.left),
        ],
        pending=amounts_map(decision.pending) or None,
        backoffs=[
            BackoffRecord(
                cluster=one.cluster,
                until=format_micro(one.until),
                failures=one.failures,
                reason=one.reason,
            )
            for one in decision.backoffs
        ]
        or None,
        claim=None if decision.claim is None else _claim_record(decision, decision.claim),
        give_up=[
            GiveUpRecord(cluster=cluster, amounts=amounts_map(amounts))
            for cluster, amounts in decision.give_up
        ]
        or None,
        evicted="" if decision.evicted is None else format_micro(decision.evicted),
        priority=decision.priority,
        claimed="" if decision.claimed is None else format_micro(decision.claimed),
        evictions=decision.evictions,
        started="" if decision.started is None else format_micro(decision.started),
        moved="" if decision.moved is None else format_micro(decision.moved),
        moves=decision.moves,
        cut="" if decision.cut is None else format_micro(decision.cut),
        recovering="" if decision.recovering is None else format_micro(decision.recovering),
        called="" if decision.called is None else format_micro(decision.called),
    )
    return msgspec.json.encode(record, order="deterministic").decode()


def amounts_map(amounts: Amounts) -> dict[str, int]:
    """Pods by pod set as JSON has them."""
    return {str(name): pods for name, pods in amounts.entries}


def _claim_record(decision: Decision, claim: Claim) -> ClaimRecord:
    first = claim.first
    return ClaimRecord(
        cluster=first.cluster,
        amounts=amounts_map(first.amounts),
        domain=first.domain or "",
        tier=first.tier,
        victims=[
            LeaverRecord(
                binding=one.binding,
                amounts=amounts_map(one.amounts),
                whole=one.whole,
                cluster=one.cluster,
            )
            for one in claim.victims
        ]
        or None,
        since=format_micro(claim.since),
        until=format_micro(claim.until),
        order=claim.order,
        more=[
            ClaimPartRecord(
                cluster=one.cluster,
                amounts=amounts_map(one.amounts),
                domain=one.domain or "",
                tier=one.tier,
            )
            for one in claim.parts[1:]
        ]
        or None,
        check=growth_check(decision.id, claim) if decision.grants else "",
    )


def _grant_record(grant: Grant) -> GrantRecord:
    return GrantRecord(
        cluster=grant.cluster,
        amounts=amounts_map(grant.amounts),
        replicas=grant.replicas,
        domain=grant.domain or "",
        tier=grant.tier,
        tier_name=grant.tier_name,
    )


def parse_decision(text: str) -> Decision:
    """The decision that an annotation holds. Raises DecisionError."""
    if len(text) > _LONGEST:
        raise DecisionError(f"it is {len(text)} characters long")
    try:
        record = _DECODER.decode(text)
        at = parse_instant(record.at)
        backoffs = tuple(_backoff(one) for one in record.backoffs or ())
        claim = None if record.claim is None else _claim(record, record.claim)
        left = tuple(_left(one) for one in record.grants or () if one.left)
        evicted = parse_instant(record.evicted) if record.evicted else None
        claimed = parse_instant(record.claimed) if record.claimed else None
        started = parse_instant(record.started) if record.started else None
        moved = parse_instant(record.moved) if record.moved else None
        cut = parse_instant(record.cut) if record.cut else None
        recovering = parse_instant(record.recovering) if record.recovering else None
        called = parse_instant(record.called) if record.called else None
    except (msgspec.MsgspecError, RecursionError, UnicodeError, InstantError) as error:
        raise DecisionError(f"it cannot be read: {error}") from error
    if not record.id:
        raise DecisionError("it has no id")
    return Decision(
        id=DecisionId(record.id),
        epoch=record.epoch,
        at=at,
        order=record.order,
        grants=tuple(_grant(one) for one in record.grants or () if not one.left),
        pending=amounts_of(record.pending),
        backoffs=backoffs,
        claim=claim,
        give_up=tuple(
            (ClusterName(one.cluster), amounts_of(one.amounts)) for one in record.give_up or ()
        ),
        evicted=evicted,
        priority=record.priority,
        claimed=claimed,
        evictions=min(record.evictions, MOST_EVICTIONS),
        started=started,
        moved=moved,
        moves=min(record.moves, MOST_MOVES),
        cut=cut,
        recovering=recovering,
        called=called,
        left=left,
    )


def amounts_of(found: dict[str, int] | None) -> Amounts:
    """Pods by pod set."""
    return Amounts.of({PodSetName(name): pods for name, pods in (found or {}).items()})


def _grant(record: GrantRecord) -> Grant:
    return Grant(
        cluster=ClusterName(record.cluster),
        amounts=amounts_of(record.amounts),
        replicas=record.replicas,
        domain=DomainId(record.domain) if record.domain else None,
        tier=record.tier,
        tier_name=record.tier_name,
    )


def _left_record(left: Left) -> GrantRecord:
    return GrantRecord(
        cluster=left.cluster,
        amounts=amounts_map(left.amounts),
        left=format_micro(left.at),
        uid=left.uid,
        held=dict(left.held.entries) or None,
    )


def _left(record: GrantRecord) -> Left:
    return Left(
        cluster=ClusterName(record.cluster),
        at=parse_instant(record.left),
        uid=record.uid,
        held=Resources.of(record.held or {}),
        amounts=amounts_of(record.amounts),
    )


def _backoff(record: BackoffRecord) -> Backoff:
    return Backoff(
        cluster=ClusterName(record.cluster),
        until=parse_instant(record.until),
        failures=record.failures,
        reason=record.reason,
    )


def _claim_part(record: ClaimRecord | ClaimPartRecord) -> ClaimPart:
    return ClaimPart(
        cluster=ClusterName(record.cluster),
        amounts=amounts_of(record.amounts),
        domain=DomainId(record.domain) if record.domain else None,
        tier=record.tier,
    )


def _claim(decision: DecisionRecord, record: ClaimRecord) -> Claim | None:
    """The claim; None beside grants that it was not made for, which stay as they are."""
    claim = Claim(
        parts=tuple(_claim_part(one) for one in (record, *(record.more or ()))),
        victims=tuple(
            Leaver(
                binding=BindingId(one.binding),
                amounts=amounts_of(one.amounts),
                whole=one.whole,
                cluster=ClusterName(one.cluster),
            )
            for one in record.victims or ()
        ),
        since=parse_instant(record.since),
        until=parse_instant(record.until),
        order=record.order,
    )
    granted = any(not one.left for one in decision.grants or ())
    if granted and record.check != growth_check(DecisionId(decision.id), claim):
        return None
    return claim
