"""The end of every workload in a cycle: one verdict, with numbers."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, DomainId


class Code(StrEnum):
    """What the next step is."""

    FIT = "FIT"
    """Admitted, or already in place."""
    WAIT = "WAIT"
    """Something is not known or not allowed yet; no penalty."""
    NO_FIT = "NO_FIT"
    """No room now; freeing some would help."""
    NEVER = "NEVER"
    """The spec cannot be met by this cluster (or by any); it has to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Why, in one value. Equal verdicts compare equal, so a change is easy to see.

    `detail` is a sentence for people. `holds` of `wants` pods fit in the `nearest` domain
    where that is the question; `missing` is how many pods (or 1 for a yes/no condition) lack.
    """

    code: Code
    reason: Reason
    detail: str = ""
    missing: int = 0
    holds: int | None = None
    wants: int | None = None
    nearest: DomainId | None = None
    proven: bool = True
    """False where the search limit ended before it was certain that nothing fits."""
    asks: str = ""
    """Of a refusal for lack of room: `a rack with room for 5 pods`."""
    within: str = ""
    """What domains of the highest allowed tier are called: `rack`; empty for whole clusters."""
    note: str = ""
    """What stands behind the sentence: faults of the cluster's HyperNodes."""
    too_small: bool = False
    """No cluster that it may use could hold it, however much of its room came free."""
    ties: tuple[DomainId, ...] = ()
    """Further domains that hold as many as the nearest one; a few of many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterVerdict:
    """What one cluster answered, with its score (0..100 per scorer, weighted) when it fits."""

    cluster: ClusterName
    verdict: Verdict
    score: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainVerdict:
    """What one domain answered: it holds so many of the wanted pods, and why not more."""

    domain: DomainId
    tier: int
    holds: int
    wants: int
    detail: str
