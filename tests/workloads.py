"""One workload in one line: what it asks for, and where it was admitted.

Tests import these from `tests.builders`, with everything else that a world is made of.
"""

from collections.abc import Sequence

from global_sched.shared.model.decision import Backoff, Decision, Grant
from global_sched.shared.model.gang import Amounts, Gang, TopologyConstraint
from global_sched.shared.model.ids import (
    BindingId,
    ClusterName,
    DecisionId,
    DomainId,
    QueueName,
    TenantName,
    workload_key,
)
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterSelector,
    PlacementRule,
)
from global_sched.shared.model.pods import Toleration
from global_sched.shared.model.workload import (
    Demand,
    Division,
    Progress,
    Target,
    Workload,
)
from tests.gangs import NOW, gang, hard, pod_set


def rule(
    *clusters: str, exclude: Sequence[str] = (), tolerations: Sequence[Toleration] = ()
) -> PlacementRule:
    """A policy's placement on the named clusters; none means all."""
    selector = ClusterSelector(
        names=tuple(ClusterName(name) for name in clusters),
        exclude=tuple(ClusterName(name) for name in exclude),
    )
    groups = (AffinityGroup(selector=selector),) if clusters or exclude else ()
    return PlacementRule(affinities=groups, tolerations=tuple(tolerations))


_DIVISION_KINDS = {
    Division.WHOLE: ("batch.volcano.sh/v1alpha1", "Job"),
    Division.DUPLICATED: ("apps/v1", "Deployment"),
    Division.DIVIDED: ("apps/v1", "Deployment"),
    Division.COPIED: ("v1", "ConfigMap"),
}


def demand(
    needs: Gang | None = None,
    *,
    division: Division = Division.WHOLE,
    placement: PlacementRule | None = None,
    kind: tuple[str, str] | None = None,
    scheduler: str = "volcano",
    overrides: Sequence[tuple[str, str | None]] = (),
    carries_replicas: bool = True,
) -> Demand:
    """What decides where a workload fits."""
    api_version, name = kind or _DIVISION_KINDS[division]
    return Demand(
        api_version=api_version,
        kind=name,
        gang=needs,
        division=division,
        rule=placement or PlacementRule(),
        scheduler_name=scheduler,
        scheduler_overrides=tuple((ClusterName(c), value) for c, value in overrides),
        carries_replicas=carries_replicas,
    )


def workload(
    name: str,
    *,
    gpus: int = 0,
    cpu: int = 0,
    memory: int = 0,
    pods: int = 1,
    minimum: int | None = None,
    tier: int | str | None = None,
    constraint: TopologyConstraint | None = None,
    needs: Gang | None = None,
    division: Division = Division.WHOLE,
    clusters: Sequence[str] = (),
    placement: PlacementRule | None = None,
    asks: Demand | None = None,
    kind: tuple[str, str] | None = None,
    scheduler: str = "volcano",
    queue: str = "default",
    tenant: str = "team",
    priority: int = 0,
    created: int = 0,
    namespace: str = "jobs",
    on: str | Sequence[str] = (),
    domain: str | None = None,
    admitted: int | None = None,
    bound: int | None = None,
    reached: bool = True,
    **fields: object,
) -> Workload:
    """A workload of equal pods; `on` places it (all its pods, bound, minimum reached).

    `created` is in seconds before `NOW` turned around: larger is younger. `admitted` and `bound`
    count pods of the first pod set per cluster where that is not all of them. `fields` are any
    other fields of `Workload`.
    """
    if asks is None:
        if needs is None and division != Division.COPIED:
            floor = 1 if division == Division.DIVIDED and minimum is None else minimum
            needs = gang(
                pod_set(pods=pods, minimum=floor, gpus=gpus, cpu=cpu, memory=memory),
                constraint=hard(tier) if tier is not None else constraint,
            )
        asks = demand(
            needs,
            division=division,
            placement=placement or rule(*clusters),
            kind=kind,
            scheduler=scheduler,
        )
    base: dict[str, object] = {
        "key": workload_key(namespace, name),
        "binding_id": BindingId(f"id-{name}"),
        "uid": f"uid-{name}",
        "resource_version": "1",
        "namespace": namespace,
        "name": name,
        "created": Instant(NOW - 3600 * SECOND + created * SECOND),
        "demand": asks,
        "queue": QueueName(queue),
        "tenant": TenantName(tenant),
        "priority": priority,
    }
    placed = [on] if isinstance(on, str) else list(on)
    if placed:
        base |= _placed(asks, name, placed, domain, admitted, bound, reached)
    return Workload(**(base | fields))  # type: ignore[arg-type]


def _placed(
    asks: Demand,
    name: str,
    clusters: list[str],
    domain: str | None,
    admitted: int | None,
    bound: int | None,
    reached: bool,
) -> dict[str, object]:
    """The fields of a workload that is in these clusters."""
    needs = asks.gang
    amounts = Amounts() if needs is None else needs.all_amounts()
    if admitted is not None and needs is not None:
        amounts = Amounts.of({needs.pod_sets[0].name: admitted})
    seen = (
        amounts if bound is None or needs is None else Amounts.of({needs.pod_sets[0].name: bound})
    )
    carries = asks.carries_replicas and needs is not None
    replicas = amounts.pods() if carries else None
    made = decision(
        *(grant(c, amounts, replicas=replicas, domain=domain) for c in clusters), name=name
    )
    return {
        "decision": made,
        "targets": tuple(Target(cluster=ClusterName(c), replicas=replicas) for c in clusters),
        "progress": tuple(
            Progress(cluster=ClusterName(c), bound=seen, minimum_reached=reached, decision=made.id)
            for c in clusters
        ),
        "placement_applied": True,
        "observed_generation": 1,
        "scheduled": True,
        "last_scheduled": made.at,
    }


def grant(
    name: str, amounts: Amounts, *, replicas: int | None = None, domain: str | None = None
) -> Grant:
    """What was admitted in one cluster."""
    return Grant(
        cluster=ClusterName(name),
        amounts=amounts,
        replicas=replicas,
        domain=None if domain is None else DomainId(domain),
        tier=None if domain is None else 1,
    )


def decision(
    *grants: Grant,
    name: str = "",
    ago: int = 600,
    order: int = 0,
    backoffs: Sequence[Backoff] = (),
    pending: Amounts | None = None,
) -> Decision:
    """A decision `ago` seconds before `NOW`."""
    return Decision(
        id=DecisionId(f"decision-{name}"),
        epoch=1,
        at=Instant(NOW - ago * SECOND),
        order=order,
        grants=grants,
        pending=pending or Amounts(),
        backoffs=tuple(backoffs),
    )


def backoff(name: str, *, seconds: int = 60, failures: int = 1, reason: str = "") -> Backoff:
    """A cluster left out until `seconds` after `NOW`."""
    return Backoff(
        cluster=ClusterName(name),
        until=Instant(NOW + seconds * SECOND),
        failures=failures,
        reason=reason,
    )
