"""Denied requests: all that a ready server denied, and none that a starting one did."""

import json

import pytest

from global_sched.shared.clock import SystemClock
from global_sched.shared.model.instant import format_micro
from tests.e2e.requests import GLOBAL_SCHED, asked_of
from tools.local_karmada.ledger import Ledger, Program

START, READY = "2026-01-01T00:01:00.000000Z", "2026-01-01T00:01:10.000000Z"


def event(second, *, decision="forbid", user=GLOBAL_SCHED):
    """A request for the Lease, so many seconds after the hour."""
    return json.dumps(
        {
            "requestURI": "/apis/coordination.k8s.io/v1/namespaces/x/leases/y",
            "verb": "update",
            "user": {"username": user} if user else {},
            "objectRef": {"resource": "leases", "apiGroup": "coordination.k8s.io"},
            "responseStatus": {"code": 403},
            "requestReceivedTimestamp": at(second),
            "stageTimestamp": at(second),
            "annotations": {"authorization.k8s.io/decision": decision},
        }
    )


def page(second, code=200):
    """An answer of `/readyz`."""
    return json.dumps(
        {
            "requestURI": "/readyz?timeout=32s",
            "user": {"username": "system:anonymous"},
            "responseStatus": {"code": code},
            "stageTimestamp": at(second),
        }
    )


def at(second):
    return f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}.000000Z"


@pytest.mark.parametrize(
    ("second", "host"),
    [
        pytest.param(59, "", id="before the restart: a right is missing"),
        pytest.param(60, "east", id="as it starts"),
        pytest.param(69, "east", id="not ready yet, though it has said so before"),
        pytest.param(71, "", id="after it was ready: a right is missing"),
        pytest.param(200, "", id="long after"),
    ],
)
def test_only_what_a_starting_server_denied_is_kept_apart(second, host):
    """From its start to its first 200; the pages of the time before the start say nothing."""
    lines = [page(10), page(65, 403), page(68, 500), page(70), page(150), event(second)]
    assert [one.host for one in asked_of("east", lines, [START])] == [host]


def test_what_was_allowed_is_no_denial():
    """Whenever it was asked."""
    lines = [page(70), event(65, decision="allow")]
    assert [(one.allowed, one.host) for one in asked_of("east", lines, [START])] == [(True, "")]


def test_what_nobody_in_particular_asked():
    """Refused before the server knew who asks: no program of ours, and the rest is still read."""
    lines = [event(65, user=""), event(66, decision="allow")]
    assert len(asked_of("east", lines, [])) == 1


@pytest.mark.parametrize(
    ("lines", "starts"),
    [
        pytest.param([page(70)], [], id="nobody wrote down a start"),
        pytest.param([page(10)], [START], id="it never said again that it is ready"),
    ],
)
def test_what_is_not_known_is_a_denial(lines, starts):
    """Without both ends of the time there is no such time."""
    assert [one.host for one in asked_of("east", [*lines, event(65)], starts)] == [""]


def test_the_start_is_written_down(tmp_path):
    """Each one, in the words of the audit log."""
    ledger = Ledger(tmp_path)
    for _ in range(2):
        program = ledger.start(Program(name="one", argv=("/bin/true",), log=ledger.log("one")))
        while program.alive:
            pass
    first, second = Ledger(tmp_path).starts["one"]
    assert first < second < format_micro(SystemClock().now())
    assert len(first) == len(READY)
