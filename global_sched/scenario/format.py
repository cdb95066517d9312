"""The fields of a scenario file, and reading one with errors that name the place.

What the world holds is in `world`; here are the steps, what must come out, and the whole file.
"""

import msgspec
import yaml

from global_sched.scenario.world import (
    Amount,
    JobSpec,
    NodesSpec,
    Part,
    QueueSpec,
    ScenarioError,
    TenantSpec,
    World,
)
from global_sched.shared.api import yaml_text

__all__ = [
    "Scenario",
    "ScenarioError",
    "Step",
    "Suite",
    "Want",
    "WantAll",
    "World",
    "parse",
    "parse_all",
]


class Want(Part):
    """What must come out for one job. Fields that are left out are not compared."""

    cluster: str | None = None
    """Empty: none."""
    clusters: dict[str, int] | None = None
    """Pods by cluster, for jobs that are split."""
    domain: str | None = None
    tier: int | None = None
    pods: int | None = None
    """Pods admitted in all."""
    amounts: dict[str, int] | None = None
    """Pods admitted by task."""
    pending: str | None = None
    """The verdict of a job that is not admitted: WAIT, NO_FIT or NEVER."""
    reason: str | None = None
    nearest: str | None = None
    """The cluster that came closest."""
    position: int | None = None
    """Its place in its queue's order, from 1."""
    says: str | None = None
    """A part of the verdict's sentence."""
    refused: dict[str, str] | None = None
    """The reason of each of these clusters."""
    finished: bool | None = None
    evicted: bool | None = None
    """Whether it was taken out of a cluster since the step before."""
    bound: int | None = None
    """Pods that the members' agents bound in all; of a PodGroup: those that they bound now."""
    nodes: dict[str, str] | None = None
    """The node of each of these pods."""
    on_nodes: list[str] | None = None
    """Every pod of it that is to run lies on one of these nodes, and none waits."""
    pods_in: dict[str, int] | None = None
    """How many of its pods lie under each of these HyperNodes."""
    waiting: int | None = None
    """At least so many of its pods have no node, and something says why."""
    same_domain: bool | None = None
    """After a step: its pods lie in the smallest HyperNode that was around them before it."""
    sizes: list[int] | None = None
    """How many of its pods lie in each of the smallest HyperNodes around them, in any order."""


class WantAll(Part):
    """What must hold for every workload after the start or after a step."""

    evicted: list[str] | None = None
    """The jobs that were taken out of a cluster, exactly these; an empty list for none."""
    evictions: int | None = None
    """How many jobs were, where it does not matter which."""
    shrunk: dict[str, int] | None = None
    """Pods that running jobs had to give back, exactly of these jobs; an empty map for none."""
    running: list[str] | None = None
    """The jobs that have a cluster and are not finished, exactly these."""
    bound: int | None = None
    """Pods of the members' own PodGroups that their agents bound, in all."""
    held: dict[str, Amount] | None = None
    """What the jobs of a queue hold in all (of a tenant: `tenant/NAME`); 0 for what is not named in
    the amounts of that queue."""
    deserved: dict[str, Amount] | None = None
    """What each of these queues is entitled to, of these resources."""
    borrowed: dict[str, Amount] | None = None
    """What each of these queues holds over what it deserves, of these resources."""
    excess: dict[str, str] | None = None
    """The largest part of the federation that each of these queues holds over what it deserves,
    divided by its weight: a fraction such as `1/5`, exact."""
    shares: dict[str, str] | None = None
    """The dominant share of each of these tenants, divided by its weight: an exact fraction."""
    frozen: list[str] | None = None
    """The queues in which nothing is admitted, since something is wrong above or in them; exactly
    these."""


class Step(Part):
    """One thing that happens, in the order of the fields, followed by cycles until all is decided.

    `expect` is about single jobs, `expectAll` about all of them.
    """

    about: str = ""
    """What happens, for the message when it does not hold."""
    wait_seconds: int = 0
    finish: list[str] = msgspec.field(default_factory=list)
    """Jobs that complete."""
    fail: list[str] = msgspec.field(default_factory=list)
    """Jobs that fail for good."""
    delete: list[str] = msgspec.field(default_factory=list)
    priority_classes: dict[str, int] = msgspec.field(default_factory=dict)
    """Made or changed."""
    delete_priority_classes: list[str] = msgspec.field(default_factory=list)
    queues: list[QueueSpec] = msgspec.field(default_factory=list)
    """Made, or changed to exactly this: a quota, a parent, a weight."""
    delete_queues: list[str] = msgspec.field(default_factory=list)
    tenants: list[TenantSpec] = msgspec.field(default_factory=list)
    """Made, or changed to exactly this."""
    delete_tenants: list[str] = msgspec.field(default_factory=list)
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    """Fields of the Policy that are changed."""
    submit: list[JobSpec] = msgspec.field(default_factory=list)
    """Jobs that come now: created when the clock stands where it is, plus their `created`."""
    resize: dict[str, dict[str, int]] = msgspec.field(default_factory=dict)
    """By job: replicas by task, as when its template is edited."""
    report_age: dict[str, int] = msgspec.field(default_factory=dict)
    """How many seconds old the report of each of these clusters is from now on."""
    close_queues: list[str] = msgspec.field(default_factory=list)
    open_queues: list[str] = msgspec.field(default_factory=list)
    lose_nodes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Nodes of each of these clusters that are gone."""
    fail_nodes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Nodes that are not Ready from now on."""
    mend_nodes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Nodes that are Ready and not cordoned again."""
    cordon_nodes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    add_nodes: dict[str, list[NodesSpec]] = msgspec.field(default_factory=dict)
    """Nodes that join; their domain has to be one of the cluster's."""
    fail_clusters: list[str] = msgspec.field(default_factory=list)
    """Clusters that are not Ready from now on."""
    take_out: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Jobs that Karmada takes out of each of these clusters, as it does with one that is lost: an
    eviction task stays on them until the cluster is mended."""
    mend_clusters: list[str] = msgspec.field(default_factory=list)
    kill_pods: dict[str, int] = msgspec.field(default_factory=dict)
    """So many pods of each of these jobs are deleted in their member."""
    expect: dict[str, Want] = msgspec.field(default_factory=dict)
    expect_all: WantAll | None = None


class Scenario(Part):
    """A whole file."""

    scenario: str
    """What it shows, as a sentence."""
    world: World
    about: str = ""
    """More, for the docs."""
    differs: str = ""
    """Why our rule differs here on purpose from the system that the case is taken from."""
    federation: bool = False
    """Whether `make scenarios` runs it on an embedded federation, with real agents over HTTP."""
    expect: dict[str, Want] = msgspec.field(default_factory=dict)
    """By job: `namespace/name`, or the name alone when it is the only one."""
    expect_all: WantAll | None = None
    steps: list[Step] = msgspec.field(default_factory=list)


class Suite(Part):
    """A file of many short cases that share a world."""

    suite: str
    """What they are about, as a sentence."""
    cases: list[dict[str, object]]
    """Scenarios; what they leave out of `world` is taken from the suite's."""
    world: dict[str, object] = msgspec.field(default_factory=dict)
    about: str = ""


def parse(text: str, source: str = "scenario") -> Scenario:
    """Read a scenario file's text.

    Raises:  ScenarioError naming the line for YAML that cannot be read, the field otherwise.
    """
    content = _content(text, source)
    if isinstance(content, dict) and "suite" in content:
        raise ScenarioError(f"{source}: it is a suite of cases: try it with gsched whatif")
    return _scenario(content, source)


def parse_all(text: str, source: str = "scenario") -> list[Scenario]:
    """Read a file that holds one scenario, or a suite of them.

    Raises:  ScenarioError naming the line for YAML that cannot be read, the field otherwise.
    """
    content = _content(text, source)
    if not isinstance(content, dict) or "suite" not in content:
        return [_scenario(content, source)]
    try:
        suite = msgspec.convert(content, Suite)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{source}: {error}") from error
    found = []
    for number, case in enumerate(suite.cases, 1):
        own = case.get("world") or {}
        if not isinstance(own, dict):
            raise ScenarioError(f"{source}: case {number}: Expected `object` - at `$.world`")
        whole = case | {"world": suite.world | own}
        found.append(_scenario(whole, f"{source}: case {number} ({case.get('scenario')})"))
    return found


def _content(text: str, source: str) -> object:
    try:
        return yaml_text.read(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source}: not YAML: {' '.join(str(error).split())}") from error


def _scenario(content: object, source: str) -> Scenario:
    try:
        return msgspec.convert(content, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{source}: {error}") from error
