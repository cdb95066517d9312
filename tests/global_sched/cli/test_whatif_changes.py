"""`gsched whatif` with what jobs share: a Queue, a Tenant, a PriorityClass, a Policy alone."""

import json

import pytest
import yaml

from global_sched.cli.whatif import live_trial, show_trial
from global_sched.cli.where import Where
from global_sched.core import run_cycle
from global_sched.embedded.federation import Federation, running
from global_sched.scenario import ScenarioError
from global_sched.shared.api.names import POLICY_CONFIG_MAP
from global_sched.shared.api.resource import QUEUES
from global_sched.shared.clock import LoopClock
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.values import to_json
from global_sched.view.changes import changes
from global_sched.view.trial import applied, read_trial, tried
from tests.global_sched.cli.worlds import scenario_view
from tests.virtual_time import virtual_time

LIMITED = """\
scenario: a queue at its limit beside one that lends
world:
  clusters:
  - name: a
    nodes: [{count: 4, allocatable: {cpu: 8, pods: 110}}]
  queues:
  - {name: small, capability: {cpu: 8}}
  - {name: big, weight: 1}
  jobs:
  - {name: first, queue: small, tasks: [{replicas: 1, requests: {cpu: 8}}], created: 1}
  - {name: second, queue: small, tasks: [{replicas: 1, requests: {cpu: 8}}], created: 2}
  - {name: lent, queue: big, tasks: [{replicas: 3, requests: {cpu: 8}}], created: 3}
"""
QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "small"},
    "spec": {"weight": 1},
}
TENANT = {
    "apiVersion": "federation.global-sched.io/v1alpha1",
    "kind": "Tenant",
    "metadata": {"name": "team"},
    "spec": {"namespaces": ["default"], "queues": ["big"]},
}


def fates(text, *documents):
    """What would be otherwise, by job: now, then."""
    view = scenario_view(text)
    trial = read_trial(documents)
    tried(view, [], trial.manifests)
    plan = run_cycle(view.state.snapshot(), trial.policy or view.policy, view.now)
    found = changes(view.plan, plan, view.state.workloads(), frozenset())
    return {row["name"]: (row["now"], row["then"]) for row in found}


def queue(**spec):
    return QUEUE | {"spec": QUEUE["spec"] | spec}


def test_a_queue_alone_says_who_would_start():
    """A larger limit lets in the next one, if there is room; the jobs that run stay as they are."""
    text = LIMITED.replace("replicas: 3", "replicas: 2")

    assert fates(text, queue(capability={"cpu": "16"})) == {
        "second": ("waits, 1 in its queue: QueueCapability", "starts in a")
    }


def test_a_queue_alone_says_who_would_have_to_leave():
    """What a queue deserves more it takes back: the borrower's job leaves, its own job waits."""
    found = fates(LIMITED, queue(deserved={"cpu": "16"}, capability={"cpu": "16"}))

    assert found["lent"] == ("stays in a", "leaves a")
    assert found["second"][0] == "waits, 1 in its queue: QueueCapability"
    assert "first" not in found


def test_a_tenant_alone_says_who_may_not_wait_there_any_more():
    """A tenant that may not use a queue: its job that waits says so, in place of the limit."""
    assert fates(LIMITED, TENANT) == {
        "second": (
            "waits, 1 in its queue: QueueCapability",
            "waits, 1 in its queue: QueueNotAllowed",
        )
    }


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"policy": {"pod_kinds": []}}, id="settings"),
        pytest.param(
            {
                "kind": "ConfigMap",
                "metadata": {"name": "global-sched-settings"},
                "data": {"settings.yaml": "policy: {pod_kinds: []}\n"},
            },
            id="the ConfigMap with the settings",
        ),
        pytest.param(
            {
                "kind": "ConfigMap",
                "metadata": {"name": POLICY_CONFIG_MAP},
                "data": {"policy.json": to_json(Policy()).decode()},
            },
            id="the ConfigMap that the leader publishes",
        ),
    ],
)
def test_a_policy_is_read_from_what_people_have(document):
    """Each of the three says the whole Policy: what it does not name has its default."""
    trial = read_trial([document])

    assert (trial.policy, trial.manifests, trial.shares) == (Policy(), (), True)


def test_another_config_map_is_no_policy():
    """It is a template as any other."""
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}

    trial = read_trial([other])

    assert (trial.manifests, trial.policy, trial.shares) == ((other,), None, False)


def test_a_policy_that_cannot_be_used_is_named():
    """The setting, the reason, what there is."""
    with pytest.raises(ScenarioError, match=r"policy\.pod_kindz is no setting; there are"):
        read_trial([{"policy": {"pod_kindz": []}}])


KEPT = """\
scenario: a guarantee that its queue does not use
world:
  clusters:
  - {name: a, nodes: [{count: 2, allocatable: {cpu: 8, pods: 110}}]}
  queues:
  - {name: quiet, guarantee: {cpu: 8}}
  - {name: busy}
  jobs:
  - {name: one, queue: busy, tasks: [{replicas: 1, requests: {cpu: 8}}], created: 1}
  - {name: two, queue: busy, tasks: [{replicas: 1, requests: {cpu: 8}}], created: 2}
"""


@pytest.mark.parametrize(
    ("settings", "want"),
    [
        pytest.param(
            {"lend_guarantees": True},
            {"two": ("waits, 1 in its queue: GuaranteeReserved", "starts in a")},
            id="lending lets the next one in",
        ),
        pytest.param({"lend_guarantees": False}, {}, id="the Policy that is in force"),
    ],
)
def test_a_policy_alone_says_what_it_changes(settings, want):
    """The jobs that wait and run are decided on by the other Policy."""
    assert fates(KEPT, {"policy": settings}) == want


@pytest.mark.parametrize(
    ("name", "data", "want"),
    [
        pytest.param(
            "global-sched-settings",
            {"settings.yaml": "policy: [1"},
            "ConfigMap global-sched-settings: data.settings.yaml: not YAML: ",
            id="broken YAML",
        ),
        pytest.param(
            "global-sched-settings",
            {"settings.yaml": "- a"},
            "ConfigMap global-sched-settings: data.settings.yaml is not an object",
            id="a list of settings",
        ),
        pytest.param(
            "global-sched-policy",
            {"policy.json": "{"},
            "ConfigMap global-sched-policy: data.policy.json: not YAML: ",
            id="broken JSON",
        ),
        pytest.param(
            "global-sched-policy",
            "nothing",
            "ConfigMap global-sched-policy: data is not an object",
            id="data that is a text",
        ),
    ],
)
def test_a_config_map_that_cannot_be_read_is_named(name, data, want):
    """The ConfigMap, the field, the reason."""
    with pytest.raises(ScenarioError) as caught:
        read_trial([{"kind": "ConfigMap", "metadata": {"name": name}, "data": data}])

    assert str(caught.value).startswith(want)


@pytest.mark.parametrize("last", ["{", "[1]", '"x"'])
def test_a_last_version_that_cannot_be_read_is_named(last):
    """The object, the annotation, and what helps."""
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": last}
    live = {"metadata": {"name": "gold", "annotations": annotations}}

    with pytest.raises(ScenarioError, match=r"^Queue gold: its annotation .*; remove it$"):
        applied(live, {"kind": "Queue", "metadata": {"name": "gold"}})


def test_applying_again_keeps_what_only_the_live_object_has():
    """As kubectl: what the last manifest had and this one has not goes; status and others stay."""
    last = {"metadata": {"name": "q"}, "spec": {"weight": 1, "capability": {"cpu": "8"}}}
    live = {
        "metadata": {
            "name": "q",
            "uid": "u",
            "resourceVersion": "7",
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": json.dumps(last),
                "federation.global-sched.io/past-usage": "x",
            },
        },
        "spec": {"weight": 1, "capability": {"cpu": "8"}, "reclaimable": True},
        "status": {"state": "Closed"},
    }

    found = applied(live, {"metadata": {"name": "q"}, "spec": {"weight": 3}})

    assert found["spec"] == {"weight": 3, "reclaimable": True}
    assert found["status"] == {"state": "Closed"}
    assert found["metadata"]["uid"] == "u"
    assert "resourceVersion" not in found["metadata"]
    assert found["metadata"]["annotations"]["federation.global-sched.io/past-usage"] == "x"
    assert yaml.safe_dump(live)  # the live object is not changed by it
    assert live["spec"]["capability"] == {"cpu": "8"}


@pytest.mark.slow
@virtual_time
async def test_a_queue_on_a_control_plane(capsys):
    """The live object is read, changed as kubectl would, and not written."""
    clock = LoopClock()
    federation = Federation([], clock=clock)
    trial = read_trial([queue(weight=3)])
    async with running(federation):
        client = federation.client()
        await client.create(QUEUES, QUEUE | {"spec": {"weight": 1, "priority": 7}})
        view, keys = await live_trial(client, clock, Where(kubeconfig=None), trial)
        show_trial(view, keys, trial, "table")
        stored = await client.get(QUEUES, "small")

    [found] = [one for one in view.state.snapshot().queues if one.name == "small"]
    assert (found.weight, found.priority) == (3, 7)
    assert stored["spec"]["weight"] == 1
    assert keys == {}
    assert capsys.readouterr().out.splitlines()[1:] == [
        "",
        "the next cycle would do the same with every job that waits or runs",
    ]
