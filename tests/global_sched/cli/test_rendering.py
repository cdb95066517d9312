"""Output of the commands for a small world, word for word."""

from dataclasses import replace
from types import SimpleNamespace

import click
import pytest

from global_sched.cli import clusters, jobs, queues, topology
from global_sched.cli.explain import print_explanation
from global_sched.cli.output import show_rows
from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.ids import QueueName, workload_key
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import PodLoss
from global_sched.view.explain import screen_of
from global_sched.view.explain_screen import lines
from global_sched.view.look import find_job
from global_sched.view.losses import loss_lines
from tests.builders import POLICY, gang, pod_set, workload
from tests.global_sched.cli.worlds import RACKS, scenario_view
from tests.towns import Member, Town

QUIET = replace(POLICY, patience_seconds=0)

PENDING = """\
Job default/too-wide waits: TopologyDoesNotFit
  waits for a HyperNode of tier 1 with room for 5 pods; the largest have room
  for 3 (a-1 and a-2 in a) and 1 (b-2 and b-10 in b)

It runs when one of these holds:
  - spec.networkTopology.highestTierAllowed is 2 (now 1): there is room in
    a-spine of a
  - 3 pods are enough to start (spec.minAvailable, now 5): there is room in a-1
    of a

Not enough alone:
  - all running jobs end; then still: waits for a HyperNode of tier 1 with room
    for 5 pods; the largest have room for 4 (b-1 in b) and 3 (a-1 and a-2 in a)

Evidence
binding   default/too-wide-job
asks for  5 worker (each nvidia.com/gpu 8)
within    one domain of tier 1 or below (hard)
ordered   queue default, tenant ns/default, job priority 0
state     Pending, submitted 0s ago
verdict   NO_FIT TopologyDoesNotFit
order     1 of 1 in queue default
queue     default: weight 1, holds nvidia.com/gpu 32; dominant share 33.33%
          (nvidia.com/gpu)
entitled  default deserves nvidia.com/gpu 72, nvidia.com/gpu 40 of it unused;
          above it: root
tenant    ns/default: weight 1, holds nvidia.com/gpu 32; dominant share 33.33%
          (nvidia.com/gpu)
victims   none: nothing of lower priority runs in its queue, and there is
          nothing that it may reclaim from queues beyond their deserved share

Jobs that hold the room, those that end first before the others:
  - 4 pods of queue default, priority 0 (default/rack-job), in b b-1:
    nvidia.com/gpu 32, since 2026-01-01T00:00:00Z, no run-time limit

Clusters:
  a   NO_FIT TopologyDoesNotFit: the largest HyperNode of tier 1 has room for 3
      of 5 pods (a-1 and a-2)
  b   NO_FIT TopologyDoesNotFit: the largest HyperNode of tier 1 has room for 1
      of 5 pods (b-2 and b-10)

Domains of a, those with most room first:
  a-1   tier 1, room for 3 of 5 pods: 3 nodes: nvidia.com/gpu for 1 pod; 2 more
        pods of worker need 16 nvidia.com/gpu freed on 2 nodes
  a-2   tier 1, room for 3 of 5 pods: 3 nodes: nvidia.com/gpu for 1 pod; 2 more
        pods of worker need 16 nvidia.com/gpu freed on 2 nodes

Domains of b, those with most room first:
  b-10   tier 1, room for 1 of 5 pods: 1 node: cordoned; 1 node: nvidia.com/gpu
         for 1 pod; 4 more pods of worker need 8 nvidia.com/gpu freed on 1 node,
         and 3 pods have no node there
  b-2    tier 1, room for 1 of 5 pods: 1 node: nvidia.com/gpu for 1 pod; 4 more
         pods of worker need 8 nvidia.com/gpu freed on 1 node, and 3 pods have
         no node there
  b-1    tier 1, room for 0 of 5 pods: 4 nodes: too little nvidia.com/gpu (at
         most 0 of 8 free); 5 more pods of worker need 32 nvidia.com/gpu freed
         on 4 nodes, and 1 pod has no node there

(policy 0123456789ab)
"""
RUNNING = """\
Job default/rack is running
binding   default/rack-job
asks for  4 worker (each nvidia.com/gpu 8)
within    one domain of tier 1 or below (hard)
ordered   queue default, tenant ns/default, job priority 0
state     Running, submitted 0s ago
admitted  4 worker in b, domain b-1 (tier 1), at 2026-01-01T00:00:00Z after 0s
agent     b: 4 pods bound

(policy 0123456789ab)
"""

TABLES = """\
NAMESPACE   NAME       STATE     CLUSTER   PODS   WAIT   REASON
default     rack       Running   b          4/4     0s   -
default     too-wide   Pending   -          0/5     0s   TopologyDoesNotFit
NAME   READY   REPORT   NODES   DOMAINS   JOBS   FREE
a      Ready   1s ago       6         3      0   nvidia.com/gpu 48, cpu 384, me…
b      Ready   1s ago       7         3      1   nvidia.com/gpu 16, cpu 384, me…
DOMAIN   TIER   TIER NAME   NODES   FREE
b-1         1   -               4   cpu 256, memory 2Ti, nvidia.com/gpu 0
b-2         1   -               1   cpu 64, memory 512Gi, nvidia.com/gpu 8
b-10        1   -               2   cpu 64, memory 512Gi, nvidia.com/gpu 8
NAME      PARENT   STATE    SHARE   PENDING   RUNNING   ALLOCATED
default   root     Open    44.44%         1         1   nvidia.com/gpu 32
NAME         WEIGHT    SHARE   ADMITTED   PENDING   NAMESPACES
ns/default        1   33.33%          1         1   default
"""

BROAD = """\
NAMESPACE   NAME       STATE     TENANT       QUEUE     PLACE   PRIORITY   CLUSTER   DOMAIN   TIER   PODS   WAIT   REASON               DETAIL
default     rack       Running   ns/default   default       -          0   b         b-1         1    4/4     0s   -                    -
default     too-wide   Pending   ns/default   default       1          0   -         -           -    0/5     0s   TopologyDoesNotFit   waits for a HyperNode o…
"""  # noqa: E501 - a table is as wide as it is


@pytest.mark.parametrize(
    ("job", "want"),
    [
        pytest.param("too-wide", PENDING, id="why it waits, cluster by cluster"),
        pytest.param("rack", RUNNING, id="where it runs, and what the agent says"),
    ],
)
def test_explanations(capsys, monkeypatch, job, want):
    """The answer, then what lets it run, then what shows that; 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    view = scenario_view()
    workload = find_job(view.state, job, None)

    found = explain_workload(view.snapshot, view.policy, view.now, workload.key)
    print_explanation(workload, found, view)

    assert capsys.readouterr().out == want


def test_free_room_is_told_node_by_node_and_never_as_a_sum(capsys):
    """Kueue's M6: 3 CPUs are free in each of two clusters, so 6 fit in neither."""
    view = scenario_view(
        """
scenario: free room in two clusters is never added up
world:
  clusters:
  - {name: left, nodes: [{allocatable: {cpu: 10}}]}
  - {name: right, nodes: [{allocatable: {cpu: 10}}]}
  jobs:
  - {name: j1, created: 1, tasks: [{requests: {cpu: 7}}]}
  - {name: j2, created: 2, tasks: [{requests: {cpu: 7}}]}
  - {name: j3, created: 3, tasks: [{requests: {cpu: 6}}]}
"""
    )
    workload = find_job(view.state, "j3", None)

    found = explain_workload(view.snapshot, view.policy, view.now, workload.key)
    print_explanation(workload, found, view)

    shown = capsys.readouterr().out
    assert (
        shown.count("the cluster   room for 0 of 1 pod: 1 node: too little cpu (at most 3 of 6")
        == 2
    )
    assert "quota" not in shown


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch):
    """Lines are compared whole; where the width counts a test sets its own."""
    monkeypatch.setenv("COLUMNS", "400")


def printed(capsys, found, now, policy=QUIET):
    """The lines about a workload of a town, but for those that say the same of every job."""
    name, town = found
    snapshot = town.snapshot()
    view = SimpleNamespace(now=now, policy_note="policy")
    shown = explain_workload(snapshot, policy, town.now, f"jobs/{name}")
    print_explanation(town.workloads[f"jobs/{name}"], shown, view)
    lines = capsys.readouterr().out.splitlines()
    return [one for one in lines if one.startswith(("growth", "verdict", "queue", "vict", "leav"))]


def test_room_that_is_made_for_growth(capsys):
    """What waits of a job that runs and why, what is kept, and who leaves for it."""
    town = Town([Member("m", (4,))], [Queue(name=QueueName("q"))])
    town.run(
        workload("high", cpu=1, pods=2, queue="q", priority=9),
        workload("low", cpu=1, pods=2, queue="q"),
        policy=QUIET,
    )
    one = town.workloads["jobs/high"]
    more = replace(one.demand, gang=gang(pod_set(pods=3, cpu=1)))
    town.workloads["jobs/high"] = replace(one, demand=more)
    for searches in (0, 16):
        policy = replace(QUIET, searches_per_cycle=searches)
        town.execute(run_cycle(town.snapshot(), policy, town.now), linger=True)

    assert printed(capsys, ("high", town), town.now) == [
        "growth    1 more pod waits",
        ("verdict   FIT GrowthPending"),
        (
            "queue     q: weight 1, holds cpu 3, cpu 1 of it kept for jobs that wait, cpu 2 more "
            "used by pods that are leaving; dominant "
            "share 75.00% (cpu)"
        ),
        "leaving   all 2 pods of jobs/low in m, queue q, priority 0: of lower priority",
    ]


def test_victims_that_stay(capsys):
    """Whom a job would need, and why they do not leave."""
    town = Town(
        [Member("m", (1,), cpu=2)],
        [Queue(name=QueueName(name), deserved=(("cpu", 1000),)) for name in ("p", "q")],
    )
    town.run(workload("lent", cpu=1, pods=2, queue="p", tenant="other"), policy=QUIET)
    town.add(workload("j", cpu=1, queue="q"))

    lines = printed(capsys, ("j", town), town.now, replace(QUIET, searches_per_cycle=0))

    assert lines[-2:] == [
        "victim    all 2 pods of a gang in m, queue p, priority 0: over its deserved",
        (
            "victims   they stay: no victims are searched, since the Policy sets "
            "searches_per_cycle to 0"
        ),
    ]


def test_a_queue_far_down(capsys):
    """The first few and the last of the queues above it are named."""
    names = ["q0", *(f"q{i}, parent: q{i - 1}" for i in range(1, 20))]
    view = scenario_view(
        f"""
scenario: a deep tree
world:
  clusters: [{{name: m, nodes: [{{allocatable: {{cpu: 1}}}}]}}]
  queues: [{", ".join(f"{{name: {name}}}" for name in names)}]
  jobs: [{{name: j, queue: q19, tasks: [{{requests: {{cpu: 2}}}}]}}]
"""
    )
    job = find_job(view.state, "j", None)

    print_explanation(job, explain_workload(view.snapshot, view.policy, view.now, job.key), view)

    shown = capsys.readouterr().out
    assert "; above it: q18, q17, q16, q15, q14, q13, …, root\n" in shown


def test_limits_and_what_is_borrowed(capsys):
    """A tenant has limits and a queue a capability; pods are no news beside what they hold."""
    view = scenario_view(
        """
scenario: a queue holds more than it deserves
world:
  clusters: [{name: m, nodes: [{allocatable: {cpu: 4, pods: 10}}]}]
  queues: [{name: q, deserved: {cpu: 1}, capability: {cpu: 3}}, {name: p}]
  tenants: [{name: t, namespaces: [default], spec: {limits: {cpu: 3}}}]
  jobs:
  - {name: r, queue: q, running: {cluster: m}, tasks: [{replicas: 3, requests: {cpu: 1}}]}
  - {name: j, queue: q, created: 1, tasks: [{requests: {cpu: 1}}]}
"""
    )
    job = find_job(view.state, "j", None)

    print_explanation(job, explain_workload(view.snapshot, view.policy, view.now, job.key), view)

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("queue", "entitled", "tenant"))] == [
        "queue     q: weight 1, holds cpu 3; dominant share 75.00% (cpu); capability cpu 3",
        "entitled  q deserves cpu 1, borrows cpu 2; above it: root",
        "tenant    t: weight 1, holds cpu 3; dominant share 75.00% (cpu); limits cpu 3",
    ]


def test_tables_of_a_world(capsys, monkeypatch):
    """One row per job, cluster, domain and queue, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    view = scenario_view()

    show_rows(list(jobs.rows_of(view)), jobs.COLUMNS, "table")
    show_rows(list(clusters.rows_of(view)), clusters.COLUMNS, "table")
    show_rows(list(topology.rows_of(view, "b")), topology.COLUMNS, "table")
    listed = queues.queue_rows(view)
    show_rows(listed, queues.list_columns(listed), "table")
    show_rows(queues.tenant_rows(view), queues.TENANT_COLUMNS, "table")

    assert capsys.readouterr().out == TABLES


def test_a_broad_terminal_shows_more_columns(capsys, monkeypatch):
    """What fits is shown, and the sentence at the end is cut to the line."""
    monkeypatch.setenv("COLUMNS", "160")
    show_rows(list(jobs.rows_of(scenario_view())), jobs.COLUMNS, "table")

    shown = capsys.readouterr().out
    assert shown == BROAD
    assert max(map(len, shown.splitlines())) == 160


def test_a_domain_lies_under_its_parent():
    """A tree is printed parents first, indented by depth, with the sums of what is below."""
    rows = list(topology.rows_of(scenario_view(), "a"))

    assert [(row["shown"], row["nodes"], row["free"]["nvidia.com/gpu"]) for row in rows] == [
        ("a-spine", 6, "48"),
        ("  a-1", 3, "24"),
        ("  a-2", 3, "24"),
    ]


@pytest.mark.parametrize(
    ("job", "namespace", "want"),
    [
        pytest.param(
            "too-wid",
            None,
            "no job 'too-wid' is scheduled by global-sched; did you mean too-wide?",
            id="a typing error",
        ),
        pytest.param(
            "zzz",
            "team",
            "no job 'zzz' in namespace team is scheduled by global-sched; is there a "
            "PropagationPolicy with schedulerName global-sched that selects it?",
            id="nothing like it",
        ),
        pytest.param(
            "rack",
            None,
            "'rack' names several jobs: Job default/rack-job, Job team/rack-job; "
            "use -n or the binding name",
            id="a name in two namespaces",
        ),
    ],
)
def test_jobs_that_cannot_be_found(job, namespace, want):
    """A wrong name is answered with what would help."""
    view = scenario_view(RACKS + "  - {name: rack, namespace: team}\n")

    with pytest.raises(click.ClickException) as caught:
        find_job(view.state, job, namespace)

    assert caught.value.message == want


@pytest.mark.parametrize("job", ["too-wide", "default/too-wide", "too-wide-job"])
def test_the_names_of_a_job(job):
    """A job is found by its name, namespace/name, or the name of its binding."""
    assert find_job(scenario_view().state, job, None).name == "too-wide"


def test_an_unknown_cluster_is_answered_with_the_known_ones():
    """`gsched topology` names the members that there are."""
    with pytest.raises(click.ClickException) as caught:
        list(topology.rows_of(scenario_view(), "c"))

    assert caught.value.message == "there is no member cluster 'c'; there are: a, b"


def test_what_has_no_namespace_is_named_without_one(capsys):
    """A PriorityClass is no `/urgent`."""
    view = scenario_view()
    one = replace(find_job(view.state, "rack", None), namespace="", key=workload_key("", "rack-x"))

    print_explanation(one, None, view)

    assert capsys.readouterr().out.startswith("Job rack is running\nbinding   rack-x\n")


def test_lost_pods_are_on_the_screen():
    """How many, and the last of them with its node and cause."""
    view = scenario_view()
    job = find_job(view.state, "rack", None)
    lost = PodLoss(
        at="2026-01-01T00:00:00Z", pod="rack-worker-0", node="b-1-0", cause="NodeLost", detail=""
    )
    progress = tuple(replace(one, losses=(lost,)) for one in job.progress)
    found = explain_workload(view.snapshot, view.policy, view.now, job.key)

    shown = lines(screen_of(replace(job, progress=progress), found, view), 100)

    [said] = [line for line in shown if line.startswith("lost")]
    assert said.startswith("lost      1 pod within 24 h, the last at 2026-01-01T00:00:00Z, ")
    assert said.endswith("rack-worker-0 on b-1-0 in b: NodeLost")


def test_a_job_that_cannot_be_whole_says_where_and_since_when():
    """For every kind: below its minimum, and the step of its recovery that is another program's."""
    job = find_job(scenario_view().state, "rack", None)
    told = {"below": Instant(60 * SECOND), "waits_at": "cluster"}
    progress = tuple(replace(one, **told) for one in job.progress)

    assert list(loss_lines(job)) == []
    assert list(loss_lines(replace(job, progress=progress))) == [
        "Below its minimum in b since 1970-01-01T00:01:00Z",
        "Its recovery in b waits for the scope cluster",
    ]
