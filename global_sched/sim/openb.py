"""The pods of openb packed one by one: Best Fit, FGD (Weng et al., ATC 2023), and this engine.

This holds the reading of openb against what FGD's authors published, parts of GPUs included. The
placement engine schedules whole GPUs: it is asked for the pods of whole GPUs alone.

Problem:  pods arrive and never leave; each goes to one node or is given up; how much of all GPUs is
          given away once what the pods asked for reaches what there is?
Best Fit: the node on which least is left, as parts of the largest node's CPU and GPUs.
FGD:      the node and GPU where the expected fragmentation grows least. F(n) = Σ p_m f(n, m) over
          the kinds m of pods: all free GPU of the node where m does not fit there, else the free
          parts of GPUs that are each too small for m.
Cost:     nodes that are alike are one row; answers are remembered for each row and kind of pod.
"""

import csv
import io
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from global_sched.shared.model.gang import Gang, PodSet
from global_sched.shared.model.ids import MAIN
from global_sched.shared.model.pods import Operator, PodShape, Requirement
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.shared.placement import Placed, Space, demand_of
from global_sched.sim.jobs import GPU

_LOOKS_AFTER: Final = 64
"""Arrivals after which the engine hears anew what pods ask for, as an agent does."""
_MIB: Final = 1 << 20
WHOLE: Final = 1000
"""Thousandths of a GPU."""


class Node(NamedTuple):
    """What is free on a node: milli-CPU, MiB, thousandths of each GPU (most first), the model."""

    cpu: int
    memory: int
    gpus: tuple[int, ...]
    model: str


class Pod(NamedTuple):
    """What a pod asks for: `part` thousandths of each of its GPUs; models as `A|B`, or any."""

    cpu: int
    memory: int
    gpus: int
    part: int
    models: str

    @property
    def asks(self) -> int:
        """Thousandths in all."""
        return self.gpus * self.part


def nodes_of(text: str) -> list[Node]:
    """The nodes of openb's list."""
    return [
        Node(int(r["cpu_milli"]), int(r["memory_mib"]), (WHOLE,) * int(r["gpu"]), r["model"])
        for r in csv.DictReader(io.StringIO(text))
    ]


def pods_of(text: str) -> list[Pod]:
    """The pods of an openb list."""
    return [
        Pod(
            int(r["cpu_milli"]),
            int(r["memory_mib"]),
            int(r["num_gpu"]),
            int(r["gpu_milli"]),
            r.get("gpu_spec") or "",
        )
        for r in csv.DictReader(io.StringIO(text))
    ]


def given_away(
    pods: Sequence[Pod], nodes: Sequence[Node], packer: "BestFit | FGD", share: float, seed: int
) -> float:
    """The part of all GPUs that is given away once `share` of them was asked for.

    Order:  a shuffle of the pods, and then pods that are drawn one by one.
    """
    room = Counter(nodes)
    capacity = gpus_of(nodes)
    given = 0
    for pod in arrivals(pods, share * capacity, seed):
        found = min(
            ((*best, node) for node in room if (best := packer.best(node, pod)) is not None),
            default=None,
        )
        if found is None:
            continue
        _, after, node = found
        room[node] -= 1
        if not room[node]:
            del room[node]
        room[after] += 1
        given += pod.asks
    return given / capacity


def by_engine(pods: Sequence[Pod], nodes: Sequence[Node], share: float, seed: int) -> float:
    """The same by the placement engine, for pods of whole GPUs."""
    space = Space(_topology(nodes))
    capacity = gpus_of(nodes)
    gangs: dict[Pod, Gang] = {}
    seen: Counter[PodShape] = Counter()
    given = 0
    for number, pod in enumerate(arrivals(pods, share * capacity, seed)):
        gang = gangs.setdefault(pod, _gang(pod))
        seen[gang.pod_sets[0].shape] += 1
        if number % _LOOKS_AFTER == 0:
            space = Space(replace(space.remaining(), demand=demand_of(seen)))
        placed = space.place(gang)
        if isinstance(placed, Placed):
            space.take(placed)
            given += pod.asks
    return given / capacity


def gpus_of(nodes: Sequence[Node]) -> int:
    """Thousandths of all GPUs."""
    return sum(len(node.gpus) for node in nodes) * WHOLE


def arrivals(pods: Sequence[Pod], asked: float, seed: int) -> Iterator[Pod]:
    """Pods until they ask for so many thousandths of GPUs."""
    rng = random.Random(seed)  # noqa: S311 - arrivals, nothing secret
    order = list(pods)
    rng.shuffle(order)
    at = so_far = 0
    while so_far < asked:
        pod = order[at] if at < len(order) else rng.choice(pods)
        at += 1
        so_far += pod.asks
        yield pod


def _topology(nodes: Sequence[Node]) -> Topology:
    """The nodes in no HyperNode, each with its name and its model as a label."""
    leaves = tuple(
        Leaf(
            domain=None,
            node_class=NodeClass(labels=(("model", node.model),)),
            free=(node.cpu, node.memory * _MIB, len(node.gpus), 1000),
            count=1,
            node=f"n{at:05d}",
        )
        for at, node in enumerate(nodes)
    )
    return Topology(axis=("cpu", "memory", GPU, PODS), leaves=leaves)


def _gang(pod: Pod) -> Gang:
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    if pod.models:
        models = tuple(sorted(pod.models.split("|")))
        affinity = ((Requirement("model", Operator.IN, models),),)
    requests = {"cpu": pod.cpu, "memory": pod.memory * _MIB, GPU: pod.gpus, PODS: 1}
    shape = PodShape(requests=Resources.of(requests), affinity=affinity)
    return Gang(pod_sets=(PodSet(name=MAIN, count=1, minimum=1, shape=shape),), minimum=1)


def placements(node: Node, pod: Pod) -> list[Node]:
    """The node after the pod, for each GPU that it could share; none where it does not fit."""
    cpu, memory = node.cpu - pod.cpu, node.memory - pod.memory
    if cpu < 0 or memory < 0 or (pod.models and node.model not in pod.models.split("|")):
        return []
    if not pod.gpus:
        return [Node(cpu, memory, node.gpus, node.model)]
    able = [free for free in node.gpus if free >= pod.part]
    if len(able) < pod.gpus:
        return []
    found = []
    for free in sorted(set(able)):
        if pod.gpus > 1 and able.count(free) < pod.gpus:
            continue
        gpus = list(node.gpus)
        for _ in range(pod.gpus):
            gpus.remove(free)
            gpus.append(free - pod.part)
        found.append(Node(cpu, memory, tuple(sorted(gpus, reverse=True)), node.model))
    return found


class _Memory:
    """Answers by node and pod: most nodes are as they were when the same kind of pod came last."""

    def __init__(self) -> None:
        self._known: dict[tuple[Node, Pod], tuple[float, Node] | None] = {}

    def best(self, node: Node, pod: Pod) -> tuple[float, Node] | None:
        """What the best place on a node costs, and the node after it; None where none fits."""
        key = (node, pod)
        if key not in self._known:
            options = placements(node, pod)
            costs = ((self.cost(node, after), after) for after in options)
            self._known[key] = min(costs, default=None)
        return self._known[key]

    def cost(self, node: Node, after: Node) -> float:
        """What is to be least."""
        raise NotImplementedError


class BestFit(_Memory):
    """Least is left."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        super().__init__()
        self._cpu = max(node.cpu for node in nodes)
        self._gpu = max(len(node.gpus) for node in nodes) * WHOLE

    def cost(self, node: Node, after: Node) -> float:
        """What is left of CPU and GPUs; of equal rests on the GPU that has least."""
        rest = after.cpu / self._cpu + sum(after.gpus) / self._gpu
        return rest - 1e-9 * max(after.gpus, default=0) + 0 * node.cpu


class FGD(_Memory):
    """Fragmentation grows least."""

    def __init__(self, pods: Sequence[Pod]) -> None:
        super().__init__()
        kinds = Counter(pods)
        self._share = np.array([count / len(pods) for count in kinds.values()])
        self._cpu = np.array([kind.cpu for kind in kinds])
        self._memory = np.array([kind.memory for kind in kinds])
        self._gpus = np.array([kind.gpus for kind in kinds])
        self._part = np.array([kind.part for kind in kinds])[:, None]
        self._models = [kind.models.split("|") if kind.models else [] for kind in kinds]
        self._suits: dict[str, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
        self._fragments: dict[Node, float] = {}

    def cost(self, node: Node, after: Node) -> float:
        """By how much it grows."""
        return self.fragments(after) - self.fragments(node)

    def fragments(self, node: Node) -> float:
        """Thousandths of free GPU of a node that a pod of the list cannot use, in expectation."""
        found = self._fragments.get(node)
        if found is None:
            suits = self._suits.get(node.model)
            if suits is None:
                suits = np.array([not own or node.model in own for own in self._models])
                self._suits[node.model] = suits
            free = np.array(node.gpus)
            able = free[None, :] >= self._part
            fits = suits & (self._cpu <= node.cpu) & (self._memory <= node.memory)
            fits &= (self._gpus > 0) & (able.sum(axis=1) >= self._gpus)
            small = (free[None, :] * ~able).sum(axis=1)
            lost = np.where(fits, small, free.sum())
            found = self._fragments[node] = float((lost * self._share).sum())
        return found
