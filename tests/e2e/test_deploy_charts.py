"""The Helm charts and the kustomize bases install the same objects."""

import pytest
import yaml

from global_sched.embedded.access import DEPLOY
from tools.chart_table import CONTROL_PLANE, HOST, MEMBER
from tools.release import packed_chart

CHARTS = DEPLOY / "charts"
KUBERNETES = "1.35.4"
NAMESPACES = {CONTROL_PLANE: "karmada-system", HOST: "karmada-system", MEMBER: "global-sched"}
VALUES = {
    CONTROL_PLANE: ("--set", "members={member1}"),
    HOST: (),
    MEMBER: ("--set", "cluster=member1"),
}
BASES = {
    CONTROL_PLANE: ("control-plane", "examples/member1/control-plane"),
    HOST: ("global-sched/host",),
    MEMBER: ("examples/member1/member",),
}
HELM_ONLY = ("helm.sh/chart", "app.kubernetes.io/managed-by", "helm.sh/resource-policy")


def by_name(text):
    """Objects by what they are, without what only Helm writes."""
    found = {}
    for one in yaml.safe_load_all(text):
        if one is None:
            continue
        meta = one["metadata"]
        for part in ("labels", "annotations"):
            kept = {k: v for k, v in (meta.pop(part, None) or {}).items() if k not in HELM_ONLY}
            if kept:
                meta[part] = kept
        if one["kind"] == "ConfigMap":
            one["data"] = {key: value.strip() for key, value in one["data"].items()}
        name = (one["apiVersion"], one["kind"], meta.get("namespace", ""), meta["name"])
        assert name not in found
        found[name] = one
    return found


@pytest.fixture
def template(helm):
    def rendered(chart, *flags):
        common = ("-n", NAMESPACES[chart], "--kube-version", KUBERNETES)
        text = helm("template", "x", str(CHARTS / chart), *common, *VALUES[chart], *flags)
        return by_name(text)

    return rendered


@pytest.mark.parametrize("chart", sorted(BASES))
def test_charts_pass_helms_own_check(helm, chart):
    """`helm lint --strict` finds nothing."""
    assert "0 chart(s) failed" in helm("lint", "--strict", str(CHARTS / chart), *VALUES[chart])


@pytest.mark.parametrize("chart", sorted(BASES))
def test_a_chart_installs_what_kustomize_does(kubectl, template, chart):
    """Object by object; only a member's namespace is Helm's business (`--create-namespace`)."""
    want = {}
    for base in BASES[chart]:
        want |= by_name(kubectl("kustomize", str(DEPLOY / base)))
    want.pop(("v1", "Namespace", "", "global-sched"), None)

    assert template(chart) == want


@pytest.mark.parametrize("chart", sorted(BASES))
def test_helm_reads_a_chart_as_make_release_packs_it(helm, tmp_path, chart):
    """The archive renders the same text as the folder."""
    archive = tmp_path / "chart.tgz"
    archive.write_bytes(packed_chart(CHARTS / chart, 0))

    common = ("--kube-version", KUBERNETES, *VALUES[chart])
    said = [helm("template", "x", str(one), *common) for one in (archive, CHARTS / chart)]

    assert said[0] == said[1]


@pytest.mark.parametrize("chart", [HOST, MEMBER])
def test_values_reach_the_pods(template, chart):
    """What people change most: image, replicas, nodes, resources, the Secret, the class."""
    found = template(
        chart,
        *("--set", "replicas=3", "--set", "image.repository=registry.example/gs"),
        *("--set", "image.tag=1.2.3", "--set", "imagePullSecrets[0].name=pull"),
        *("--set", "nodeSelector.pool=system", "--set", "tolerations[0].key=system"),
        *("--set", "resources.requests.cpu=2", "--set", "kubeconfigSecret=mine"),
        *("--set", "priorityClass.create=false", "--set", "priorityClass.name=other"),
        *("--set", "networkPolicy.enabled=false", "--set", "podDisruptionBudget.enabled=false"),
    )
    kinds = {kind for _, kind, _, _ in found}
    (deployment,) = (one for (_, kind, _, _), one in found.items() if kind == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert not kinds & {"NetworkPolicy", "PodDisruptionBudget", "PriorityClass"}
    assert deployment["spec"]["replicas"] == 3
    assert container["image"] == "registry.example/gs:1.2.3"
    assert container["resources"]["requests"]["cpu"] == 2
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "pool": "system"}
    assert pod["tolerations"] == [{"key": "system"}]
    assert pod["priorityClassName"] == "other"
    assert "mine" in [volume.get("secret", {}).get("secretName") for volume in pod["volumes"]]


def test_settings_reach_the_programs(template):
    """Settings are values; the member's name and namespace are added to the agent's."""
    agent = template(MEMBER, "--set", "settings.run_volcano_jobs=true", "-n", "elsewhere")
    scheduler = template(HOST, "--set", "settings.policy.placement_timeout_seconds=60")
    texts = [
        yaml.safe_load(found[("v1", "ConfigMap", namespace, name)]["data"]["settings.yaml"])
        for found, namespace, name in (
            (agent, "elsewhere", "member-agent-settings"),
            (scheduler, "karmada-system", "global-sched-settings"),
        )
    ]

    assert texts == [
        {
            "cluster": "member1",
            "in_cluster": True,
            "metrics_port": 8080,
            "namespace": "elsewhere",
            "run_volcano_jobs": True,
        },
        {
            "metrics_port": 8080,
            "namespace": "karmada-system",
            "policy": {"placement_timeout_seconds": 60},
        },
    ]


def test_the_rights_to_run_jobs_are_bound_where_the_agent_runs_them(kubectl, template):
    """One setting for both; with it the chart has what kustomize has for it."""
    jobs = by_name(kubectl("kustomize", str(DEPLOY / "member-agent/jobs")))
    on = template(MEMBER, "--set", "settings.run_volcano_jobs=true")
    off = template(MEMBER, "--set", "settings.run_volcano_jobs=false")

    assert {name for _, _, _, name in jobs} == {"member-agent-jobs"}
    assert on.keys() - off.keys() == jobs.keys()
    assert {key: on[key] for key in jobs} == jobs
    assert off.keys() == template(MEMBER).keys()


@pytest.mark.parametrize("chart", [HOST, MEMBER])
def test_metrics_can_be_served_at_another_address(template, chart):
    """The setting reaches the pod, though a variable of the Deployment wins over settings."""
    found = template(chart, "--set", "settings.metrics_host=::")
    (deployment,) = (one for (_, kind, _, _), one in found.items() if kind == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert [one["value"] for one in container["env"]] == ["::"]


def test_parts_of_the_control_plane_can_be_left_out(template):
    """Without CRDs, admission, customizations and policies only the rights are left."""
    off = ("crds.install", "admission.enabled", "propagation.priorityClasses")
    names = ("volcanoJob", "volcanoQueue", "jobSet", "trainJob", "tenant")
    customs = [f"interpreter.{one}" for one in names]
    flags = [flag for one in (*off, *customs) for flag in ("--set", f"{one}=false")]

    assert sorted({kind for _, kind, _, _ in template(CONTROL_PLANE, *flags)}) == [
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ServiceAccount",
    ]


def test_admission_speaks_of_the_names_that_are_given(template):
    """More scheduler names and writers, and the account of the namespace that is installed into."""
    found = template(
        CONTROL_PLANE,
        *("--set", "admission.schedulerNames={global-sched,default-scheduler}"),
        *("--set", "admission.bindingWriters={backup}", "-n", "scheduling"),
    )

    kind = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "")
    variables = {
        one["name"]: one["expression"]
        for name in ("bindings", "propagation")
        for one in found[(*kind, f"global-sched-{name}")]["spec"]["variables"]
    }

    assert variables["scheduler"] == '"system:serviceaccount:scheduling:global-sched"'
    assert variables["writers"] == '["backup"]'
    assert variables["groups"] == '["system:masters"]'
    assert variables["names"] == '["global-sched", "default-scheduler"]'


@pytest.mark.parametrize(
    ("chart", "flags", "want"),
    [
        pytest.param(HOST, "replica=3", "replica", id="a value that does not exist"),
        pytest.param(HOST, "replicas=many", "replicas", id="a value of the wrong type"),
        pytest.param(
            MEMBER, "cluster=M_1", "cluster", id="a name that no Karmada Cluster can have"
        ),
        pytest.param(MEMBER, "cluster=", "set cluster to the name", id="no name at all"),
        pytest.param(CONTROL_PLANE, "members={a,a}", "members", id="a member twice"),
    ],
)
def test_a_bad_value_is_refused_by_name(template, chart, flags, want):
    """Helm says which value is wrong before anything is sent."""
    with pytest.raises(AssertionError, match=want):
        template(chart, "--set", flags)
