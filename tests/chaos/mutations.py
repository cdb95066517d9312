"""Seeded bugs: a function of the programs is replaced by one that is wrong, under its name.

Each has a witness (witnesses.py), a run that shows nothing without the bug and must show a
violation with it. A mutation whose target is gone fails: then the bug would be seeded nowhere.
"""

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

from global_sched.shared.model.instant import SECOND, parse_instant
from tests.chaos import witnesses

ROOMS: Final = ("global_sched", "member_agent")


class TargetGoneError(LookupError):
    """Nothing has that name any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One bug."""

    name: str
    wrong: Mapping[str, Callable[[Any], Any]]
    """By target (`module:name`, or `module:Class.name`) what stands there, made of what stood."""
    witness: Callable[[], Sequence[str]]
    """The violations of a run."""


def find(target: str) -> tuple[Any, str, Any]:
    """The owner, the attribute's name, and the attribute.

    Raises:  TargetGoneError.
    """
    module, _, path = target.partition(":")
    try:
        owner: Any = importlib.import_module(module)
        *classes, name = path.split(".")
        for one in classes:
            owner = getattr(owner, one)
        return owner, name, vars(owner)[name]
    except (ImportError, AttributeError, KeyError) as error:
        raise TargetGoneError(f"{target}: {error!r}; name what has taken its place") from error


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """The bug, in every module that has the function by name.

    Raises:  TargetGoneError.
    """
    with ExitStack() as stack:
        for target, make in mutation.wrong.items():
            owner, name, right = find(target)
            wrong = make(right)
            stack.enter_context(mock.patch.object(owner, name, wrong))
            for module, known in _importers(right):
                stack.enter_context(mock.patch.object(module, known, wrong))
        yield


def _importers(right: Any) -> Iterator[tuple[Any, str]]:
    """Modules of the programs that have a function by name, with the name."""
    for module in list(sys.modules.values()):
        if module.__name__.partition(".")[0] in ROOMS:
            yield from (
                (module, key) for key, value in list(vars(module).items()) if value is right
            )


# --- what is wrong -----------------------------------------------------------------------------


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda _right: lambda *_args, **_fields: value


def _unconditional(right: Any) -> Any:
    def body(*args: Any, **fields: Any) -> Any:
        made = right(*args, **fields)
        del made["metadata"]["resourceVersion"]
        return made

    return body


def _is_gone(_right: Any) -> Any:
    async def gone(*_args: Any, **_fields: Any) -> bool:
        return True

    return gone


def _unbounded(_right: Any) -> Any:
    return lambda transitions, now: max(transitions + 1, now // SECOND)


def _reads_anything(right: Any) -> Any:
    def read(text: str, resource: str) -> int:
        try:
            return int(right(text, resource))
        except ValueError:
            return 0

    return read


def _by_pods(right: Any) -> Any:
    def minimum(group: Any, owner: Any, seen: Any) -> Any:
        sets, floor = right(group, owner, seen)
        return type(sets)(), floor

    return minimum


def _first_pods(_right: Any) -> Any:
    def amounts(self: Any) -> Any:
        left, found = self.minimum, {}
        for one in self.pod_sets:
            found[one.name] = min(left, one.count)
            left -= found[one.name]
        return type(self.all_amounts()).of(found)

    return amounts


def _no_plan(right: Any) -> Any:
    async def annotate(self: Any, holder: Any, notes: Any, outcome: Any = None) -> Any:
        return (
            "" if any("plan" in key for key in notes) else await right(self, holder, notes, outcome)
        )

    return annotate


def _wall_clock(_right: Any) -> Any:
    def expired(self: Any, _found: Any, spec: Any) -> bool:
        age = (self._clock.now() - parse_instant(spec["renewTime"])) / SECOND
        return bool(age >= spec["leaseDurationSeconds"])

    return expired


def _leaks(right: Any) -> Any:
    def put(self: Any, key: Any, old: Any, new: Any, *, look: bool) -> Any:
        if new is None:
            old = copy(old)
            old.charges = ()
        return right(self, key, old, new, look=look)

    return put


def _by_prefix(right: Any) -> Any:
    def selected(selector: Any, cluster: Any) -> bool:
        known = any(cluster.name.startswith(name) for name in selector.names)
        return known or bool(right(selector, cluster))

    return selected


MUTATIONS: Final = (
    Mutation(
        name="no fence",
        wrong={"global_sched.core.upkeep.running:_too_much": _always(None)},
        witness=witnesses.late_write,
    ),
    Mutation(
        name="no resourceVersion",
        wrong={"global_sched.dispatch.patches:admission_patch": _unconditional},
        witness=witnesses.stale_write,
    ),
    Mutation(
        name="quota freed on assume",
        wrong={"global_sched.cache.stores.usage_index:UsageIndex._leave": _always(None)},
        witness=witnesses.slow_victim,
    ),
    Mutation(
        name="task ended at once",
        wrong={"global_sched.controllers.eviction_tasks:EvictionTasks._is_gone": _is_gone},
        witness=witnesses.victim_out_of_reach,
    ),
    Mutation(
        name="epoch unbounded",
        wrong={"global_sched.shared.kube.lease:next_epoch": _unbounded},
        witness=witnesses.forged_term,
    ),
    Mutation(
        name="NaN accepted",
        wrong={"global_sched.shared.model.quantity:parse_quantity": _reads_anything},
        witness=witnesses.no_number,
    ),
    Mutation(
        name="gang counted by pods",
        wrong={
            "member_agent.cache.units:_group_minimum": _by_pods,
            "global_sched.shared.model.gang:Gang.minimum_amounts": _first_pods,
        },
        witness=witnesses.two_tasks,
    ),
    Mutation(
        name="no plan before a bind",
        wrong={"member_agent.scheduler.write.binder:Binder._annotate": _no_plan},
        witness=witnesses.one_gang,
    ),
    Mutation(
        name="no back-off",
        wrong={"global_sched.dispatch.write_backoff:WriteBackoff.pause": _always(0.0)},
        witness=witnesses.refused_writes,
    ),
    Mutation(
        name="wall-clock lease",
        wrong={"global_sched.shared.kube.lease:LeaderElection._expired": _wall_clock},
        witness=witnesses.clock_ahead,
    ),
    Mutation(
        name="key leaked",
        wrong={"global_sched.cache.stores.usage_index:UsageIndex.replace": _leaks},
        witness=witnesses.deleted_job,
    ),
    Mutation(
        name="prefix match",
        wrong={"global_sched.shared.model.selection:selected": _by_prefix},
        witness=witnesses.part_of_a_name,
    ),
)
