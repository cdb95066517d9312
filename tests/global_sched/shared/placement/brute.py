"""Exhaustive search: the judge of the engine on small worlds."""

from functools import cache

from global_sched.shared.model.gang import Mode
from global_sched.shared.model.pods import matches, tolerated


def may_go(leaf, shape):
    labels = dict(leaf.node_class.labels)
    return (
        leaf.node_class.schedulable
        and tolerated(leaf.node_class.taints, shape.tolerations) is None
        and all(labels.get(k) == v for k, v in shape.selector)
        and (
            not shape.affinity
            or any(all(matches(r, labels) for r in term) for term in shape.affinity)
        )
    )


def ancestors(world):
    """Domain to itself and everything above; None (the cluster) is above all."""
    parent = {d.name: d.parent for d in world.domains}
    result = {None: (None,)}
    for name in parent:
        chain, at = [], name
        while at is not None:
            chain.append(at)
            at = parent[at]
        result[name] = (*chain, None)
    return result


def lowest_tier(world, gang, minimum):
    """The lowest tier at which the minimum fits under the constraint.

    `inf` stands for the whole cluster; None when it fits nowhere.
    """
    above = ancestors(world)
    tier = {d.name: d.tier for d in world.domains}
    rule = gang.constraint
    names = sorted(tier, key=lambda name: tier[name])
    top = max(tier.values(), default=0) + 1
    if rule is not None and rule.mode == Mode.HARD and rule.highest_tier < top:
        names = [name for name in names if tier[name] <= rule.highest_tier]
    else:
        names = [*names, None]
    for name in names:
        if fits_in(world, gang, minimum, name, above, tier):
            return float("inf") if name is None else tier[name]
    return None


def fits_in(world, gang, minimum, name, above, tier):
    leaves = [leaf for leaf in world.leaves if name in above[leaf.domain]]
    groups = []
    for pod_set in gang.pod_sets:
        pods = minimum.get(pod_set.name)
        rule = pod_set.partition.constraint if pod_set.partition else None
        size = pod_set.partition.size if pod_set.partition else 1
        if rule is not None and rule.mode == Mode.HARD:
            family = pod_set.partition.together or pod_set.name
            numbers = range(pods // size)
            groups.extend((pod_set, size, rule.highest_tier, (family, at)) for at in numbers)
        else:
            groups.extend([(pod_set, 1, None, None)] * pods)
    return _place(tuple(groups), leaves, world, above, tier)


def _place(groups, leaves, world, above, tier):
    axis = world.axis

    def needs(pod_set):
        return tuple(pod_set.shape.requests.get(name) for name in axis)

    pods = []
    for pod_set, size, limit, number in groups:
        pods.extend([(pod_set, number, limit)] * size)

    @cache
    def rest(at, free, holding, homes):
        """Pods from `at` on; `holding` are one-per-node marks, `homes` the domains of groups."""
        if at == len(pods):
            return True
        pod_set, number, limit = pods[at]
        want = needs(pod_set)
        for place, leaf in enumerate(leaves):
            if not may_go(leaf, pod_set.shape):
                continue
            if any(f < w for f, w in zip(free[place], want, strict=True)):
                continue
            mark = (place, pod_set.name)
            if pod_set.shape.anti_affine and mark in holding:
                continue
            homes_after = homes
            if limit is not None:
                top = max(tier.values(), default=0) + 1
                allowed = frozenset(
                    a for a in above[leaf.domain] if (top if a is None else tier[a]) <= limit
                )
                known = dict(homes).get(number)
                common = allowed if known is None else allowed & known
                if not common:
                    continue
                homes_after = tuple(sorted({**dict(homes), number: common}.items()))
            free_after = tuple(
                tuple(f - w for f, w in zip(row, want, strict=True)) if p == place else row
                for p, row in enumerate(free)
            )
            holding_after = holding | {mark} if pod_set.shape.anti_affine else holding
            if rest(at + 1, free_after, holding_after, homes_after):
                return True
        return False

    return rest(0, tuple(leaf.free for leaf in leaves), frozenset(), ())
