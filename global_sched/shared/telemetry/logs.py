"""Log lines: an event name, then key=value; JSON for machines, colours for a terminal.

Lines of the standard library's loggers (aiohttp, kubernetes) pass through the same renderer.
Values under keys that name a secret are replaced in every log line.
"""

import io
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from typing import Any, Final, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, Processor

from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.model.instant import format_micro
from global_sched.shared.model.printable import printable, printable_lines


class LogFormat(StrEnum):
    """How lines look."""

    JSON = "json"
    CONSOLE = "console"


_SECRET_KEY = re.compile(r"(?i)authorization|token|password|passwd|secret|credential|private_?key")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_UNSAFE_IN_JSON: Final = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_HIDDEN: Final = "[hidden]"


def get_logger(name: str) -> FilteringBoundLogger:
    """The logger of one module; safe to call at import, before `configure`."""
    logger: FilteringBoundLogger = structlog.get_logger(name)
    return logger


def configure(
    *,
    level: str = "info",
    format_: LogFormat = LogFormat.JSON,
    stream: TextIO | None = None,
    clock: Clock | None = None,
) -> None:
    """Send every line of this process to one stream (standard error), rendered one way.

    Raises:  ValueError for a level that does not exist.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"unknown log level {level!r}: use debug, info, warning or error")
    shared = _shared_processors(clock or SystemClock())
    out = stream or sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_renderers(format_, colors=out.isatty()),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    # One line per request is noise that the request metrics replace.
    logging.getLogger("aiohttp.access").setLevel(max(number, logging.WARNING))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )


def _shared_processors(clock: Clock) -> list[Processor]:
    def stamp(_logger: object, _method: str, event: EventDict) -> EventDict:
        event["time"] = format_micro(clock.now())
        return event

    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        stamp,
        hide_secrets,
        spell_out,
    ]


def _renderers(format_: LogFormat, *, colors: bool) -> list[Processor]:
    if format_ is LogFormat.CONSOLE:
        return [
            structlog.dev.ConsoleRenderer(
                colors=colors,
                timestamp_key="time",
                exception_formatter=_safe_traceback,
            )
        ]
    # Without locals: they hold whole objects, and now and then a credential.
    frames = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [
        structlog.processors.ExceptionRenderer(frames),
        structlog.processors.JSONRenderer(serializer=_encode),
    ]


def _encode(event: Mapping[str, Any], **_: Any) -> str:
    text = msgspec.json.encode(event, enc_hook=str, order=None).decode()
    # JSON spells out what is below a space; the rest is inside of strings as well.
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _safe_traceback(stream: TextIO, info: Any) -> None:
    held = io.StringIO()
    structlog.dev.plain_traceback(held, info)
    stream.write(printable_lines(held.getvalue()))


def spell_out(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Texts of other writers must not steer the terminal that shows a line."""
    for key, value in event.items():
        if isinstance(value, str):
            event[key] = printable(value)
        elif isinstance(value, list | tuple):
            event[key] = [printable(one) if isinstance(one, str) else one for one in value]
    return event


def hide_secrets(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Replace values whose key names a secret, and bearer tokens inside texts."""
    for key, value in event.items():
        if _SECRET_KEY.search(key):
            event[key] = _HIDDEN
        elif isinstance(value, str) and _BEARER.search(value):
            event[key] = _BEARER.sub(rf"\1 {_HIDDEN}", value)
    return event
