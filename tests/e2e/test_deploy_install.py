"""deploy/install.sh, which deploy/kind and the documentation use, on real API servers.

The member `west` plays the cluster that hosts Karmada as well; kwok says that the pods run.
"""

import os
import subprocess

import pytest
import yaml

from global_sched.embedded.access import DEPLOY

HOST = MEMBER = "west"
OURS = "app.kubernetes.io/part-of=global-sched"
LABELLED = "deployments,services,poddisruptionbudgets,networkpolicies,configmaps"


@pytest.fixture
def install(federation):
    def run(*arguments, **variables):
        known = {
            "KARMADA_KUBECONFIG": str(federation.kubeconfigs.admin),
            "HOST_KUBECONFIG": str(federation.kubeconfigs.members[HOST]),
            "KUBECTL": str(federation.tool("kubectl")),
        }
        return subprocess.run(
            [DEPLOY / "install.sh", *arguments],
            env=os.environ | known | variables,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


@pytest.fixture
def cleaned(federation, kubectl):
    """What was installed goes with the test; rights stay, the suite's programs need them."""
    yield
    member = federation.kubeconfigs.members[MEMBER]
    for namespace in ("karmada-system", "global-sched"):
        kubectl("-n", namespace, "delete", LABELLED, "-l", OURS, kubeconfig=member)
    kubectl("delete", "priorityclass", "-l", OURS, kubeconfig=member)
    kubectl("delete", "namespace", "karmada-system", kubeconfig=member)
    kubectl("-n", "global-sched", "delete", "secret", "--all", kubeconfig=member)
    for namespace in ("karmada-system", f"karmada-es-{MEMBER}"):
        kubectl("-n", namespace, "delete", "secret", "global-sched-token", "--ignore-not-found")
        kubectl("-n", namespace, "delete", "secret", "member-agent-token", "--ignore-not-found")
    for part in ("admission", "interpreter", "policies"):
        kubectl("delete", "-k", str(DEPLOY / part))


def test_everything_is_installed_and_the_credentials_work(
    federation, kubectl, install, cleaned, tmp_path
):
    """Twice: the second time nothing is in the way.

    The agents run Volcano Jobs, as those of this suite do: without, the rights would be taken away.
    """
    member = federation.kubeconfigs.members[MEMBER]
    given = {"IMAGE": "registry.example/gs:9", "VOLCANO_KINDS": "1", "RUN_VOLCANO_JOBS": "1"}
    for _ in range(2):
        done = install(f"{MEMBER}={member}", **given)
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[-1].startswith("installed: ")

    deployments = yaml.safe_load(
        kubectl("get", "deployments", "-A", "-l", OURS, "-o", "yaml", kubeconfig=member)
    )["items"]
    assert {
        one["metadata"]["name"]: one["spec"]["template"]["spec"]["containers"][0]["image"]
        for one in deployments
    } == {"global-sched": "registry.example/gs:9", "member-agent": "registry.example/gs:9"}

    text = kubectl(
        *("-n", "global-sched", "get", "configmap", "member-agent-settings"),
        *("-o", 'go-template={{index .data "settings.yaml"}}'),
        kubeconfig=member,
    )
    assert yaml.safe_load(text)["run_volcano_jobs"] is True
    bound = ("get", "clusterrolebinding", "member-agent-jobs", "-o", "name")
    assert kubectl(*bound, kubeconfig=member)

    for namespace, name, who in (
        ("karmada-system", "global-sched-kubeconfig", "karmada-system:global-sched"),
        ("global-sched", "member-agent-control-plane", f"karmada-es-{MEMBER}:member-agent"),
    ):
        path = tmp_path / name
        encoded = ("-o", "go-template={{.data.kubeconfig | base64decode}}")
        path.write_text(
            kubectl("-n", namespace, "get", "secret", name, *encoded, kubeconfig=member)
        )
        said = kubectl(
            "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", kubeconfig=path
        )
        assert said == f"system:serviceaccount:{who}"


@pytest.mark.parametrize(
    ("arguments", "variables", "want"),
    [
        pytest.param((), {}, "usage: ", id="no member is named"),
        pytest.param(("west",), {}, "'west' is not NAME=KUBECONFIG", id="no file is named"),
        pytest.param(
            ("west=/nowhere",), {}, "with a file that can be read", id="the file is not there"
        ),
        pytest.param(
            ("West=/dev/null",), {}, "'West=/dev/null' is not NAME=", id="no name of a Cluster"
        ),
        pytest.param(
            ("west=/dev/null",),
            {"KARMADA_KUBECONFIG": ""},
            "an administrator kubeconfig of the Karmada API server",
            id="no control plane is named",
        ),
    ],
)
def test_what_is_missing_is_said_before_anything_is_done(install, arguments, variables, want):
    """One line, and nothing was applied."""
    done = install(*arguments, **variables)

    assert done.returncode != 0
    assert want in done.stderr
    assert done.stdout == ""
