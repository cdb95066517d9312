"""Label selectors: one rule, for raw JSON and for wire values."""

import msgspec
import pytest

from global_sched.shared.api.base import LabelSelector
from global_sched.shared.model.label_selectors import json_selects, selects


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param({}, True, id="an empty selector means everything"),
        pytest.param({"matchLabels": {"a": "1"}}, True, id="an equal label"),
        pytest.param({"matchLabels": {"a": "2"}}, False, id="another value"),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["1", "2"]}]},
            True,
            id="one of the values",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "b", "operator": "NotIn", "values": ["1"]}]},
            True,
            id="an absent label is not in",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "b", "operator": "Exists"}]},
            False,
            id="an absent label does not exist",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "b", "operator": "DoesNotExist"}]},
            True,
            id="and that can be asked for",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["0"]}]},
            False,
            id="an operator of node affinity alone",
        ),
        pytest.param(
            {"matchExpressions": [{"key": "a", "operator": "Like"}]},
            False,
            id="an unknown operator matches nothing",
        ),
    ],
)
def test_what_a_selector_selects(selector, want):
    """As everywhere in Kubernetes, whether it is read as JSON or as a wire value."""
    labels = {"a": "1"}

    assert json_selects(selector, labels) is want
    assert selects(msgspec.convert(selector, LabelSelector), labels) is want
