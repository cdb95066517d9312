"""A request as the server looks at it, carried by a socket or by a call in this process."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from multidict import CIMultiDictProxy


class Incoming(Protocol):
    """A request without its body; aiohttp's has this form."""

    @property
    def method(self) -> str:
        """The HTTP method, in capitals."""
        ...

    @property
    def raw_path(self) -> str:
        """Path and query as they were sent, percent-encoded."""
        ...

    @property
    def path(self) -> str:
        """The path without its query, decoded."""
        ...

    @property
    def host(self) -> str:
        """The server's name and port, as the client calls it."""
        ...

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """Looked up without regard to case."""
        ...

    @property
    def query(self) -> Mapping[str, str]:
        """The parameters of the query, decoded."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcessRequest:
    """A request that no socket has carried."""

    method: str
    raw_path: str
    path: str
    host: str
    headers: CIMultiDictProxy[str]
    query: Mapping[str, str]
