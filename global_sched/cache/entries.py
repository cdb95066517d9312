"""The entry of one binding: what the state keeps of it between its events."""

from global_sched.cache.readers.bindings import BindingFacts
from global_sched.cache.resolve import Overlay
from global_sched.cache.stores.usage_index import Position
from global_sched.shared.kinds.parts.reading import Reading
from global_sched.shared.model.decision import Decision
from global_sched.shared.model.instant import Instant, answered_at
from global_sched.shared.model.plan import Admission, Claiming, Withdrawal
from global_sched.shared.model.workload import Demand, Workload


class Entry:
    """One binding that is ours: its facts, and what was made of them last."""

    __slots__ = (
        "beyond",
        "demand",
        "facts",
        "late",
        "malformed",
        "overlay",
        "position",
        "reading",
        "waits_for_template",
        "workload",
    )

    def __init__(self, facts: BindingFacts) -> None:
        self.facts = facts
        self.malformed = ""
        self.beyond: Decision | None = None
        """A decision of a term that the Lease has not given; it is not believed."""
        self.late = False
        """Whether its decision is of an earlier term and appeared in the present one."""
        self.overlay: Overlay | None = None
        self.reading: Reading | None = None
        """The last reading that fitted; it stays when its template goes first."""
        self.waits_for_template = True
        self.workload: Workload | None = None
        self.demand: Demand | None = None
        """The demand that is held in `Demands`."""
        self.position = Position()

    def assume(self, action: Admission | Withdrawal | Claiming, now: Instant) -> None:
        """Lay what is being written over what the watch has shown."""
        if isinstance(action, Claiming):  # only the annotation: it waits, or stays where it is
            targets = () if self.workload is None else self.workload.targets
        else:
            targets = action.targets
        at = answered_at(now, self.facts.reschedule_at)
        self.overlay = Overlay(targets=targets, decision=action.decision, at=at)

    def judge_term(self, before: Decision | None, term: int) -> None:
        """Note whether a decision that just appeared is the late write of an earlier leader.

        `term` is ours, 0 while we do not lead: a follower's sync brings what is decided already.
        """
        decision = self.facts.decision
        if not term or decision is None or decision.epoch >= term:
            self.late = False
        elif before is None or decision.id != before.id:
            self.late = True


_DECIDE = (
    "generation",
    "template_uid",
    "template_version",
    "targets",
    "leaving",
    "reschedule_at",
    "candidate",
    "placement_applied",
    "scheduled",
    "observed_generation",
    "finished",
    "decision",
    "decision_problem",
    "placement",
    "own",
    "binding_id",
)


_SAID = frozenset({"scheduled", "observed_generation"})


def same_for_decisions(old: BindingFacts, new: BindingFacts) -> bool:
    """Whether a cycle would treat two versions of a binding alike.

    A status that now says all there is to say leaves a cycle nothing to do.
    """
    said = new.scheduled and new.observed_generation == new.generation
    return all(
        getattr(old, name) == getattr(new, name) for name in _DECIDE if not (said and name in _SAID)
    )
