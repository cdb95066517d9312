"""Pod specs to shapes."""

import pytest

from global_sched.shared.api.base import LabelSelectorRequirement
from global_sched.shared.api.core import (
    Affinity,
    Container,
    ContainerPort,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodAffinityTerm,
    PodAntiAffinity,
    PodSpec,
    ResourceRequirements,
    TolerationWire,
)
from global_sched.shared.model.pods import Effect, Operator, Requirement, Toleration
from global_sched.shared.placement import SpecError, shape_of


def container(requests=None, limits=None, *, always=False, ports=None):
    return Container(
        resources=ResourceRequirements(requests=requests, limits=limits),
        restart_policy="Always" if always else None,
        ports=ports,
    )


def spec(*containers, **more):
    return PodSpec(containers=list(containers) or [container({"cpu": "1"})], **more)


def node_affinity(*terms):
    selector = NodeSelector(node_selector_terms=list(terms))
    return Affinity(
        node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector)
    )


def term(*expressions, fields=None):
    return NodeSelectorTerm(match_expressions=list(expressions), match_fields=fields)


def expression(key, operator, *values):
    return LabelSelectorRequirement(key=key, operator=operator, values=list(values) or None)


def apart(key):
    terms = [PodAffinityTerm(topology_key=key)]
    return Affinity(
        pod_anti_affinity=PodAntiAffinity(required_during_scheduling_ignored_during_execution=terms)
    )


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(
            spec(container({"cpu": "500m", "memory": "1Gi"}), container({"cpu": "1.5"})),
            {"cpu": 2000, "memory": 2**30, "pods": 1},
            id="containers add up",
        ),
        pytest.param(
            spec(container({"cpu": "1"}, {"cpu": "4", "nvidia.com/gpu": "8"})),
            {"cpu": 1000, "nvidia.com/gpu": 8, "pods": 1},
            id="a limit stands in for a missing request",
        ),
        pytest.param(
            spec(container({"cpu": "1"}), init_containers=[container({"cpu": "3"})]),
            {"cpu": 3000, "pods": 1},
            id="an init container counts when it is larger",
        ),
        pytest.param(
            spec(
                container({"cpu": "1"}),
                init_containers=[
                    container({"cpu": "1"}, always=True),
                    container({"cpu": "2"}),
                ],
            ),
            {"cpu": 3000, "pods": 1},
            id="a sidecar runs beside later init containers",
        ),
        pytest.param(
            spec(
                container({"cpu": "2"}),
                init_containers=[
                    container({"cpu": "2"}),
                    container({"cpu": "1"}, always=True),
                ],
            ),
            {"cpu": 3000, "pods": 1},
            id="a sidecar runs beside the containers",
        ),
        pytest.param(
            spec(container({"cpu": "1"}), overhead={"cpu": "250m", "memory": 1024}),
            {"cpu": 1250, "memory": 1024, "pods": 1},
            id="overhead is added",
        ),
        pytest.param(
            spec(
                container({"cpu": "1", "nvidia.com/gpu": "1"}),
                resources=ResourceRequirements(requests={"cpu": "4", "memory": "1Gi"}),
                init_containers=[container({"cpu": "2"})],
                overhead={"cpu": "250m"},
            ),
            {"cpu": 4250, "memory": 2**30, "nvidia.com/gpu": 1, "pods": 1},
            id="what the pod itself requests stands for its containers",
        ),
        pytest.param(
            spec(
                container({"cpu": "1"}),
                resources=ResourceRequirements(limits={"cpu": "4", "memory": "1Gi"}),
            ),
            {"cpu": 1000, "memory": 2**30, "pods": 1},
            id="a limit of the pod does where nothing is requested",
        ),
        pytest.param(spec(container()), {"pods": 1}, id="no requests: one pod"),
    ],
)
def test_effective_requests(pod, want):
    """Requests are what the node must have free, init sequence and overhead included."""
    assert dict(shape_of(pod).requests.entries) == want


@pytest.mark.parametrize(
    ("pod", "want_field", "want_reason"),
    [
        pytest.param(
            spec(container({"cpu": "NaN"})),
            "containers[0].resources.requests.cpu",
            "is not a quantity",
            id="not a number",
        ),
        pytest.param(
            spec(container({"memory": "1e200000"})),
            "containers[0].resources.requests.memory",
            "out of range",
            id="an absurd exponent",
        ),
        pytest.param(
            spec(container(None, {"cpu": "-1"})),
            "containers[0].resources.limits.cpu",
            "is negative",
            id="a negative limit",
        ),
        pytest.param(
            spec(*[container({"memory": str(2**61)})] * 3),
            "containers",
            "beyond what any node can have",
            id="a sum that overflows",
        ),
        pytest.param(
            spec(resources=ResourceRequirements(requests={"cpu": "much"})),
            "resources.requests.cpu",
            "is not a quantity",
            id="a request of the pod that is no number",
        ),
        pytest.param(PodSpec(), "containers", "is empty", id="no containers"),
        pytest.param(
            spec(affinity=node_affinity(term(expression("k", "Near", "x")))),
            "affinity.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator",
            "is none of In",
            id="an unknown operator",
        ),
        pytest.param(
            spec(affinity=node_affinity(term(expression("k", "In")))),
            "affinity.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values",
            "is empty",
            id="In without values",
        ),
        pytest.param(
            spec(affinity=node_affinity(term(expression("k", "Gt", "many")))),
            "affinity.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values",
            "must be one whole number",
            id="Gt without a number",
        ),
        pytest.param(
            spec(affinity=node_affinity(term(fields=[expression("metadata.name", "In", "n")]))),
            "affinity.nodeAffinity.required.nodeSelectorTerms[0].matchFields",
            "kubernetes.io/hostname",
            id="matchFields names what to use instead",
        ),
        pytest.param(
            spec(affinity=node_affinity(term())),
            "affinity.nodeAffinity.required.nodeSelectorTerms",
            "matches no node",
            id="only an empty term",
        ),
        pytest.param(
            spec(affinity=apart("topology.kubernetes.io/zone")),
            "affinity.podAntiAffinity.required[0].topologyKey",
            "preferred form",
            id="required spreading over zones",
        ),
        pytest.param(
            spec(tolerations=[TolerationWire(key="k", operator="Maybe")]),
            "tolerations[0].operator",
            "is none of Equal, Exists",
            id="an unknown toleration operator",
        ),
    ],
)
def test_bad_specs(pod, want_field, want_reason):
    """A spec that cannot be placed is refused with the field and what is wrong."""
    with pytest.raises(SpecError) as caught:
        shape_of(pod)

    assert caught.value.field == want_field
    assert want_reason in caught.value.reason


def test_selectors_and_affinity_are_canonical():
    """Order in the spec does not matter, and empty terms match nothing."""
    pod = spec(
        node_selector={"b": "2", "a": "1"},
        affinity=node_affinity(
            term(expression("z", "Exists"), expression("k", "In", "y", "x", "y")), term()
        ),
    )

    shape = shape_of(pod)

    assert shape.selector == (("a", "1"), ("b", "2"))
    assert shape.affinity == (
        (Requirement("k", Operator.IN, ("x", "y")), Requirement("z", Operator.EXISTS)),
    )


def test_tolerations():
    """What the API server adds to pods for nodes that are not ready makes no difference."""
    mine = TolerationWire(key="team", value="a", effect="NoSchedule")
    added = [
        TolerationWire(key=f"node.kubernetes.io/{what}", operator="Exists", effect="NoExecute",
                       toleration_seconds=300)
        for what in ("not-ready", "unreachable")
    ]  # fmt: skip

    assert shape_of(spec(tolerations=[mine])) == shape_of(spec(tolerations=[*added, mine]))
    assert shape_of(spec(tolerations=[mine])).tolerations == (
        Toleration("team", exists=False, value="a", effect=Effect.NO_SCHEDULE),
    )


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(spec(affinity=apart("kubernetes.io/hostname")), True, id="by anti-affinity"),
        pytest.param(spec(container(ports=[ContainerPort(host_port=80)])), True, id="by host port"),
        pytest.param(spec(container(ports=[ContainerPort(container_port=80)])), False, id="not so"),
    ],
)
def test_one_per_node(pod, want):
    """Anti-affinity on the host name and host ports mean one pod of the set per node."""
    assert shape_of(pod).anti_affine is want
