"""The Directive of a member, as the leader writes it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from global_sched.shared.api import names
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.instant import SECOND, Instant, format_micro
from global_sched.shared.model.values import to_json
from tests.member_agent.member import CLUSTER
from tests.wire import NOW, Object, meta


def entry(
    binding: str,
    admitted: Mapping[str, int],
    *,
    order: int = 0,
    at: int = 0,
    domain: str = "",
    tier: int | None = None,
    decision: str = "",
    gang: Gang | None = None,
    epoch: int = 1,
    **fields: Any,
) -> Object:
    """A Directive's entry; `at` is in seconds after NOW, `fields` are further ones of its spec."""
    found: Object = {
        "binding": binding,
        "workload": f"team/{binding}",
        "decision": decision or f"decision-{binding}",
        "epoch": epoch,
        "at": format_micro(Instant(NOW + at * SECOND)),
        "order": order,
        "domain": domain,
        "admitted": dict(admitted),
    }
    if tier is not None:
        found["tier"] = tier
    if gang is not None:
        found["gang"] = msgspec.json.decode(to_json(gang))
    return found | fields


def hold(
    binding: str,
    pods: Mapping[str, int],
    *,
    gang: Gang,
    domain: str = "",
    until: int = 600,
    leaving: Sequence[str] = (),
    at: int = 0,
    order: int = 0,
) -> Object:
    """An entry that keeps room for a workload which is not admitted; times in seconds after NOW."""
    return entry(
        binding,
        {},
        gang=gang,
        at=at,
        order=order,
        held=dict(pods),
        heldDomain=domain,
        heldUntil=format_micro(Instant(NOW + until * SECOND)),
        leaving=list(leaving),
    )


def directive(
    *entries: Object,
    cluster: str = CLUSTER,
    label_keys: Sequence[str] = (),
    demand: Sequence[Object] = (),
    name: str = CLUSTER,
    version: str = "1",
) -> Object:
    """A slice of the Directive of a member."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "Directive",
        "metadata": meta(name, namespace=names.execution_namespace(cluster), version=version),
        "spec": {
            "cluster": cluster,
            "entries": list(entries),
            "labelKeys": list(label_keys),
            "demand": list(demand),
        },
    }
