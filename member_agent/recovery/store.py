"""The state of the nodes in one ConfigMap of the agent's namespace: text, reading, writing."""

from collections.abc import Mapping
from typing import Final

import msgspec

from global_sched.shared.api.core import ConfigMap
from global_sched.shared.api.names import NODE_TROUBLE_CLEAR, NODE_TROUBLE_MAP
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.telemetry.logs import get_logger
from member_agent.recovery.trouble import PROBATION, REPEAT, NodeTrouble, TroubleState, worst
from member_agent.recovery.whole_gang import GangRestart, parse_gangs, render_gangs

NODES_KEY: Final = "nodes"
FAILURES_KEY: Final = "failures"
GANGS_KEY: Final = "gangs"

log = get_logger(__name__)


class _Node(msgspec.Struct, omit_defaults=True):
    cause: Cause
    since: int
    detail: str = ""
    leaf: str = ""
    standing: bool = False
    until: int = 0
    count: int = 1


def render(state: TroubleState) -> dict[str, str]:
    """The ConfigMap's data; equal states give equal texts."""
    nodes = {
        name: _Node(
            cause=one.cause,
            since=int(one.since),
            detail=one.detail,
            leaf=one.leaf,
            standing=one.standing,
            until=int(one.until),
            count=one.count,
        )
        for name, one in sorted(worst(state.nodes).items())
    }
    failures = {
        node: {space: int(at) for space, at in spaces.items()}
        for node, spaces in sorted(state.failures.items())
    }
    return {
        NODES_KEY: msgspec.json.encode(nodes).decode(),
        FAILURES_KEY: msgspec.json.encode(failures).decode(),
    }


def parse(data: dict[str, str], now: Instant) -> TroubleState:
    """What the data says; what cannot be read says nothing.

    Another replica's clock may be ahead: no time lies later than it could by this one's.
    """
    try:
        nodes = msgspec.json.decode(data.get(NODES_KEY) or "{}", type=dict[str, _Node])
        failures = msgspec.json.decode(
            data.get(FAILURES_KEY) or "{}", type=dict[str, dict[str, int]]
        )
    except (msgspec.MsgspecError, RecursionError) as error:
        log.warning("node_trouble_unreadable", error=str(error)[:300])
        return TroubleState()
    return TroubleState(
        nodes={
            name: NodeTrouble(
                cause=one.cause,
                since=_within(one.since, now - REPEAT, now),
                detail=one.detail,
                leaf=one.leaf,
                standing=one.standing,
                until=_within(one.until, 0, now + PROBATION),
                count=max(0, one.count),
            )
            for name, one in nodes.items()
        },
        failures={
            node: {space: _within(at, 0, now) for space, at in spaces.items()}
            for node, spaces in failures.items()
        },
    )


def _within(at: int, least: int, most: int) -> Instant:
    return Instant(max(least, min(at, most)))


class TroubleStore:
    """Reads and writes the ConfigMap. Only the leading replica writes."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        self._written: dict[str, str] | None = None
        self._gangs: str | None = ""
        """Both are what stands there: none of the texts that are made while that is not known."""

    async def load(self, now: Instant) -> tuple[TroubleState, dict[str, GangRestart]]:
        """The state that was written last, of nodes and of gangs. Raises ApiError."""
        try:
            found = await self._client.get(
                CONFIGMAPS, NODE_TROUBLE_MAP, namespace=self._namespace, type=ConfigMap
            )
        except NotFound:
            self._written, self._gangs = None, ""
            return TroubleState(), {}
        data = found.data or {}
        self._written = {key: data[key] for key in (NODES_KEY, FAILURES_KEY) if key in data}
        self._gangs = gangs = data.get(GANGS_KEY, "")
        return parse(data, now), parse_gangs(gangs)

    async def asked_to_clear(self) -> frozenset[str]:
        """The nodes that an administrator wants to be cleared. Raises ApiError."""
        try:
            found = await self._client.get(
                CONFIGMAPS, NODE_TROUBLE_MAP, namespace=self._namespace, type=ConfigMap
            )
        except NotFound:
            return frozenset()
        return _names(found.data or {})

    async def save(self, state: TroubleState, *, cleared: bool = False) -> bool:
        """Write the state if it says something new; whether it was written. Raises ApiError."""
        data: dict[str, str | None] = dict(render(state))
        empty = not state.nodes and not state.failures
        known = data == self._written or (self._written is None and empty)
        if known and not cleared:
            return False
        self._written = {}
        while not await self._put(data, data | ({NODE_TROUBLE_CLEAR: None} if cleared else {})):
            pass  # it was made in between, and is patched now
        self._written = {key: text for key, text in data.items() if text is not None}
        return True

    async def save_gangs(self, states: Mapping[str, GangRestart]) -> None:
        """Write what is remembered of gangs if it is new. Raises ApiError.

        It stands there when this returns: what follows from it may be done.
        """
        text = render_gangs(states)
        if text == self._gangs:
            return
        self._gangs = None
        while not await self._put({GANGS_KEY: text}, {GANGS_KEY: text or None}):
            pass  # it was made in between, and is patched now
        self._gangs = text

    async def _put(self, data: Mapping[str, str | None], patch: Mapping[str, str | None]) -> bool:
        """Patch the ConfigMap, or make it with the data; False where it was made in between."""
        try:
            await self._client.patch(
                CONFIGMAPS, NODE_TROUBLE_MAP, {"data": dict(patch)}, namespace=self._namespace
            )
        except NotFound:
            try:
                await self._client.create(
                    CONFIGMAPS,
                    {"metadata": {"name": NODE_TROUBLE_MAP}, "data": dict(data)},
                    namespace=self._namespace,
                )
            except AlreadyExists:
                return False
        return True


def _names(data: dict[str, str]) -> frozenset[str]:
    return frozenset(
        filter(None, (one.strip() for one in data.get(NODE_TROUBLE_CLEAR, "").split(",")))
    )
