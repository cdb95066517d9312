"""Models of other schedulers, each an arm of the same engine with the same binder.

They are models and not the products, so their names end in `-like`. Each is a class of under a
hundred lines that keeps its queue and calls `Stage.start`. Read `shared_queue` first.
"""

from collections.abc import Callable
from typing import Final

from global_sched.sim.baselines.early import karmada_dynamic, karmada_static, silos
from global_sched.sim.baselines.easy import Easy
from global_sched.sim.baselines.remaining_first import RemainingFirst
from global_sched.sim.baselines.shared_queue import SharedQueue, by_duration, first, most_free
from global_sched.sim.baselines.volcano_global import VolcanoGlobal
from global_sched.sim.engine import Arm, Stage

BASELINES: Final[dict[str, Callable[[Stage], Arm]]] = {
    "fifo-strict-like": lambda stage: SharedQueue(stage, strict=True),
    "fifo-skip-like": SharedQueue,
    "easy-like": Easy,
    "sjf-oracle-like": lambda stage: SharedQueue(stage, key=by_duration),
    "first-fit-like": lambda stage: SharedQueue(stage, choose=first),
    "karmada-static-like": karmada_static,
    "karmada-dynamic-like": karmada_dynamic,
    "volcano-global-like": VolcanoGlobal,
    "silos-like": silos,
    "silos-fifo-like": lambda stage: silos(stage, strict=True),
    "srtf-oracle-like": RemainingFirst,
    "srsf-oracle-like": lambda stage: RemainingFirst(stage, by_service=True),
}
"""By name. The two last ones pause jobs at no cost: a bound on completion times only."""

SILOS: Final = frozenset({"silos-like", "silos-fifo-like"})
"""Those whose members are the tenants' own clusters, by their names."""

__all__ = ["BASELINES", "SILOS", "most_free"]
