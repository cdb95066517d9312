"""The end of a workload, from what Karmada collected of its copies."""

from collections.abc import Iterable

from global_sched.shared.api.karmada import AggregatedStatusItem
from global_sched.shared.kinds import kind_of
from global_sched.shared.model.ids import ClusterName


def is_finished(
    api_version: str,
    kind: str,
    items: list[AggregatedStatusItem] | None,
    clusters: Iterable[ClusterName],
) -> bool:
    """True when the copy in one of the binding's clusters reached an end.

    Copies in clusters that are being left do not count: they were withdrawn. Kinds that are not
    read here never end.
    """
    known = kind_of(api_version, kind)
    if not items or known is None:
        return False
    here = set(clusters)
    return any(
        item.cluster_name in here and item.status is not None and known.ends(item.status)
        for item in items
    )
