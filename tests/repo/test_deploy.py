"""Manifests of deploy/ are whole: files are used, pods are locked down, settings exist."""

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

from global_sched.cli.main import dashboard
from global_sched.embedded.access import DEPLOY
from global_sched.settings import Settings as GlobalSettings
from global_sched.settings import load_settings as load_global
from global_sched.shared.api import yaml_text
from global_sched.shared.api.names import GLOBAL_SCHEDULER, SYSTEM_NAMESPACE
from member_agent.settings import load_settings as load_agent

KUSTOMIZATIONS = sorted(DEPLOY.rglob("kustomization.yaml"))
ADMISSION = sorted(
    one for one in (DEPLOY / "admission").glob("*.yaml") if one.name != "kustomization.yaml"
)
SCRIPTS = sorted(DEPLOY.rglob("*.sh"))
PROGRAMS = {"global-sched": "global-sched/host", "member-agent": "member-agent"}
PLACEHOLDERS = ("policies", "tenants")
"""Manifests that people copy and fill in, and so belong to no base."""
SERVERS = {
    443: "a Service, and most managed control planes",
    5443: "karmada-apiserver, of karmadactl init, the chart and the operator",
    6443: "kubeadm and k3s",
    32443: "the node port at which `karmadactl init` serves the Karmada API server",
}
"""Where API servers listen, as they are installed."""


def objects(path):
    """The objects of a manifest."""
    return [one for one in yaml_text.read_all(path.read_text(encoding="utf-8")) if one]


def only(path, kind):
    """The one object of a kind in a manifest."""
    (found,) = [one for one in objects(DEPLOY / path) if one["kind"] == kind]
    return found


@pytest.mark.parametrize(
    "path", KUSTOMIZATIONS, ids=lambda one: one.parent.relative_to(DEPLOY).as_posix()
)
def test_a_base_names_what_is_there(path):
    """Every resource of a kustomization is a file or folder."""
    found = yaml_text.read(path.read_text(encoding="utf-8"))

    assert found["kind"] == "Kustomization"
    assert [one for one in found["resources"] if not (path.parent / one).exists()] == []


def test_every_manifest_is_in_a_base():
    """A manifest that no base names would never be applied."""
    named = {
        (path.parent / one).resolve()
        for path in KUSTOMIZATIONS
        for one in yaml_text.read(path.read_text(encoding="utf-8"))["resources"]
    }
    left_out = ("charts", "kind", "optional", *PLACEHOLDERS)
    manifests = {
        path.resolve()
        for path in DEPLOY.rglob("*.yaml")
        if path.name != "kustomization.yaml" and path.relative_to(DEPLOY).parts[0] not in left_out
    }

    assert sorted(manifests - named) == []


@pytest.mark.parametrize("program", PROGRAMS)
def test_pods_are_restricted(program):
    """What the Pod Security Standard `restricted` asks for, and a root that cannot be written."""
    pod = only(f"{PROGRAMS[program]}/deployment.yaml", "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] >= 10000
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    assert {volume["name"] for volume in pod["volumes"]} == {
        mount["name"] for mount in container["volumeMounts"]
    }


def test_the_dashboard_has_no_rights_of_its_own():
    """A restricted pod without any credential, whose command line the program accepts."""
    pod = only("optional/dashboard.yaml", "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = dict(one.removeprefix("--").split("=", 1) for one in container["args"])
    known = {one.removeprefix("--") for param in dashboard.params for one in param.opts}

    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert [volume for volume in pod["volumes"] if "configMap" not in volume] == []
    assert container["command"] == ["gsched", "dashboard"]
    assert {"server", "host", "certificate-authority"} <= set(options) <= known


@pytest.mark.parametrize("program", PROGRAMS)
def test_pods_have_probes_requests_and_a_memory_limit(program):
    """Each probe asks a path that the program serves, on the port that is named."""
    pod = only(f"{PROGRAMS[program]}/deployment.yaml", "Deployment")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    probes = {
        name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")
    }

    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startup": "/livez",
        "liveness": "/livez",
        "readiness": "/readyz",
    }
    assert {probe["port"] for probe in probes.values()} == {"metrics"}
    assert {"cpu", "memory"} <= set(container["resources"]["requests"])
    assert "memory" in container["resources"]["limits"]
    assert pod["priorityClassName"] == program


@pytest.mark.parametrize("program", PROGRAMS)
def test_everything_around_a_pod_finds_it(program):
    """Service, disruption budget and network policy select the labels of the pods."""
    folder = PROGRAMS[program]
    deployment = only(f"{folder}/deployment.yaml", "Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = [
        deployment["spec"]["selector"]["matchLabels"],
        only(f"{folder}/service.yaml", "Service")["spec"]["selector"],
        only(f"{folder}/disruption-budget.yaml", "PodDisruptionBudget")["spec"]["selector"][
            "matchLabels"
        ],
        only(f"{folder}/network-policy.yaml", "NetworkPolicy")["spec"]["podSelector"][
            "matchLabels"
        ],
    ]

    assert all(set(one.items()) <= set(labels.items()) for one in selectors)


def test_the_mounted_settings_can_be_loaded(tmp_path, monkeypatch):
    """Both hold settings that exist; probes and scrapes reach the port at the pod's addresses.

    The address is the Deployment's, as the probes are: a settings file without it, such as the
    copy of an older example, still gives a pod that can be probed.
    """
    monkeypatch.chdir(tmp_path)
    for folder in PROGRAMS.values():
        pod = only(f"{folder}/deployment.yaml", "Deployment")["spec"]["template"]["spec"]
        for variable in pod["containers"][0].get("env", ()):
            monkeypatch.setenv(variable["name"], variable["value"])
    texts = {
        program: only(f"{folder}/settings.yaml", "ConfigMap")["data"]["settings.yaml"]
        for program, folder in PROGRAMS.items()
    }
    for program, text in texts.items():
        Path(f"{program}.yaml").write_text(text.replace("MEMBER", "m1"), encoding="utf-8")

    scheduler = load_global(Path("global-sched.yaml"), {})
    agent = load_agent(Path("member-agent.yaml"), {})

    assert (scheduler.metrics_port, agent.metrics_port) == (8080, 8080)
    assert (scheduler.metrics_host, agent.metrics_host) == ("0.0.0.0", "0.0.0.0")
    assert scheduler.namespace == SYSTEM_NAMESPACE
    assert (agent.cluster, agent.namespace, agent.in_cluster) == ("m1", "global-sched", True)


def test_admission_speaks_of_the_accounts_and_names_that_rbac_and_settings_have():
    """Who the policies take for global-sched is who rbac.yaml gives rights to."""
    account = only("global-sched/rbac.yaml", "ServiceAccount")["metadata"]
    user = f"system:serviceaccount:{account['namespace']}:{account['name']}"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in ADMISSION}
    propagation = only("admission/propagation.yaml", "ValidatingAdmissionPolicy")
    (names,) = [v for v in propagation["spec"]["variables"] if v["name"] == "names"]

    assert {name for name, text in texts.items() if f'"{user}"' in text} == {
        "bindings",
        "decisions",
        "own-writes",
        "terms",
        "waiting-lists",
    }
    assert json.loads(names["expression"]) == list(GlobalSettings().scheduler_names)
    assert list(GlobalSettings().scheduler_names) == [GLOBAL_SCHEDULER]


@pytest.mark.parametrize("path", ADMISSION, ids=lambda p: p.stem)
def test_an_admission_policy_is_bound_and_fails_closed(path):
    """A policy without a binding does nothing; one that cannot be judged refuses."""
    policy, binding = objects(path)

    assert policy["spec"]["failurePolicy"] == "Fail"
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    assert binding["spec"]["validationActions"] == ["Deny"]
    # Parameters that an API server has lost let everything pass: only a second fence may have some.
    assert ("paramKind" in policy["spec"]) == (path.stem == "terms")
    for rule in policy["spec"]["validations"]:
        assert "message" in rule or "messageExpression" in rule


def test_only_our_own_identities_are_bound_outside_managed_namespaces():
    """Tenants of namespaces that are not managed notice nothing of us."""
    anywhere = set()
    for path in (DEPLOY / "admission").glob("*.yaml"):
        for one in objects(path):
            if one["kind"].endswith("PolicyBinding") and "matchResources" not in one["spec"]:
                anywhere.add(one["metadata"]["name"])

    assert anywhere == {
        "global-sched-own-writes",
        "global-sched-reports",
        "global-sched-terms",
        "global-sched-waiting-lists",
    }


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda one: one.name)
def test_a_script_stops_at_the_first_failure(path):
    """Strict mode, and it can be run."""
    text = path.read_text(encoding="utf-8")

    assert re.match(r"#!/usr/bin/env bash\n", text)
    assert "\nset -euo pipefail\n" in text
    assert os.access(path, os.X_OK)


def test_scripts_and_the_containerfile_pass_their_linters():
    """What shellcheck and hadolint, packages of the environment, say of them: nothing."""
    tools = Path(sysconfig.get_path("scripts"))
    checks = {
        "shellcheck": SCRIPTS,
        "hadolint": [DEPLOY / "images/Containerfile"],
    }
    for tool, paths in checks.items():
        done = subprocess.run(
            [tools / tool, *paths], capture_output=True, text=True, timeout=60, check=False
        )
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), tool


def test_the_image_has_what_the_pods_run():
    """The account of the pods, the default command, and the programs that they name."""
    text = (DEPLOY / "images/Containerfile").read_text(encoding="utf-8")
    pods = [
        only(f"{folder}/deployment.yaml", "Deployment")["spec"]["template"]["spec"]
        for folder in PROGRAMS.values()
    ]

    assert "\nUSER 10001:10001\n" in text
    assert {pod["securityContext"]["runAsUser"] for pod in pods} == {10001}
    assert [pod["containers"][0]["command"] for pod in pods] == [[name] for name in PROGRAMS]
    assert len({pod["containers"][0]["image"] for pod in pods}) == 1


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_network_policy_lets_programs_reach_api_servers_where_they_listen(program):
    """Names, the ports of API servers, and nothing else; the chart's values are the same."""
    policy = only(f"{PROGRAMS[program]}/network-policy.yaml", "NetworkPolicy")
    names, servers = policy["spec"]["egress"]
    (chart,) = objects(DEPLOY / "charts" / program / "values.yaml")

    assert {one["port"] for one in names["ports"]} == {53}
    assert servers == {"ports": [{"port": port, "protocol": "TCP"} for port in SERVERS]}
    assert chart["networkPolicy"]["serverPorts"] == servers["ports"]


def test_rights_to_run_volcano_jobs_are_no_part_of_the_agents_own():
    """The agent runs no Jobs unless a setting says so, and what it needs for that is asked for."""
    rights = "member-agent/jobs/rbac.yaml"
    base = DEPLOY / "member-agent"
    named = yaml_text.read((base / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
    bound = {
        one["roleRef"]["name"]
        for name in named
        for one in objects(base / name)
        if one["kind"] == "ClusterRoleBinding"
    }

    assert not load_agent(None, {"cluster": "m1"}).run_volcano_jobs
    assert bound == {"member-agent"}
    assert only(rights, "ClusterRoleBinding")["roleRef"]["name"] == "member-agent-jobs"
    for rule in only(rights, "ClusterRole")["rules"]:
        assert rule not in only("member-agent/member.yaml", "ClusterRole")["rules"]
