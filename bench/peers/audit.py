"""An API server's audit log, read on from where one was."""

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from global_sched.shared.model.instant import SECOND, parse_instant

_WRITES = frozenset(("create", "update", "patch", "delete", "deletecollection"))


class Subject(msgspec.Struct, frozen=True):
    """Who asked."""

    username: str = ""


class Target(msgspec.Struct, frozen=True):
    """For what."""

    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


class Answer(msgspec.Struct, frozen=True):
    """With what result."""

    code: int = 0


class Request(msgspec.Struct, frozen=True, rename="camel"):
    """One line of the log."""

    verb: str
    user: Subject
    object_ref: Target = Target()
    response_status: Answer = Answer()
    request_received_timestamp: str = ""
    stage_timestamp: str = ""

    @property
    def what(self) -> str:
        """Verb, resource and subresource: `patch resourcebindings/status`."""
        ref = self.object_ref
        return f"{self.verb} {ref.resource}" + (f"/{ref.subresource}" if ref.subresource else "")

    @property
    def written(self) -> bool:
        """Whether it changed something."""
        return self.verb in _WRITES and 200 <= self.response_status.code < 300

    @property
    def began(self) -> float:
        """When it came, in seconds."""
        return parse_instant(self.request_received_timestamp) / SECOND

    @property
    def ended(self) -> float:
        """When it was answered, in seconds."""
        return parse_instant(self.stage_timestamp) / SECOND


_DECODER = msgspec.json.Decoder(Request)


class Tail:
    """What a log gains from now on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = path.stat().st_size if path.exists() else 0
        self.requests: list[Request] = []

    def read(self) -> list[Request]:
        """All requests since the beginning of this tail."""
        self.fresh()
        return self.requests

    def fresh(self) -> list[Request]:
        """Those that came since the last reading."""
        found: list[Request] = []
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._at)
                chunk = file.read()
            whole = chunk[: chunk.rfind(b"\n") + 1]  # the last line may be half written
            self._at += len(whole)
            found = [_DECODER.decode(line) for line in whole.splitlines() if line]
        self.requests += found
        return found


def by(requests: Iterable[Request], users: Collection[str]) -> list[Request]:
    """The successful writes of some users."""
    return [one for one in requests if one.written and one.user.username in users]


def counts(requests: Iterable[Request]) -> Counter[str]:
    """How many of each kind of request."""
    return Counter(one.what for one in requests)


def span(requests: Collection[Request]) -> float:
    """Seconds from the first request's arrival to the last one's answer."""
    if not requests:
        return 0.0
    return max(one.ended for one in requests) - min(one.began for one in requests)
