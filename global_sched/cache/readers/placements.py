"""A binding's `spec.placement`: bytes as stored to a rule, a division, and the applied text."""

from dataclasses import dataclass

import msgspec

from global_sched.cache.readers.selectors import SelectorError, cluster_selector, tolerations_of
from global_sched.shared.api.karmada import (
    ClusterAffinity,
    PlacementWire,
    ReplicaScheduling,
    SpreadConstraint,
)
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterField,
    PlacementRule,
    Preference,
    SpreadRule,
    StaticWeight,
)

_DECODER = msgspec.json.Decoder(PlacementWire)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedPlacement:
    """What one `spec.placement` says. One object serves all bindings with the same bytes."""

    rule: PlacementRule = PlacementRule()
    divided: bool = False
    text: str = ""
    """Compact JSON, for the applied-placement annotation."""
    canonical: bytes = b""
    """The same with sorted keys, for comparing with what was applied."""
    problem: str = ""


def read_placement(raw: bytes) -> ParsedPlacement:
    """Read `spec.placement`; what cannot be read gives a `problem` that names the field."""
    try:
        value = msgspec.json.decode(raw)
        text = msgspec.json.encode(value).decode()
        canonical = msgspec.json.encode(value, order="deterministic")
        wire = _DECODER.decode(raw)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        return ParsedPlacement(problem=f"spec.placement: {error}; correct the policy's placement")
    try:
        rule = _rule(wire)
    except SelectorError as error:
        return ParsedPlacement(
            problem=f"{error}; correct the policy", text=text, canonical=canonical
        )
    scheduling = wire.replica_scheduling
    divided = scheduling is not None and scheduling.replica_scheduling_type in ("Divided", "")
    return ParsedPlacement(rule=rule, divided=divided, text=text, canonical=canonical)


def canonical_json(text: str) -> bytes | None:
    """JSON with sorted keys, None when it is not JSON."""
    try:
        return msgspec.json.encode(msgspec.json.decode(text), order="deterministic")
    except (msgspec.MsgspecError, RecursionError, UnicodeEncodeError):
        return None


def _rule(wire: PlacementWire) -> PlacementRule:
    if wire.cluster_affinity is not None and wire.cluster_affinities:
        raise SelectorError(
            "spec.placement: clusterAffinity and clusterAffinities exclude each other"
        )
    groups: tuple[AffinityGroup, ...] = ()
    if wire.cluster_affinity is not None:
        groups = (_group(wire.cluster_affinity, "spec.placement.clusterAffinity", named=False),)
    elif wire.cluster_affinities:
        groups = tuple(
            _group(affinity, f"spec.placement.clusterAffinities[{i}]", named=True)
            for i, affinity in enumerate(wire.cluster_affinities)
        )
    preference, weights = _preference(wire.replica_scheduling)
    return PlacementRule(
        affinities=groups,
        tolerations=tolerations_of(wire.cluster_tolerations, "spec.placement.clusterTolerations"),
        spread=tuple(
            _spread(one, f"spec.placement.spreadConstraints[{i}]")
            for i, one in enumerate(wire.spread_constraints or ())
        ),
        preference=preference,
        weights=weights,
    )


def _group(affinity: ClusterAffinity, field: str, *, named: bool) -> AffinityGroup:
    return AffinityGroup(
        name=affinity.affinity_name if named else "",
        selector=cluster_selector(affinity, field),
        overflow=tuple(
            cluster_selector(one, f"{field}.overflowAffinities[{i}]")
            for i, one in enumerate(affinity.overflow_affinities or ())
        ),
    )


def _spread(wire: SpreadConstraint, field: str) -> SpreadRule:
    if wire.spread_by_label:
        raise SelectorError(
            f"{field}.spreadByLabel: is not implemented by Karmada either; use spreadByField"
        )
    try:
        by = ClusterField(wire.spread_by_field or ClusterField.CLUSTER)
    except ValueError as error:
        raise SelectorError(
            f"{field}.spreadByField: {wire.spread_by_field[:40]!r} is none of "
            f"{', '.join(ClusterField)}"
        ) from error
    least = 1 if wire.min_groups is None else max(1, wire.min_groups)
    most = wire.max_groups or 0
    if most < 0 or 0 < most < least:
        raise SelectorError(f"{field}: maxGroups {most} is below minGroups {least}")
    return SpreadRule(by=by, minimum=least, maximum=most)


def _preference(
    scheduling: ReplicaScheduling | None,
) -> tuple[Preference, tuple[StaticWeight, ...]]:
    if scheduling is None or scheduling.replica_division_preference == "Aggregated":
        return Preference.AGGREGATED, ()
    wanted = scheduling.weight_preference
    if wanted is not None and wanted.dynamic_weight:
        return Preference.DYNAMIC_WEIGHTS, ()
    listed = (wanted.static_weight_list if wanted is not None else None) or []
    field = "spec.placement.replicaScheduling.weightPreference.staticWeightList"
    weights = []
    for i, one in enumerate(listed):
        if not 0 <= one.weight <= 2**31:
            raise SelectorError(f"{field}[{i}].weight: {one.weight} is out of range")
        selector = cluster_selector(one.target_cluster, f"{field}[{i}].targetCluster")
        weights.append(StaticWeight(selector=selector, weight=one.weight))
    return Preference.STATIC_WEIGHTS, tuple(weights)
