"""Sentences about room that is made or reserved for a workload."""

from dataclasses import replace

from global_sched.core.make_room.holds import Held
from global_sched.core.offer import Refusal
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Claim
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code, Verdict

NO_SEARCHES = "no victims are searched, since the Policy sets searches_per_cycle to 0"


def no_victims(protected: str = "") -> str:
    """No workload may leave for it; `protected` says which would, were they not."""
    nothing = f"{protected}; nothing else" if protected else "nothing"
    return (
        f"no victims: {nothing} of lower priority runs in its queue, and there is nothing that it "
        "may reclaim from queues beyond their deserved share"
    )


def claim_place(claim: Claim) -> str:
    """Where its room is, as people read it."""
    return " and ".join(
        one.cluster if one.domain is None else f"{one.cluster} {one.domain}" for one in claim.parts
    )


def told(held: Held, verdict: Verdict) -> Verdict:
    """The verdict on a workload with a claim."""
    claim = held.claim
    until = format_instant(claim.until)
    where = claim_place(claim)
    if not claim.victims:
        text = f"{where} drains for it; no job that would delay it is placed there"
        return replace(verdict, code=Code.WAIT, reason=Reason.ROOM_RESERVED, detail=text)
    gangs = sum(1 for one in claim.victims if one.whole)
    pods = sum(one.amounts.pods() for one in claim.victims if not one.whole)
    parts = [counted(gangs, "gang")] if gangs else []
    parts += [counted(pods, "surplus pod")] if pods else []
    verb = "are" if gangs + pods > 1 else "is"
    text = f"{' and '.join(parts)} {verb} being evicted from {where} for it; the room is reserved "
    text += f"until {until}"
    return Verdict(code=Code.WAIT, reason=Reason.ROOM_BEING_MADE, detail=text, missing=1)


def with_why(refusal: Refusal, why: str) -> Refusal:
    """The refusal with one more reason."""
    verdict = replace(refusal.verdict, detail=f"{refusal.verdict.detail}; {why}")
    return replace(refusal, verdict=verdict)


def deferred(refusal: Refusal, policy: Policy) -> Refusal:
    """It may search in a later cycle, unless the Policy allows no search at all."""
    later = "victims are searched in a later cycle"
    if policy.searches_per_cycle <= 0:
        later = NO_SEARCHES
    verdict = Verdict(
        code=Code.WAIT,
        reason=Reason.SEARCH_DEFERRED,
        detail=f"{refusal.verdict.detail}; {later}",
        missing=1,
    )
    return replace(refusal, verdict=verdict)
