"""Adopting policies, way 3: the API server itself fills in our scheduler's name on creation.

MutatingAdmissionPolicy is served from Kubernetes 1.36 on; the servers here have it behind a gate.
"""

import json
import os
import subprocess

import pytest
import yaml

from global_sched.embedded.access import DEPLOY
from tests.e2e.bare import api_server
from tests.e2e.conftest import VERSION
from tests.e2e.waiting import until
from tests.e2e.world import policy
from tests.wire import deployment
from tools.local_karmada.build import module_folder
from tools.local_karmada.karmada_objects import karmada_definitions
from tools.local_karmada.tools import karmada

FLAGS = (
    "--feature-gates=MutatingAdmissionPolicy=true",
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
)
MANIFEST = DEPLOY / "optional/scheduler-name.yaml"
GROUP = "admissionregistration.k8s.io"


@pytest.fixture
def kubectl_there(federation, tmp_path):
    """Kubectl as the administrator of a server with the gate; without check, whatever it says."""
    with api_server(federation, tmp_path, *FLAGS, users={}) as paths:

        def run(*arguments, stdin=None):
            done = subprocess.run(
                [federation.tool("kubectl"), *arguments],
                env=os.environ | {"KUBECONFIG": str(paths["admin"])},
                input=stdin,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            return done.stdout + done.stderr

        yield run


async def test_a_policy_without_a_scheduler_gets_ours(kubectl_there):
    """Only in managed namespaces, and only where Karmada's own scheduler would have been meant."""
    definitions = yaml.safe_dump_all(
        one
        for one in karmada_definitions(module_folder(karmada(VERSION)))
        if one["spec"]["names"]["kind"] == "PropagationPolicy"
    )
    text = MANIFEST.read_text(encoding="utf-8").replace(f"{GROUP}/v1", f"{GROUP}/v1beta1")
    spaces = "".join(
        f"---\napiVersion: v1\nkind: Namespace\nmetadata: {json.dumps(meta)}\n"
        for meta in (
            {"name": "team", "labels": {"federation.global-sched.io/managed": "true"}},
            {"name": "free"},
        )
    )

    def installed():
        everything = f"{definitions}---\n{text}{spaces}"
        said = kubectl_there("apply", "--server-side", "-f", "-", stdin=everything)
        return said.count(" serverside-applied") == 5

    await until(installed, "everything is there")

    def made(name, namespace, scheduler):
        body = policy(deployment(name, namespace=namespace), scheduler=scheduler)
        if not scheduler:
            del body["spec"]["schedulerName"]
        answer = ("-o", "jsonpath={.spec.schedulerName}", "--dry-run=server")
        return kubectl_there("create", "-f", "-", *answer, stdin=json.dumps(body))

    await until(lambda: made("web", "team", "") == "global-sched", "the name is filled in")
    assert made("web", "team", "default-scheduler") == "global-sched"
    assert made("web", "team", "somebody-elses") == "somebody-elses"
    assert made("web", "free", "") == "default-scheduler"
