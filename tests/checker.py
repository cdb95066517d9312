"""Invariants of every state that the objects of a federation were ever in.

`violations` is a pure function of a history: every version of every object on every server, in the
order of time. It shares no code with the programs that it judges.

| rule | what is a violation |
|---|---|
| runs twice | live pods of one gang are bound in two members |
| above admitted | more live pods than the decision grants there, or than it is leaving there |
| whole or absent | for a minute some pods of a gang are bound, and its minimum never was |
| quota | a write makes a queue hold more than its capability, and it does so 5 s later |
| tier | live pods of a gang with a hard constraint lie under no common HyperNode of that tier |
| node | live pods ask for more of a node's GPUs than it has |
| epoch | a decision of an earlier term follows a later one on a binding, and stands 5 s later |
| plan | a pod of a gang is bound, and no plan on its PodGroup has ever named it |
| selected | a binding has a cluster that its policy does not name |
| unreadable | a gang is admitted of which an amount is no number |
| lost | at the end a gang neither has clusters nor has ended, and no condition says why it waits |

`usage_at_rest` looks at the last state alone: what a queue's status says is what its bindings hold.
`usurped` looks at Leases: one that its holder renews is not taken from it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Object = dict[str, Any]
Job = tuple[str, str]

CONTROL_PLANE: Final = "control-plane"
DECISION: Final = "decision.global-sched.io/decision"
GPU: Final = "nvidia.com/gpu"
PLAN: Final = "decision.global-sched.io/plan"
GROUP: Final = "scheduling.k8s.io/group-name"
TASK: Final = "volcano.sh/task-spec"
PLURALS: Final = frozenset(
    {"resourcebindings", "jobs", "pods", "queues", "nodes", "hypernodes", "podgroups"}
)
"""What a history needs to hold; other kinds say nothing to any rule."""
OVERLAP_SECONDS: Final = 3.0
"""So long pods may be more than a decision says: it was written a moment ago."""
GIVING_UP_SECONDS: Final = 45.0
"""So long pods that were given up may take to end: their grace period, and a report."""
FORGED: Final = 2**31 - 1
"""No Lease gives this term."""
PARTIAL_SECONDS: Final = 60.0
JUDGED_SECONDS: Final = 5.0
"""Within this a leader takes back a late decision that breaks a limit."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One version of one object: when it was stored, where, and whether it was the last one."""

    at: float
    server: str
    plural: str
    obj: Object
    gone: bool = False

    @property
    def key(self) -> Job:
        """Namespace and name."""
        meta = self.obj["metadata"]
        return meta.get("namespace", ""), meta["name"]


@dataclass(slots=True)
class _World:
    """The objects as they are at one moment of the history."""

    bindings: dict[Job, Object] = field(default_factory=dict)
    jobs: dict[Job, Object] = field(default_factory=dict)
    """Volcano Jobs on the control plane."""
    queues: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, dict[Job, Object]] = field(default_factory=lambda: defaultdict(dict))
    """By member."""
    gangs: dict[Job, dict[str, dict[Job, Object]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(dict))
    )
    """The same by gang and member."""
    nodes: dict[str, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    """GPUs by member and node."""
    watched: set[Job] = field(default_factory=set)
    """Gangs that had a binding or a pod."""
    used: set[tuple[str, str]] = field(default_factory=set)
    """Nodes that had a pod, with their members."""
    started: set[tuple[Job, str]] = field(default_factory=set)
    """Gangs of which the minimum was bound in a member: what they lose later is their own."""
    hyper_nodes: dict[str, dict[str, Object]] = field(default_factory=lambda: defaultdict(dict))
    plans: dict[tuple[str, Job], str] = field(default_factory=dict)
    """Every plan that a PodGroup of a member has had, one after the other."""

    def take(self, seen: Seen) -> None:
        """The next version of an object."""
        match seen.plural, seen.server == CONTROL_PLANE:
            case "resourcebindings", True:
                _put(self.bindings, seen.key, seen)
            case "jobs", True:
                _put(self.jobs, seen.key, seen)
            case "queues", True:
                _put(self.queues, seen.key[1], seen)
            case "pods", False:
                _put(self.pods[seen.server], seen.key, seen)
                job = _job(seen.obj)
                if job is not None:
                    _put(self.gangs[job][seen.server], seen.key, seen)
            case "podgroups", False:
                notes = seen.obj["metadata"].get("annotations") or {}
                key = seen.server, seen.key
                before, now = self.plans.get(key, ""), notes.get(PLAN, "")
                if now not in before:
                    self.plans[key] = f"{before} {now}"
            case "hypernodes", False:
                _put(self.hyper_nodes[seen.server], seen.key[1], seen)
            case "nodes", False:
                free = (seen.obj.get("status") or {}).get("allocatable") or {}
                self.nodes[seen.server][seen.key[1]] = int(free.get(GPU, 0))

    def of_job(self, job: Job) -> dict[str, list[Object]]:
        """The pods of a gang that are bound, by member."""
        found = {
            member: [one for one in pods.values() if one["spec"].get("nodeName")]
            for member, pods in self.gangs[job].items()
        }
        return {member: pods for member, pods in found.items() if pods}


def _put(table: dict[Any, Object], key: object, seen: Seen) -> None:
    if seen.gone:
        table.pop(key, None)
    else:
        table[key] = seen.obj


class _Since:
    """Since when something is wrong; it is a violation once it lasted too long."""

    def __init__(self) -> None:
        self._since: dict[tuple[object, ...], float] = {}
        self.found: list[str] = []

    def look(self, key: tuple[object, ...], at: float, text: str, seconds: float) -> None:
        """`text` says what is wrong now, empty when nothing is."""
        if not text:
            self._since.pop(key, None)
            return
        since = self._since.setdefault(key, at)
        if at - since > seconds:
            self.found.append(f"{at:.1f} s: {text}, for more than {seconds:g} s")
            self._since[key] = float("inf")


def violations(history: Iterable[Seen], *, until: float) -> list[str]:
    """What was wrong in a history that ends at an instant (seconds), each with the time."""
    world, since = _World(), _Since()
    over: dict[str, int] = {}
    epochs: dict[Job, int] = {}
    last = 0.0
    for seen in history:
        if seen.at - last > 1.0:
            _look_at_all(world, since, over, epochs, seen.at)
        last = seen.at
        capped = [name for name in world.queues if _capability(world, name) is not None]
        before = {one: _held(world, one) for one in capped if seen.plural == "resourcebindings"}
        world.take(seen)
        if seen.plural == "resourcebindings":
            _note_epoch(seen, epochs, world)
        for name, held in before.items():
            _note_quota(world, name, held, over)
        job = _job(seen.obj) if seen.plural == "pods" else _job_of_binding(seen)
        if job is not None:
            world.watched.add(job)
            _look_at(world, since, job, seen.at)
        if seen.plural == "pods" and seen.obj["spec"].get("nodeName"):
            used = seen.server, str(seen.obj["spec"]["nodeName"])
            world.used.add(used)
            _look_at_node(world, since, used, seen.at)
        _look_at_queues(world, since, over, seen.at)
        _look_at_epochs(world, since, epochs, seen.at)
    _look_at_all(world, since, over, epochs, until)
    return [*since.found, *_lost(world)]


def usage_at_rest(history: Iterable[Seen]) -> list[str]:
    """Queues whose status, in the last state, names other GPUs than their bindings hold."""
    world = _World()
    for seen in history:
        world.take(seen)
    found = []
    for name, queue in sorted(world.queues.items()):
        status = queue.get("status") or {}
        said = int((status.get("allocated") or {}).get(GPU, 0))
        held = _held(world, name)
        if said != held:
            found.append(f"at the end: queue {name} says {said} GPUs, its bindings hold {held}")
    return found


def seconds_over(history: Iterable[Seen], queue: str, *, until: float) -> float:
    """The longest time for which more was admitted in a queue than its capability."""
    world, since, longest = _World(), None, 0.0
    for seen in history:
        world.take(seen)
        most = _capability(world, queue)
        if most is None or _admitted_and_leaving(world, queue)[0] <= most:
            longest, since = max(longest, 0.0 if since is None else seen.at - since), None
        elif since is None:
            since = seen.at
    return longest if since is None else max(longest, until - since)


@dataclass(frozen=True, slots=True)
class Term:
    """One version of a Lease; no `spec` when it was deleted."""

    at: float
    name: str
    spec: Object


def usurped(leases: Iterable[Term]) -> list[str]:
    """Leases that were taken before the time of their last renewal was over."""
    last: dict[str, Term] = {}
    found = []
    for one in leases:
        before = last.get(one.name)
        last[one.name] = one
        if before is None or not before.spec.get("holderIdentity") or not one.spec:
            continue
        holder, since = one.spec.get("holderIdentity"), one.at - before.at
        taken = holder and holder != before.spec["holderIdentity"]
        if taken and since < before.spec["leaseDurationSeconds"]:
            found.append(f"{one.at:.1f} s: {holder} took {one.name}, renewed {since:.1f} s before")
    return found


def _look_at_all(
    world: _World,
    since: _Since,
    over: dict[str, int],
    epochs: Mapping[Job, int],
    at: float,
) -> None:
    """Time has gone by, and nothing was written."""
    for job in world.watched:
        _look_at(world, since, job, at)
    for used in world.used:
        _look_at_node(world, since, used, at)
    _look_at_queues(world, since, over, at)
    _look_at_epochs(world, since, epochs, at)


# --- gangs ----------------------------------------------------------------------------------


def _look_at(world: _World, since: _Since, job: Job, at: float) -> None:
    """The rules about the pods of one gang."""
    bound = world.of_job(job)
    live = {member: [one for one in pods if not _ended(one)] for member, pods in bound.items()}
    live = {member: pods for member, pods in live.items() if pods}
    name = "/".join(job)
    unplanned = ", ".join(_unplanned(world, live))
    text = f"{name}: no plan names {unplanned}" if unplanned else ""
    since.look(("plan", job), at, text, OVERLAP_SECONDS)
    twice = f"{name} runs in {' and '.join(sorted(live))}" if len(live) > 1 else ""
    since.look(("twice", job), at, twice, OVERLAP_SECONDS)
    binding, template = world.bindings.get((job[0], f"{job[1]}-job")), world.jobs.get(job)
    if binding is None or template is None or template["metadata"].get("deletionTimestamp"):
        return
    decision = _decision(binding)
    grants = decision.get("grants") or ()
    granted = {one["cluster"]: sum((one.get("amounts") or {}).values()) for one in grants}
    leaving = {one["cluster"] for one in grants if one.get("left")}
    wrong = sorted(_unselected(binding))
    text = f"{name} is in {', '.join(wrong)}, which its policy does not name" if wrong else ""
    since.look(("selected", job), at, text, JUDGED_SECONDS)
    nonsense = any(granted.values()) and not _readable(template)
    text = f"{name} is admitted, and an amount of it is no number" if nonsense else ""
    since.look(("unreadable", job), at, text, OVERLAP_SECONDS)
    for member, pods in _all_members(world, live).items():
        most = granted.get(member, 0)
        text = f"{name} has {len(pods)} live pods in {member}, and {most} are admitted"
        wrong = len(pods) > most and member not in leaving
        seconds = GIVING_UP_SECONDS if most else OVERLAP_SECONDS
        since.look(("above", job, member), at, text if wrong else "", seconds)
        least = template["spec"].get("minAvailable") or _replicas(template)
        there = len(
            [one for one in bound.get(member, ()) if one["status"].get("phase") != "Failed"]
        )
        text = f"{name} has {there} of at least {least} pods in {member}"
        short = _short(template, bound.get(member, ()))
        if there >= least and short:
            text = f"{name} has no minimum of {short} in {member}"
        if there >= least and not short:
            world.started.add((job, member))
        elif not there:
            world.started.discard((job, member))
        begun = bool(pods) and (job, member) not in world.started
        wrong = begun and (there < min(least, most) or bool(short)) and member not in leaving
        since.look(("partial", job, member), at, text if wrong else "", PARTIAL_SECONDS)
        text = _tier_problem(world, template, member, pods)
        since.look(("tier", job, member), at, f"{name}: {text}" if text else "", OVERLAP_SECONDS)


def _look_at_node(world: _World, since: _Since, used: tuple[str, str], at: float) -> None:
    """The rule about one node of a member."""
    member, node = used
    most = world.nodes[member].get(node, 0)
    gpus = sum(
        _gpus(one["spec"])
        for one in world.pods[member].values()
        if one["spec"].get("nodeName") == node and not _ended(one)
    )
    text = f"{gpus} GPUs are in use on {member}/{node}, which has {most}"
    since.look(("node", member, node), at, text if gpus > most else "", OVERLAP_SECONDS)


def _all_members(world: _World, live: Mapping[str, list[Object]]) -> dict[str, list[Object]]:
    return {member: live.get(member, []) for member in world.pods}


def _tier_problem(world: _World, job: Object, member: str, pods: list[Object]) -> str:
    """Whether pods of a gang with a hard constraint lie too far apart."""
    topology = job["spec"].get("networkTopology") or {}
    tier = topology.get("highestTierAllowed")
    if topology.get("mode") != "hard" or tier is None or len(pods) < 2:
        return ""
    nodes = {one["spec"]["nodeName"] for one in pods}
    tree = world.hyper_nodes[member]
    for name, one in tree.items():
        if one["spec"]["tier"] <= tier and nodes <= _nodes_below(tree, name):
            return ""
    return f"its pods in {member} are on {', '.join(sorted(nodes))}, under nothing of tier {tier}"


def _nodes_below(tree: Mapping[str, Object], name: str) -> set[str]:
    """Node names under a HyperNode whose members are named exactly."""
    found: set[str] = set()
    for one in tree[name]["spec"].get("members") or ():
        below = (one["selector"].get("exactMatch") or {}).get("name", "")
        if one["type"] == "Node":
            found.add(below)
        elif below in tree:
            found |= _nodes_below(tree, below)
    return found


def _unplanned(world: _World, live: Mapping[str, list[Object]]) -> Iterator[str]:
    """Bound pods of PodGroups that no plan has named."""
    for member, pods in live.items():
        for pod in pods:
            meta = pod["metadata"]
            group = (meta.get("annotations") or {}).get(GROUP)
            plan = world.plans.get((member, (meta["namespace"], group or "")), "")
            if group and meta["uid"][:8] not in plan:  # large plans shorten the uids
                yield f"{member}/{meta['name']}"


def _unselected(binding: Object) -> set[str]:
    """Clusters of a binding that its policy names nowhere."""
    rule = binding["spec"].get("placement") or {}
    groups = [rule.get("clusterAffinity") or {}, *(rule.get("clusterAffinities") or ())]
    named = {name for one in groups for name in one.get("clusterNames") or ()}
    return {one["name"] for one in binding["spec"].get("clusters") or () if named} - named


def _readable(job: Object) -> bool:
    """Whether all GPUs that a gang asks for are whole numbers."""
    containers = (
        container
        for task in job["spec"].get("tasks") or ()
        for container in task["template"]["spec"]["containers"]
    )
    amounts = (((one.get("resources") or {}).get("limits") or {}).get(GPU, 0) for one in containers)
    return all(str(one).isdecimal() for one in amounts)


def _short(job: Object, pods: Iterable[Object]) -> str:
    """A task without its own minimum, where those bind; empty for none.

    As in Volcano they bind where the job's minimum is not below their sum. Tasks that wait for
    others are begun later.
    """
    tasks = job["spec"].get("tasks") or ()
    least = {one.get("name"): one.get("minAvailable", one.get("replicas", 1)) for one in tasks}
    if any(one.get("dependsOn") for one in tasks) or len(tasks) < 2:
        return ""
    if job["spec"].get("minAvailable", _replicas(job)) < sum(least.values()):
        return ""
    there = Counter((one["metadata"].get("labels") or {}).get(TASK) for one in pods)
    return next((str(name) for name, pods in least.items() if there[name] < pods), "")


def _gpus(spec: Object) -> int:
    """GPUs of one pod; an amount that is no number counts nothing."""
    limits = (((one.get("resources") or {}).get("limits") or {}) for one in spec["containers"])
    return sum(int(one.get(GPU, 0)) for one in limits if str(one.get(GPU, 0)).isdecimal())


def _ended(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _job(pod: Object) -> Job | None:
    name = (pod["metadata"].get("labels") or {}).get("volcano.sh/job-name")
    return (pod["metadata"]["namespace"], name) if name else None


def _job_of_binding(seen: Seen) -> Job | None:
    if seen.plural != "resourcebindings":
        return None
    resource = seen.obj["spec"]["resource"]
    if resource["kind"] != "Job" or not resource["apiVersion"].startswith("batch.volcano"):
        return None
    return resource["namespace"], resource["name"]


def _decision(binding: Object) -> Object:
    text = (binding["metadata"].get("annotations") or {}).get(DECISION)
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _replicas(job: Object) -> int:
    return sum(int(task.get("replicas", 1)) for task in job["spec"].get("tasks") or ())


# --- queues ---------------------------------------------------------------------------------


def _held(world: _World, queue: str) -> int:
    """GPUs that a queue holds with all below it: what is admitted, and what is leaving."""
    return sum(_admitted_and_leaving(world, queue))


def _admitted_and_leaving(world: _World, queue: str) -> tuple[int, int]:
    total = leaving = 0
    for key, binding in world.bindings.items():
        job = world.jobs.get((key[0], binding["spec"]["resource"]["name"]))
        if job is None or queue not in _path(world, job["spec"].get("queue") or "default"):
            continue
        decision = _decision(binding)
        per_pod = _gpus_by_task(job)
        for grant in decision.get("grants") or ():
            if grant.get("left"):
                leaving += (grant.get("held") or {}).get(GPU, 0)
            elif not _finished(binding):
                amounts = grant.get("amounts") or {}
                total += sum(per_pod.get(name, 0) * pods for name, pods in amounts.items())
    return total, leaving


def _path(world: _World, queue: str) -> Iterator[str]:
    for _ in range(20):
        yield queue
        above = ((world.queues.get(queue) or {}).get("spec") or {}).get("parent")
        if not above or above == "root":
            return
        queue = above


def _capability(world: _World, queue: str) -> int | None:
    found = world.queues.get(queue)
    said = ((found or {}).get("spec") or {}).get("capability") or {}
    return int(said[GPU]) if GPU in said else None


def _note_quota(world: _World, queue: str, before: int, over: dict[str, int]) -> None:
    """A write that puts a queue over its limit; one that was over before may stay so."""
    most, now = _capability(world, queue), _held(world, queue)
    if most is not None and now > most and now > before:
        over[queue] = now


def _look_at_queues(world: _World, since: _Since, over: dict[str, int], at: float) -> None:
    for queue in list(over):
        most, now = _capability(world, queue), _held(world, queue)
        wrong = most is not None and now > most
        text = f"queue {queue} holds {now} GPUs of {most}" if wrong else ""
        since.look(("quota", queue), at, text, JUDGED_SECONDS)
        if not wrong:
            del over[queue]


def _gpus_by_task(job: Object) -> dict[str, int]:
    return {
        task.get("name") or f"default{at}": _gpus(task["template"]["spec"])
        for at, task in enumerate(job["spec"].get("tasks") or ())
    }


def _finished(binding: Object) -> bool:
    for one in (binding.get("status") or {}).get("aggregatedStatus") or ():
        state = (one.get("status") or {}).get("state")
        phase = state.get("phase") if isinstance(state, dict) else state
        if phase in ("Completed", "Failed", "Aborted", "Terminated"):
            return True
    return False


# --- terms and ends -------------------------------------------------------------------------


def _note_epoch(seen: Seen, epochs: dict[Job, int], world: _World) -> None:
    """The latest term of each binding's decisions."""
    if seen.gone:
        epochs.pop(seen.key, None)
        return
    epoch = _decision(seen.obj).get("epoch", 0)
    if isinstance(epoch, int) and epoch < FORGED:
        epochs[seen.key] = max(epochs.get(seen.key, 0), epoch)


def _look_at_epochs(world: _World, since: _Since, epochs: Mapping[Job, int], at: float) -> None:
    for key, latest in epochs.items():
        binding = world.bindings.get(key)
        epoch = latest if binding is None else _decision(binding).get("epoch", latest)
        wrong = isinstance(epoch, int) and epoch < latest
        text = f"{'/'.join(key)} has a decision of term {epoch} after one of {latest}"
        since.look(("epoch", key), at, text if wrong else "", JUDGED_SECONDS)


def _lost(world: _World) -> Iterator[str]:
    """Gangs without an expectation at the end."""
    for key, binding in sorted(world.bindings.items()):
        if binding["spec"].get("schedulerName") != "global-sched" or _finished(binding):
            continue
        if binding["metadata"].get("deletionTimestamp") or binding["spec"].get("clusters"):
            continue
        said = [
            one
            for one in (binding.get("status") or {}).get("conditions") or ()
            if one["type"] == "Scheduled" and one.get("message")
        ]
        if not said and key in {(job[0], f"{job[1]}-job") for job in world.jobs}:
            yield f"at the end: {'/'.join(key)} has no cluster, and no condition says why"
