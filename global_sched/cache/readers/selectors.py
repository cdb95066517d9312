"""Selectors on clusters and on templates, from the wire to values."""

from collections.abc import Iterable, Mapping

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement
from global_sched.shared.api.core import TaintWire, TolerationWire
from global_sched.shared.api.karmada import ClusterAffinity
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.placement_rule import ClusterField, ClusterSelector
from global_sched.shared.model.pods import (
    Effect,
    Operator,
    Requirement,
    Taint,
    Toleration,
    matches,
)

_FIELDS = (ClusterField.PROVIDER, ClusterField.REGION, ClusterField.ZONE)


class SelectorError(ValueError):
    """A selector cannot be read; the text names the field."""


def cluster_selector(affinity: ClusterAffinity, field: str) -> ClusterSelector:
    """Karmada's ClusterAffinity as a value. Raises SelectorError."""
    fields: list[Requirement] = []
    if affinity.field_selector is not None:
        where = f"{field}.fieldSelector"
        fields = _requirements(affinity.field_selector.match_expressions, where)
        for one in fields:
            if one.key not in _FIELDS or one.operator not in (Operator.IN, Operator.NOT_IN):
                raise SelectorError(
                    f"{where}: {one.key} {one.operator} is not supported; "
                    "use In or NotIn on provider, region or zone"
                )
    return ClusterSelector(
        names=tuple(ClusterName(name) for name in sorted(affinity.cluster_names or ())),
        exclude=tuple(ClusterName(name) for name in sorted(affinity.exclude or ())),
        labels=label_requirements(affinity.label_selector, f"{field}.labelSelector"),
        fields=tuple(sorted(fields)),
    )


def label_requirements(selector: LabelSelector | None, field: str) -> tuple[Requirement, ...]:
    """A label selector as requirements that must all hold; none select all."""
    if selector is None:
        return ()
    found = [
        Requirement(key, Operator.IN, (value,))
        for key, value in (selector.match_labels or {}).items()
    ]
    found += _requirements(selector.match_expressions, field)
    return tuple(sorted(found))


def labels_match(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Whether all requirements hold."""
    return all(matches(requirement, dict(labels)) for requirement in requirements)


def _requirements(
    expressions: list[LabelSelectorRequirement] | None, field: str
) -> list[Requirement]:
    found = []
    for expression in expressions or ():
        try:
            operator = Operator(expression.operator)
        except ValueError as error:
            raise SelectorError(
                f"{field}: {expression.operator!r} is not an operator; use In, NotIn, Exists, "
                "DoesNotExist"
            ) from error
        values = tuple(sorted(expression.values or ()))
        if operator in (Operator.IN, Operator.NOT_IN) and not values:
            raise SelectorError(f"{field}: {expression.key} {operator} has no values; list some")
        found.append(Requirement(expression.key, operator, values))
    return found


def tolerations_of(wires: list[TolerationWire] | None, field: str) -> tuple[Toleration, ...]:
    """Tolerations of cluster taints, in their order. Raises SelectorError."""
    found = []
    for wire in wires or ():
        if wire.operator not in ("", "Equal", "Exists"):
            raise SelectorError(f"{field}: {wire.operator!r} is none of Equal, Exists")
        effect = _effect(wire.effect, field) if wire.effect else None
        exists = wire.operator == "Exists"
        found.append(Toleration(wire.key, exists, "" if exists else wire.value, effect))
    return tuple(found)


def taints_of(wires: list[TaintWire] | None, field: str) -> tuple[Taint, ...]:
    """Taints, sorted. Raises SelectorError."""
    return tuple(
        sorted(Taint(wire.key, wire.value, _effect(wire.effect, field)) for wire in wires or ())
    )


def _effect(text: str, field: str) -> Effect:
    try:
        return Effect(text)
    except ValueError as error:
        raise SelectorError(
            f"{field}: {text[:40]!r} is no effect; use {', '.join(Effect)}"
        ) from error
