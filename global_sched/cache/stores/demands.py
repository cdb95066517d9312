"""Demands, one object for all workloads that ask for the same, and the label keys in them."""

from collections import Counter

from global_sched.cache.readers.bindings import BindingFacts
from global_sched.cache.readers.placements import ParsedPlacement
from global_sched.cache.stores.overrides import Overrides
from global_sched.shared.kinds.parts.reading import Reading
from global_sched.shared.model.elastic_spec import ElasticRefusedError, with_elastic
from global_sched.shared.model.gang import Amounts, Elastic, Gang, PodSet
from global_sched.shared.model.placement_rule import PlacementRule
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Demand, Division

_MEMO_LIMIT = 65536
_MemoKey = tuple[int, int, bool, Overrides, Elastic | None]


class Demands:
    """Makes and counts demands.

    Reading and placement are shared objects, so their identity is enough to find the demand that
    they made before.
    """

    def __init__(self) -> None:
        self._memo: dict[_MemoKey, tuple[Reading | None, ParsedPlacement | None, Demand]] = {}
        self._shared: dict[Demand, Demand] = {}
        self._users: dict[int, int] = {}
        self._keys: Counter[str] = Counter()
        self._requests: dict[tuple[int, Amounts], tuple[Demand, Resources]] = {}

    def make(
        self,
        facts: BindingFacts,
        reading: Reading | None,
        overrides: Overrides,
        elastic: Elastic | None = None,
    ) -> Demand:
        """The shared demand of a binding with this reading of its template."""
        key = (id(reading), id(facts.placement), facts.has_replicas, overrides, elastic)
        if reading is None:
            key = (hash(facts.template[:2]), *key[1:2], facts.has_reader, overrides, elastic)
        found = self._memo.get(key)
        if found is not None:
            return found[2]
        demand = demand_of(facts, reading, overrides, elastic)
        demand = self._shared.setdefault(demand, demand)
        if len(self._memo) > _MEMO_LIMIT:
            self._memo.clear()
        self._memo[key] = (reading, facts.placement, demand)
        return demand

    def acquire(self, demand: Demand) -> None:
        """One more workload asks for this."""
        users = self._users.get(id(demand), 0)
        self._users[id(demand)] = users + 1
        if users == 0:
            self._shared[demand] = demand
            self._keys.update(_label_keys(demand))

    def release(self, demand: Demand) -> None:
        """One less; the last one takes its label keys along."""
        users = self._users[id(demand)] - 1
        if users:
            self._users[id(demand)] = users
            return
        del self._users[id(demand)]
        self._shared.pop(demand, None)
        self._keys.subtract(_label_keys(demand))
        self._memo = {key: kept for key, kept in self._memo.items() if kept[2] is not demand}

    def requests(self, demand: Demand, amounts: Amounts) -> Resources:
        """The resources of so many of its pods."""
        if demand.gang is None:
            return Resources()
        found = self._requests.get((id(demand), amounts))
        if found is None:
            if len(self._requests) > _MEMO_LIMIT:
                self._requests.clear()
            found = (demand, demand.gang.requests(amounts))
            self._requests[(id(demand), amounts)] = found
        return found[1]

    def label_keys(self, limit: int) -> tuple[str, ...]:
        """Node label keys that workloads select on, sorted; the most used ones when too many."""
        used = sorted((-count, key) for key, count in self._keys.items() if count > 0)
        return tuple(sorted(key for _, key in used[:limit]))

    def __len__(self) -> int:
        return len(self._users)


def _label_keys(demand: Demand) -> set[str]:
    if demand.gang is None:
        return set()
    return {key for pod_set in demand.gang.pod_sets for key in pod_set.shape.label_keys()}


def demand_of(
    facts: BindingFacts,
    reading: Reading | None,
    overrides: Overrides,
    elastic: Elastic | None = None,
) -> Demand:
    """What a binding asks for, given its template's reading (None: none, or not seen).

    Sizes that do not go with the gang count for nothing (`why_not_elastic` says why).
    """
    api_version, kind = facts.template[:2]
    rule = facts.placement.rule if facts.placement is not None else PlacementRule()
    if reading is None or reading.problem is not None:
        division = Division.WHOLE if facts.has_reader or reading is not None else Division.COPIED
        return Demand(
            api_version=api_version,
            kind=kind,
            division=division,
            rule=rule,
            carries_replicas=False,
        )
    division = Division.WHOLE
    if reading.divisible:
        divided = facts.placement is not None and facts.placement.divided
        division = Division.DIVIDED if divided else Division.DUPLICATED
    return Demand(
        api_version=api_version,
        kind=kind,
        gang=_elastic_gang(_gang(reading, division), division, elastic)[0],
        division=division,
        rule=rule,
        scheduler_name=reading.scheduler_name() or "",
        scheduler_overrides=overrides,
        carries_replicas=reading.carries_replicas or facts.has_replicas,
    )


def _gang(reading: Reading, division: Division) -> Gang:
    """The gang in one cluster: Divided needs one pod in all, everything else its minimum."""
    if division != Division.DIVIDED:
        return Gang(
            pod_sets=reading.pod_sets, minimum=reading.minimum, constraint=reading.constraint
        )
    pod_sets = tuple(
        PodSet(
            name=one.name,
            count=one.count,
            minimum=min(1, one.count),
            shape=one.shape,
            partition=one.partition,
        )
        for one in reading.pod_sets
    )
    return Gang(
        pod_sets=pod_sets,
        minimum=min(1, sum(one.count for one in pod_sets)),
        constraint=reading.constraint,
    )


def why_not_elastic(reading: Reading, elastic: Elastic) -> str:
    """Why these sizes do not go with the gang of a template; empty where they do."""
    if reading.problem is not None or not reading.pod_sets:
        return ""
    division = Division.DUPLICATED if reading.divisible else Division.WHOLE
    return _elastic_gang(_gang(reading, division), division, elastic)[1]


def _elastic_gang(gang: Gang, division: Division, elastic: Elastic | None) -> tuple[Gang, str]:
    """The gang with these sizes, or as it is with the reason why not."""
    if elastic is None:
        return gang, ""
    if division != Division.WHOLE:
        return gang, str(ElasticRefusedError("", "its kind is no gang", "leave it out"))
    try:
        return with_elastic(gang, elastic), ""
    except ElasticRefusedError as error:
        return gang, str(error)
