"""Label requirements and selectors of Kubernetes objects, checked as its API server checks them.

Pods (node affinity) and HyperNodes (selectors of members) both use them.
"""

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement
from global_sched.shared.model.pods import Operator, Requirement


class SpecError(ValueError):
    """A part of a spec that cannot be placed: which field, and why."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def node_requirement(expression: LabelSelectorRequirement, field: str) -> Requirement:
    """One expression of a node affinity, checked as the API server checks it.

    Raises:  SpecError for an unknown operator, an empty key or values that do not suit it.
    """
    if not expression.key:
        raise SpecError(f"{field}.key", "is empty")
    try:
        operator = Operator(expression.operator)
    except ValueError as error:
        known = ", ".join(Operator)
        raise SpecError(
            f"{field}.operator", f"{expression.operator!r} is none of {known}"
        ) from error
    values = tuple(sorted(set(expression.values or ())))
    match operator:
        case Operator.IN | Operator.NOT_IN:
            if not values:
                raise SpecError(f"{field}.values", f"is empty, but {operator} needs some")
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            if values:
                raise SpecError(f"{field}.values", f"must be empty with {operator}")
        case Operator.GT | Operator.LT:
            if len(values) != 1 or not values[0].lstrip("-").isdecimal():
                raise SpecError(f"{field}.values", f"must be one whole number with {operator}")
    return Requirement(expression.key, operator, values)


def selector_text(selector: LabelSelector) -> str:
    """A label selector in one canonical form."""
    labels = [f"{key}={value}" for key, value in (selector.match_labels or {}).items()]
    expressions = [
        f"{one.key} {one.operator} {','.join(sorted(one.values or ()))}"
        for one in selector.match_expressions or ()
    ]
    return ", ".join(sorted((*labels, *expressions)))
