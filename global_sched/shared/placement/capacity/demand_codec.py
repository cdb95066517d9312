"""The demand profile on the wire: an agent reports it, and the leader's Directive returns it.

Both sides then place by the same profile, whatever pods have come in between.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from global_sched.shared.api.federation import WantedShape
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import Wanted
from global_sched.shared.placement.capacity.scarcity import MOST_ASKED, MOST_WANTED

PODS_LIMIT: Final = 2**32


class DemandError(ValueError):
    """A demand profile that is not believed; the text names the entry and the reason."""


def encode_demand(demand: Sequence[Wanted]) -> list[WantedShape] | None:
    """The demand profile as JSON: fields of a shape that say nothing are left out."""
    found = []
    for wanted in demand:
        fields: dict[str, object] = msgspec.to_builtins(wanted.shape)
        requests = {name: value for name, value in fields.items() if value}
        found.append(WantedShape(shape=requests, pods=min(wanted.pods, PODS_LIMIT)))
    return found or None


def decode_demand(wires: Sequence[WantedShape] | None) -> tuple[Wanted, ...]:
    """The demand profile of the wire form. Raises DemandError."""
    if len(wires or ()) > MOST_WANTED:
        raise DemandError(f"demand: more than {MOST_WANTED} shapes")
    found = []
    for at, one in enumerate(wires or ()):
        try:
            shape = msgspec.convert(one.shape or {}, PodShape, strict=True)
        except msgspec.ValidationError as error:
            raise DemandError(f"demand[{at}].shape: {error}") from error
        amounts = list(shape.requests)
        in_order = amounts == sorted(dict(amounts).items())
        if not in_order or any(not 0 < amount <= MOST_ASKED for _, amount in amounts):
            raise DemandError(f"demand[{at}].shape: its requests are not amounts")
        if not 0 < one.pods <= PODS_LIMIT:
            raise DemandError(f"demand[{at}].pods: {one.pods} is out of range")
        found.append(Wanted(shape=shape, pods=one.pods))
    return tuple(found)
