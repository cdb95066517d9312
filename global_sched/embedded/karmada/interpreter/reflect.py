"""The part of a member's status that is collected into the Work."""

from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import Obj, get, kind_of
from global_sched.shared.kinds import KINDS


def reflect(obj: Obj) -> Obj | None:
    """The part of the status that goes back to the control plane; None when there is none."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    kind = KINDS.get(kind_of(obj))
    hook = _OTHERS.get(kind_of(obj)) if kind is None else kind.karmada.reflect
    return dict(status) if hook is None else hook(obj, status)


def _service(_obj: Obj, status: Obj) -> Obj:
    return {"loadBalancer": get(status, "loadBalancer") or {}}


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj, Obj], Obj]]] = {
    ("v1", "Service"): _service,
}
