"""One WaitingList in each managed namespace in which jobs wait: written on change, and seldom.

What is there is listed at the start of a term and every ten minutes, so that a new leader begins
with what its predecessor wrote. Nothing is written for a namespace of which it is not known that
it is managed.
"""

from dataclasses import dataclass
from math import inf
from typing import Any, Final

import msgspec

from global_sched.cache import State
from global_sched.controllers.waiting_entries import by_namespace, waiting_list
from global_sched.dispatch.bodies import new_object
from global_sched.dispatch.source import LeaderTerm
from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.federation import WaitingList
from global_sched.shared.api.names import MANAGED_NAMESPACE, WAITING_LIST
from global_sched.shared.api.resource import NAMESPACES, WAITING_LISTS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, ApiError, NotFound
from global_sched.shared.model.plan import Outcome, Plan
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import DISPATCH_WRITES, LOOP_FAILURES
from global_sched.shared.telemetry.registry import Metrics

ROUND: Final = 1.0
"""Seconds between two rounds."""
WRITES: Final = 10
"""Lists written in one round."""
LOOKS: Final = 25
"""Lists compared in one round: what a round costs at most."""
INTERVAL: Final = 30.0
"""Seconds between two writes of one list."""
PAUSE: Final = 5.0
"""Seconds between two comparisons of one list."""
NAMESPACES_AGE: Final = 60.0
"""Seconds for which it is believed which namespaces are managed."""
LISTS_AGE: Final = 600.0
"""Seconds after which the lists that are there are read again."""
START: Final = 5.0
"""Seconds of a term in which nothing is written: not every template may have been seen."""
RETRY: Final = 30.0
"""Seconds after which reading is tried again."""

log = get_logger(__name__)


@dataclass(slots=True)
class _Looked:
    """When a namespace's list was compared and written last (monotonic), and with which plan."""

    serial: int = -1
    at: float = -inf
    written: float = -inf


class WaitingLists:
    """Writes the lists from the last plan; one per term."""

    def __init__(
        self, client: Client, state: State, *, clock: Clock, term: LeaderTerm, metrics: Metrics
    ) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._plan: Plan | None = None
        self._serial = 0
        self._grouped = 0
        self._waiting: dict[str, list[Outcome]] = {}
        self._there: dict[str, WaitingList] = {}
        self._managed: frozenset[str] = frozenset()
        self._looked: dict[str, _Looked] = {}
        self._differs: set[str] = set()
        self._read_again = {"lists": -inf, "namespaces": -inf}
        self._known = False
        self._undecided: set[str] = set()
        self._start = clock.monotonic() + START

    def planned(self, plan: Plan) -> None:
        """A cycle has ended; cheap."""
        self._plan = plan
        self._serial += 1

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._clock.sleep(ROUND)
            try:
                await self.round()
            except Exception as error:  # the loop's guard: a list must never end scheduling
                self._metrics.inc(LOOP_FAILURES, loop="waiting")
                log.exception("waiting_round_failed", error=str(error))

    async def round(self) -> None:
        """Compare the lists that are due, the longest unwritten first, and write what differs."""
        if self._plan is None or self._clock.monotonic() < self._start:
            return
        if not self._term.valid() or not await self._read():
            return
        if self._grouped != self._serial:
            self._grouped = self._serial
            self._waiting, self._undecided = by_namespace(self._plan.outcomes)
        now = self._clock.monotonic()
        for namespace in self._to_compare(now):
            looked = self._looked.setdefault(namespace, _Looked())
            looked.serial, looked.at = self._serial, now
            if self._wanted(namespace) != self._there.get(namespace):
                self._differs.add(namespace)
        for namespace in self._to_write(now):
            wanted = self._wanted(namespace)
            self._differs.discard(namespace)
            if wanted != self._there.get(namespace):
                self._looked[namespace].written = now
                await self._write(namespace, wanted)

    def _to_compare(self, now: float) -> list[str]:
        """Namespaces whose list may differ, those first that were compared longest ago."""
        here = (self._waiting.keys() & self._managed) | self._there.keys()
        fresh = _Looked()
        due = []
        for namespace in here - self._differs - self._undecided:
            looked = self._looked.get(namespace, fresh)
            if looked.serial != self._serial and looked.at + PAUSE <= now:
                due.append((looked.at, namespace))
        return [namespace for _, namespace in sorted(due)[:LOOKS]]

    def _to_write(self, now: float) -> list[str]:
        """Namespaces whose list differs and may be written, the longest unwritten first."""
        differing = self._differs - self._undecided
        due = [(self._looked[one].written, one) for one in differing]
        return [one for written, one in sorted(due) if written + INTERVAL <= now][:WRITES]

    def _wanted(self, namespace: str) -> WaitingList | None:
        """None: there is to be no list."""
        if namespace not in self._managed:
            return None
        outcomes = self._waiting.get(namespace, ())
        return waiting_list(outcomes, self._state.workload, self._clock.now())

    # --- what is there --------------------------------------------------------------------

    async def _read(self) -> bool:
        """Whether it is known which lists there are, and which namespaces are managed."""
        now = self._clock.monotonic()
        try:
            if self._read_again["lists"] <= now:
                self._read_again["lists"] = now + RETRY
                await self._read_lists()
                self._read_again["lists"] = now + LISTS_AGE
            if self._read_again["namespaces"] <= now:
                self._read_again["namespaces"] = now + RETRY
                await self._read_namespaces()
                self._read_again["namespaces"] = now + NAMESPACES_AGE
                self._known = True
        except ApiError as error:  # an older role, or a control plane without the kind
            log.info("waiting_lists_unknown", error=str(error))
        return self._known

    async def _read_lists(self) -> None:
        found = await self._client.list(WAITING_LISTS, type=WaitingList)
        there = {
            one.metadata.namespace: _content(one)
            for one in found.items
            if one.metadata.name == WAITING_LIST
        }
        if there != self._there:
            self._serial += 1
        self._there = there

    async def _read_namespaces(self) -> None:
        label = f"{MANAGED_NAMESPACE}=true"
        found = await self._client.list(NAMESPACES, label_selector=label, type=KubeObject)
        managed = frozenset(one.metadata.name for one in found.items)
        if managed != self._managed:
            self._serial += 1
        self._managed = managed

    # --- writing --------------------------------------------------------------------------

    async def _write(self, namespace: str, wanted: WaitingList | None) -> None:
        verb = "delete" if wanted is None else "patch" if namespace in self._there else "create"
        outcome = "ok"
        try:
            if wanted is None:
                await self._client.delete(WAITING_LISTS, WAITING_LIST, namespace=namespace)
            elif verb == "patch":
                await self._client.patch(
                    WAITING_LISTS, WAITING_LIST, _parts(wanted), namespace=namespace
                )
            else:
                body = new_object(WAITING_LISTS, WAITING_LIST, **_parts(wanted))
                await self._client.create(WAITING_LISTS, body, namespace=namespace)
        except (NotFound, AlreadyExists):  # changed by another writer: read what is there
            outcome = "gone"
            self._read_again["lists"] = -inf
            self._differs.add(namespace)
        except ApiError as error:
            outcome = "failed"
            self._read_again["lists"] = -inf  # it may stand there all the same
            self._differs.add(namespace)
            log.info("waiting_list_not_written", namespace=namespace, error=str(error))
        else:
            if wanted is None:
                self._there.pop(namespace, None)
            else:
                self._there[namespace] = wanted
        self._metrics.inc(DISPATCH_WRITES, object="waiting_list", verb=verb, outcome=outcome)


def _content(found: WaitingList) -> WaitingList:
    """What is compared: all but the metadata."""
    return WaitingList(total=found.total, jobs=found.jobs, more=found.more, then=found.then)


def _parts(wanted: WaitingList) -> dict[str, Any]:
    """The fields that are written; every one, so that a patch leaves nothing behind."""
    jobs = msgspec.to_builtins(wanted.jobs)
    return {"total": wanted.total, "jobs": jobs, "more": wanted.more, "then": wanted.then}
