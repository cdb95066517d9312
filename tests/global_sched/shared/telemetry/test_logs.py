"""Log lines as they reach a file."""

import io
import json
import logging

import pytest
import structlog

from global_sched.shared.telemetry.logs import LogFormat, configure, get_logger


class FixedClock:
    """Always the same moment."""

    def now(self):
        return 1_767_225_600_000_000

    def monotonic(self):
        return 0.0

    async def sleep(self, _seconds):
        return None


@pytest.fixture
def stream():
    """Lines of one test; the process's logging is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def lines(stream):
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_json_lines(stream):
    """An event name, key=value, the time of our clock, the module."""
    configure(stream=stream, clock=FixedClock())
    get_logger("room").info("placed", workload="ns/a", pods=3)
    get_logger("room").debug("chatter")

    assert lines(stream) == [
        {
            "event": "placed",
            "workload": "ns/a",
            "pods": 3,
            "level": "info",
            "logger": "room",
            "time": "2026-01-01T00:00:00.000000Z",
        }
    ]


def test_the_standard_library_passes_the_same_way(stream):
    """Lines of libraries look like ours, and hide secrets too."""
    configure(stream=stream, clock=FixedClock())
    logging.getLogger("aiohttp.client").warning("sent %s", "Bearer abcdef123456")

    (line,) = lines(stream)
    assert (line["event"], line["logger"]) == ("sent Bearer [hidden]", "aiohttp.client")


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param({"token": "abc"}, {"token": "[hidden]"}, id="by name"),
        pytest.param({"client_secret": 7}, {"client_secret": "[hidden]"}, id="inside a name"),
        pytest.param(
            {"error": "refused: bearer abc.def.ghi"},
            {"error": "refused: bearer [hidden]"},
            id="inside a text",
        ),
        pytest.param({"workload": "a"}, {"workload": "a"}, id="nothing to hide"),
    ],
)
def test_secrets_are_hidden(stream, given, want):
    """A secret that is logged by mistake does not publish it."""
    configure(stream=stream, clock=FixedClock())
    get_logger("room").info("x", **given)

    (line,) = lines(stream)
    assert want.items() <= line.items()


def test_values_that_json_does_not_know(stream):
    """Anything can be logged; an exception is written with its place."""
    configure(stream=stream, clock=FixedClock())
    try:
        int("why")
    except ValueError as error:
        get_logger("room").error("failed", error=error, exc_info=True)

    (line,) = lines(stream)
    assert line["error"].endswith("'why'")
    assert line["exception"][0]["exc_type"] == "ValueError"


def test_console_lines(stream):
    """For people: no JSON, no colours outside a terminal."""
    configure(stream=stream, format_=LogFormat.CONSOLE, clock=FixedClock())
    get_logger("room").warning("slow", seconds=3)

    text = stream.getvalue()
    assert "slow" in text
    assert "seconds=3" in text
    assert "\x1b" not in text


def test_unknown_levels_are_refused(stream):
    """A wrong level names the right ones."""
    with pytest.raises(ValueError, match="unknown log level 'loud': use debug, info"):
        configure(level="loud", stream=stream)


@pytest.mark.parametrize("format_", LogFormat)
def test_tracebacks_are_plain(stream, format_):
    """A traceback has files and lines, never the locals: they may hold a credential."""
    configure(stream=stream, clock=FixedClock(), format_=format_)
    in_a_local = "hunter" + "2"

    try:
        int(in_a_local.replace("hunter", "not a number "))
    except ValueError:
        get_logger("room").exception("failed")

    assert "ValueError" in stream.getvalue()
    assert "test_logs.py" in stream.getvalue()
    assert in_a_local not in stream.getvalue()
    assert "locals" not in stream.getvalue()


@pytest.mark.parametrize("format_", LogFormat)
def test_no_text_steers_the_terminal_that_shows_a_line(stream, format_):
    """Escapes of other writers are spelt out: in values, in lists, in the text of an exception."""
    configure(stream=stream, clock=FixedClock(), format_=format_)
    bad = "q\x1b]0;title\x07\x9b2J\x7f"
    get_logger("room").info("placed", queue=bad, clusters=[bad, 3])
    try:
        int(bad)
    except ValueError as error:
        get_logger("room").exception("broken", error=str(error))

    written = stream.getvalue()
    assert not {"\x1b", "\x07", "\x9b", "\x7f"} & set(written)
    assert "title" in written
