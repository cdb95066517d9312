"""Brings the notes on PodGroups and root owners up to date, one write in flight for each."""

import asyncio
from collections.abc import Collection

from global_sched.shared.model.ids import DecisionId
from member_agent.cache import PodUnit
from member_agent.scheduler.plan.outcome import Round
from member_agent.scheduler.write.binder import Binder


class AnnotationWriter:
    """Writes what must survive a restart: minimums that were reached, and where gangs run."""

    def __init__(self, binder: Binder) -> None:
        self._binder = binder
        self._busy: set[str] = set()

    def write(self, round_: Round, tasks: asyncio.TaskGroup, being_bound: Collection[str]) -> None:
        """Start the writes that a round asks for; units that are being bound come later.

        What could not be written is asked for again by the next round.
        """
        for unit, decision in round_.notes:
            if unit.key not in being_bound and unit.key not in self._busy:
                self._busy.add(unit.key)
                tasks.create_task(self._note(unit, decision))
        for unit, text in round_.histories:
            key = f"memory of {unit.key}"
            if unit.key not in being_bound and not {unit.key, key} & self._busy:
                self._busy.add(key)
                tasks.create_task(self._remember(unit, text, key))

    async def _note(self, unit: PodUnit, decision: DecisionId) -> None:
        assert unit.holder is not None
        try:
            await self._binder.note_reached(unit.holder, decision)
        finally:
            self._busy.discard(unit.key)

    async def _remember(self, unit: PodUnit, text: str, key: str) -> None:
        assert unit.root is not None
        try:
            await self._binder.write_history(unit.root, text)
        finally:
            self._busy.discard(key)
