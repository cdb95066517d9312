"""Unreadable queues and tenants: each fault once, with its field and its remedy."""

import pytest

from tests.played import ONE_NODE, explained


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param(
            "weight: 65536", "spec.weight: is 65536; use 1 to 65535", id="a weight that is absurd"
        ),
        pytest.param(
            "priority: 5000000000",
            "spec.priority: 5000000000 does not fit 32 bits; use a smaller one",
            id="a priority that is too large",
        ),
        pytest.param(
            'capability: {cpu: "x"}',
            "spec.capability[cpu]: 'x' is not a quantity such as 500m, 2 or 4Gi; correct it",
            id="an amount that is none",
        ),
        pytest.param(
            "capability: {cpu: 1}, guarantee: {cpu: 2}",
            "spec.guarantee.resource[cpu]: 2 is more than the capability 1; lower it",
            id="a guarantee over its own capability",
        ),
    ],
)
def test_a_queue_that_cannot_be_read(fields, want):
    """Its jobs get the same reason as the queue."""
    text = f"""\
world:
  clusters: {ONE_NODE}
  queues: [{{name: q, {fields}}}]
  jobs: [{{name: j, queue: q, tasks: [{{requests: {{cpu: 1}}}}]}}]
"""

    assert explained(text, "j").outcome.verdict.detail == f"queue q: {want}"
