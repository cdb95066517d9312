"""Pods: defaults, priority, binding, eviction, what an update may change, graceful deletion."""

import pytest

MERGE = "application/merge-patch+json"
PODS = "/api/v1/namespaces/team/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def pod(name="p", **spec):
    containers = [{"name": "c", "image": "registry.example/i:1"}]
    return {"metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def with_resources(**resources):
    container = {"name": "c", "image": "i:1", "resources": resources}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container]}}


@pytest.mark.parametrize(
    ("resources", "want_requests", "want_class"),
    [
        pytest.param({}, None, "BestEffort", id="nothing asked for is best effort"),
        pytest.param(
            {"requests": {"cpu": "1000m", "memory": "1024Mi"}},
            {"cpu": "1", "memory": "1Gi"},
            "Burstable",
            id="amounts are stored in their canonical spelling",
        ),
        pytest.param(
            {"limits": {"cpu": 2, "memory": "2Gi"}},
            {"cpu": "2", "memory": "2Gi"},
            "Guaranteed",
            id="limits alone are requests too, which is guaranteed",
        ),
        pytest.param(
            {"limits": {"nvidia.com/gpu": "8"}},
            {"nvidia.com/gpu": "8"},
            "BestEffort",
            id="devices do not count for the class",
        ),
    ],
)
async def test_requests_and_class(team, resources, want_requests, want_class):
    """Requests default to limits, and processor and memory alone decide the class."""
    reply = await team("POST", PODS, with_resources(**resources))

    assert reply.code == 201
    stored = reply.obj["spec"]["containers"][0]["resources"]
    assert stored.get("requests") == want_requests
    assert reply.obj["status"] == {"phase": "Pending", "qosClass": want_class}


async def test_priority_comes_from_the_class_or_the_default_one(team):
    """The class's value and policy are copied; without a class, the global default's are."""
    high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}
    low = {"metadata": {"name": "low"}, "value": 5, "globalDefault": True}
    await team("POST", CLASSES, high)
    await team("POST", CLASSES, low)

    named = await team("POST", PODS, pod("a", priorityClassName="high"))
    unnamed = await team("POST", PODS, pod("b"))

    keys = ("priorityClassName", "priority", "preemptionPolicy")
    assert [named.obj["spec"][key] for key in keys] == ["high", 1000, "Never"]
    assert [unnamed.obj["spec"][key] for key in keys] == ["low", 5, "PreemptLowerPriority"]


@pytest.mark.parametrize(
    ("spec", "want_code", "want_message"),
    [
        pytest.param(
            {"priorityClassName": "none"},
            403,
            'pods "p" is forbidden: no PriorityClass with name none was found',
            id="an unknown class is refused",
        ),
        pytest.param(
            {"priority": 7},
            403,
            'pods "p" is forbidden: the integer value of priority must not be provided in pod spec;'
            " priority admission controller computed 0 from the given PriorityClass name",
            id="a priority of one's own is refused",
        ),
        pytest.param(
            {"containers": []},
            422,
            'Pod "p" is invalid: spec.containers: Required value',
            id="a pod has containers",
        ),
        pytest.param(
            {"restartPolicy": "Maybe"},
            422,
            'Pod "p" is invalid: spec.restartPolicy: Unsupported value: "Maybe": supported values:'
            ' "Always", "OnFailure", "Never"',
            id="policies are of a closed set",
        ),
        pytest.param(
            {"priorityClassName": 3},
            400,
            'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go'
            " struct field PodSpec.spec.priorityClassName of type string",
            id="a number is no name",
        ),
    ],
)
async def test_refused_pods(team, spec, want_code, want_message):
    """A pod that cannot run is refused with the field and the reason."""
    reply = await team("POST", PODS, pod(**spec))

    assert (reply.code, reply.obj["message"]) == (want_code, want_message)


async def test_extended_resources_need_equal_limits(team):
    """A device is asked for by its limit; a request of its own must equal it."""
    alone = await team("POST", PODS, with_resources(requests={"nvidia.com/gpu": "1"}))
    less = await team(
        "POST",
        PODS,
        with_resources(requests={"nvidia.com/gpu": "1"}, limits={"nvidia.com/gpu": "2"}),
    )

    field = "spec.containers[0].resources"
    assert alone.obj["details"]["causes"][0]["field"] == f"{field}.limits"
    assert less.obj["details"]["causes"][0]["field"] == f"{field}.requests"


async def test_a_pod_is_bound_once(team):
    """Binding sets the node and the condition; a second one, or one to a deleted pod, is 409."""
    await team("POST", PODS, pod())
    target = {
        "metadata": {"name": "p", "annotations": {"a": "b"}},
        "target": {"kind": "Node", "name": "n1"},
    }

    first = await team("POST", f"{PODS}/p/binding", target)
    second = await team(
        "POST", f"{PODS}/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n2"}}
    )
    stored = (await team("GET", f"{PODS}/p")).obj

    assert (first.code, first.obj["status"]) == (201, "Success")
    assert (second.code, second.obj["reason"]) == (409, "Conflict")
    assert second.obj["message"] == (
        'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "n1"'
    )
    assert stored["spec"]["nodeName"] == "n1"
    assert stored["metadata"]["annotations"] == {"a": "b"}
    assert [(c["type"], c["status"]) for c in stored["status"]["conditions"]] == [
        ("PodScheduled", "True")
    ]


async def test_a_bound_pod_waits_for_its_keeper(team):
    """A bound pod is marked and stays for its grace; an unbound one goes at once."""
    await team("POST", PODS, pod("bound", nodeName="n1", terminationGracePeriodSeconds=7))
    await team("POST", PODS, pod("free"))

    bound = await team("DELETE", f"{PODS}/bound")
    free = await team("DELETE", f"{PODS}/free")
    rebind = await team(
        "POST", f"{PODS}/bound/binding", {"metadata": {"name": "bound"}, "target": {"name": "n2"}}
    )
    forced = await team("DELETE", f"{PODS}/bound", {"gracePeriodSeconds": 0})

    assert bound.obj["metadata"]["deletionGracePeriodSeconds"] == 7
    assert bound.obj["metadata"]["generation"] == 2
    assert free.obj["kind"] == "Pod"
    assert rebind.obj["message"].endswith(
        "pod bound is being deleted, cannot be assigned to a host"
    )
    assert forced.code == 200
    assert (await team("GET", f"{PODS}/free")).code == 404
    assert (await team("GET", f"{PODS}/bound")).code == 404


@pytest.mark.parametrize(
    ("patch", "want_code"),
    [
        pytest.param({"spec": {"nodeName": None}}, 422, id="a node is never taken back"),
        pytest.param({"spec": {"nodeName": "n2"}}, 422, id="nor is it changed"),
        pytest.param({"spec": {"schedulerName": "y"}}, 422, id="the scheduler is fixed"),
        pytest.param(
            {"spec": {"tolerations": None}}, 422, id="tolerations are added, never removed"
        ),
        pytest.param({"spec": {"activeDeadlineSeconds": 9}}, 200, id="a deadline may be set"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, 200, id="labels may be set"),
    ],
)
async def test_what_an_update_may_change(team, patch, want_code):
    """A pod's spec is fixed but for images, deadlines and added tolerations."""
    await team("POST", PODS, pod(nodeName="n1"))

    assert (await team("PATCH", f"{PODS}/p", patch, kind=MERGE)).code == want_code


async def test_status_writes_leave_the_spec(team):
    """The status subresource changes the status, keeps the class and ignores the spec."""
    await team("POST", PODS, pod())
    patch = {"status": {"phase": "Running", "qosClass": None}, "spec": {"nodeName": "n9"}}

    reply = await team("PATCH", f"{PODS}/p/status", patch, kind=MERGE)

    assert reply.obj["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert "nodeName" not in reply.obj["spec"]
    assert reply.obj["metadata"]["generation"] == 1


async def test_eviction_respects_budgets(team):
    """A running pod leaves only while its budget allows, and each eviction takes one away."""
    budgets = "/apis/policy/v1/namespaces/team/poddisruptionbudgets"
    selector = {"matchLabels": {"app": "a"}}
    await team("POST", budgets, {"metadata": {"name": "b"}, "spec": {"selector": selector}})
    await team("PATCH", f"{budgets}/b/status", {"status": {"disruptionsAllowed": 1}}, kind=MERGE)
    for name in ("x", "y"):
        body = pod(name)
        body["metadata"]["labels"] = {"app": "a"}
        await team("POST", PODS, body)
        await team("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running"}}, kind=MERGE)

    first = await team("POST", f"{PODS}/x/eviction", {"metadata": {"name": "x"}})
    second = await team("POST", f"{PODS}/y/eviction", {"metadata": {"name": "y"}})

    assert (first.code, second.code, second.obj["reason"]) == (201, 429, "TooManyRequests")
    assert second.obj["details"]["causes"][0]["reason"] == "DisruptionBudget"
