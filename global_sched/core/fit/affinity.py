"""The clusters that a policy selects, in the order in which it tries its groups of clusters.

A policy has one affinity or several ordered ones. The group that was used last comes first, then
those behind it, and at the end those before it: a group further back is a failover, and going
forward to a better group is what a reschedule asks for. A group may have overflow
selectors, which widen it one after another when it does not suffice.
"""

from dataclasses import dataclass

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.placement_rule import AffinityGroup, ClusterSelector, PlacementRule
from global_sched.shared.model.selection import selected


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """One set of clusters to try: a group with as much of its overflow as this try takes."""

    name: str = ""
    selectors: tuple[ClusterSelector, ...] = (ClusterSelector(),)

    def selects(self, cluster: Cluster) -> bool:
        """Whether the cluster is in the set."""
        return any(selected(selector, cluster) for selector in self.selectors)


def choices(rule: PlacementRule, observed: str) -> tuple[AffinityTerm, ...]:
    """The sets of clusters to try, in order; the group named `observed` first."""
    groups = rule.affinities or (AffinityGroup(),)
    first = next((i for i, group in enumerate(groups) if group.name == observed), 0)
    return tuple(
        AffinityTerm(name=group.name, selectors=(group.selector, *group.overflow[:wide]))
        for group in groups[first:] + groups[:first]
        for wide in range(len(group.overflow) + 1)
    )
