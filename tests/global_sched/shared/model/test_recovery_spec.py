"""The recovery annotation: everything that it may say, and what is refused with a way out."""

import json

import pytest

from global_sched.shared.model.recovery_spec import (
    BelowMinimum,
    Budget,
    Carry,
    RecoveryPolicy,
    RecoveryRefusedError,
    RecoverySpec,
    RestartBackoff,
    Scope,
    below_minimum,
    parse_recovery,
)

POLICY = RecoveryPolicy()


def test_nothing_said_means_the_defaults():
    """The job's own policies, or its controller, restart it."""
    assert parse_recovery("{}", POLICY) == RecoverySpec()


def test_everything_said():
    """All fields at once."""
    text = json.dumps(
        {
            "scopes": ["pod", "partition", "task", "shrink", "job", "cluster"],
            "budget": {"losses": 10_000, "window": "7d"},
            "backoff": {"first": "5s", "factor": 3, "limit": "1h", "reset": "2h"},
            "exitCodes": {"fail": [2, 255]},
            "minimum": "hold",
            "hold": "1h",
            "carry": [{"label": "team.example/step", "jsonPath": "{.status.step}"}],
        }
    )

    assert parse_recovery(text, POLICY) == RecoverySpec(
        scopes=tuple(Scope),
        budget=Budget(losses=10_000, window=604_800),
        backoff=RestartBackoff(first=5, factor=3, limit=3600, reset=7200),
        fail_codes=frozenset({2, 255}),
        hold=3600,
        carry=(Carry(label="team.example/step", json_path="{.status.step}"),),
    )


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{"scopes": ["pod", "job"]}', None, id="it stays"),
        pytest.param('{"scopes": ["job", "cluster"]}', BelowMinimum(moves=True), id="it moves"),
        pytest.param('{"scopes": ["cluster"]}', BelowMinimum(moves=True), id="by that alone"),
        pytest.param('{"minimum": "release"}', BelowMinimum(releases=True), id="it gives up"),
        pytest.param(
            '{"scopes": ["cluster"], "minimum": "release", "hold": "7d"}',
            BelowMinimum(hold=604_800, moves=True, releases=True),
            id="it moves or gives up, after a week",
        ),
        pytest.param('{"scopes": ["cluster"], "hold": "8d"}', None, id="what is refused stays"),
        pytest.param("no JSON", None, id="whatever it is"),
    ],
)
def test_what_becomes_of_a_gang_below_its_minimum(text, want):
    """After 15 minutes, unless it says how long."""
    found, refused = below_minimum(text)
    assert found == want
    assert bool(refused) is ("8d" in text or text == "no JSON")


def test_the_default_hold_is_within_the_policy():
    """A lower bound of the Policy is no refusal of an annotation that names no time."""
    policy = RecoveryPolicy(hold_limit_seconds=60)
    assert (parse_recovery("{}", POLICY).hold, parse_recovery("{}", policy).hold) == (900, 60)


def test_exit_codes():
    """Those that end the job, and those after which it avoids the node."""
    found = parse_recovery('{"exitCodes": {"fail": [2, 3], "node": [79]}}', POLICY)

    assert (found.fail_codes, found.node_codes) == ({2, 3}, {79})


def test_back_off_grows_to_its_limit():
    """0, then 30 s, doubled up to ten minutes."""
    found = [RestartBackoff().before(failures) for failures in (1, 2, 3, 4, 5, 6, 7, 100)]

    assert found == [0, 30, 60, 120, 240, 480, 600, 600]


REFUSED = [
    ("", "recovery: is not JSON", "write one JSON object"),
    ("[1]", "recovery: is no object", "use the keys scopes"),
    ('{"scope": []}', "recovery.scope: is no known key", "use scopes, budget"),
    ('{"scopes": "pod"}', "recovery.scopes: is no list", "widest last"),
    ('{"scopes": ["world"]}', "recovery.scopes[0]: is 'world'", "use one of pod, partition"),
    ('{"scopes": ["job", "task"]}', "recovery.scopes[1]: task is not wider than job", "order"),
    ('{"scopes": ["pod", "pod"]}', "recovery.scopes[1]: pod is not wider than pod", "once"),
    ('{"scopes": ["shrink"]}', "recovery.scopes[0]: is shrink", "or cluster"),
    ('{"budget": {"losses": 3}}', "recovery.budget.window: is missing", '"window": "24h"'),
    ('{"budget": {"losses": 10001, "window": "1h"}}', "losses: is 10001", "from 0 to 10000"),
    ('{"budget": {"losses": true, "window": "1h"}}', "losses: is True", "from 0 to 10000"),
    ('{"budget": {"losses": 1, "window": "0s"}}', "recovery.budget.window: is 0", "at least 1s"),
    ('{"budget": {"losses": 1, "window": "8d"}}', "window: is '8d'", "from 0s to 7d"),
    ('{"budget": {"losses": 1, "window": "-1s"}}', "window: is '-1s'", "such as 90s"),
    ('{"budget": {"losses": 1, "window": "1h", "a": 1}}', "budget.a: is no known key", "losses"),
    ('{"backoff": {"first": 30}}', "recovery.backoff.first: is 30", "such as 90s"),
    ('{"backoff": {"factor": 11}}', "recovery.backoff.factor: is 11", "from 1 to 10"),
    ('{"exitCodes": {"fail": [0]}}', "recovery.exitCodes.fail[0]: is 0", "from 1 to 255"),
    ('{"exitCodes": {"nodes": [1]}}', "exitCodes.nodes: is no known key", "use fail, node"),
    ('{"exitCodes": {"node": [256]}}', "recovery.exitCodes.node[0]: is 256", "from 1 to 255"),
    ('{"exitCodes": {"fail": [3], "node": [3]}}', "node: has 3, which exitCodes.fail", "one"),
    ('{"minimum": "keep"}', "recovery.minimum: is 'keep'", "use hold or release"),
    ('{"hold": "2h"}', "recovery.hold: is 7200 s, and the Policy allows 3600 s", "administrator"),
    ('{"carry": [{"label": "a b"}]}', "recovery.carry[0].label: is 'a b'", "key of a label"),
    (
        '{"carry": [{"label": "kueue.x-k8s.io/queue-name", "jsonPath": "{.status.a}"}]}',
        "which is reserved",
        "use another prefix",
    ),
    (
        '{"carry": [{"label": "volcano.sh/queue-name", "jsonPath": "{.status.a}"}]}',
        "recovery.carry[0].label: is 'volcano.sh/queue-name', which is reserved",
        "use another prefix",
    ),
    ('{"carry": [{"label": "a"}]}', "recovery.carry[0].jsonPath: is None", "{.status.step}"),
    (json.dumps({"carry": [{}] * 17}), "recovery.carry: is no short list", "at most 16"),
    (" " * 4097, "recovery: has 4097 bytes", "use at most 4096"),
    ("[" * 2000, "recovery: is not JSON", "write one JSON object"),
    ('{"a\\u001b[31m": 1}', "is no known key", "use scopes"),
]


@pytest.mark.parametrize(("text", "problem", "remedy"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused(text, problem, remedy):
    """With the field, the reason and what would help, and nothing that a terminal obeys."""
    with pytest.raises(RecoveryRefusedError) as caught:
        parse_recovery(text, POLICY)

    said = str(caught.value)
    assert problem in said
    assert remedy in said
    assert said.isprintable()
