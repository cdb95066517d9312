"""Fields that a member's object retains when the control plane writes it again."""

import copy
from typing import Any, Final

from global_sched.shared.api.raw import Obj, get, labels, put

RETAIN_REPLICAS: Final = "resourcetemplate.karmada.io/retain-replicas"


def keep(done: Obj, observed: Obj, *path: str) -> None:
    """Take a value over from the member, if it has one."""
    value: Any = get(observed, *path)
    if value:
        put(done, *path, value=copy.deepcopy(value))


def keep_replicas(done: Obj, observed: Obj) -> None:
    """Keep the member's replicas where a label asks for it."""
    if labels(done).get(RETAIN_REPLICAS) == "true":
        keep(done, observed, "spec", "replicas")
