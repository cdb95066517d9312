"""Answers that a Space has given, at one version of its room."""

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.placement.result import Join, NotPlaced, Placed

Answer = Placed | NotPlaced
Ask = tuple[
    int,
    Amounts | None,
    Amounts | None,
    DomainId | None,
    tuple[DomainId | None, ...],
    BindingId | None,
    tuple[Join, ...],
    bool,
]
"""The gang's identity, amounts, minimum, prefer, bound, binding, joins, nearby."""


class Memo:
    """Answers at one version. Each keeps its gang alive, so that identities stay unique."""

    __slots__ = ("asked", "plain")

    def __init__(self) -> None:
        self.plain: dict[int, tuple[Gang, Answer]] = {}
        self.asked: dict[Ask, tuple[Gang, Answer]] = {}
