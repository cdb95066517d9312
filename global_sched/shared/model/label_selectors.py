"""Label selectors of Kubernetes objects: whether one selects a set of labels.

One rule for selectors as wire values and as raw JSON. `pods.matches` has the operators.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from global_sched.shared.api.base import LabelSelector
from global_sched.shared.model.pods import Operator, Requirement, matches

Labels = Mapping[str, str]

_OPERATORS = (Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)


def selects(selector: LabelSelector, labels: Labels) -> bool:
    """Whether a selector selects the labels; an empty one selects everything."""
    return _equal(selector.match_labels, labels) and all(
        _holds(one.key, one.operator, one.values or (), labels)
        for one in selector.match_expressions or ()
    )


def json_selects(selector: Mapping[str, Any], labels: Labels) -> bool:
    """Whether a selector as raw JSON selects the labels; an empty one selects everything."""
    return _equal(selector.get("matchLabels"), labels) and all(
        _holds(str(one.get("key")), one.get("operator"), one.get("values") or (), labels)
        for one in selector.get("matchExpressions") or ()
    )


def _equal(wanted: Labels | None, labels: Labels) -> bool:
    return all(labels.get(key) == value for key, value in (wanted or {}).items())


def _holds(key: str, operator: object, values: Iterable[str], labels: Labels) -> bool:
    """One expression; an operator that label selectors do not have selects nothing."""
    known = next((one for one in _OPERATORS if one == operator), None)
    return known is not None and matches(Requirement(key, known, tuple(values)), labels)
