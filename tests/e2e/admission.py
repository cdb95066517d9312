"""A managed namespace with the shipped admission policies in force, and who tries what in it."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from bench.harness import ROOT, commit
from global_sched.embedded.access import DEPLOY
from tests.e2e.waiting import until
from tools.local_karmada.federation import Federation

Tool = Callable[..., str]
ADMISSION: Final = DEPLOY / "admission"
MANAGED: Final = "federation.global-sched.io/managed=true"


class Guarded:
    """A namespace, the accounts that try something in it, and the policies that refuse it."""

    def __init__(self, kubectl: Tool, space: str, tenant: Path) -> None:
        self._kubectl = kubectl
        self.space = space
        self._tenant = tenant

    def attempt(
        self, who: str, command: Sequence[str], body: Mapping[str, Any] | None = None
    ) -> str:
        """What kubectl answers to a user that tries this in the namespace.

        who: `tenant`, `admin`, or an account of the control plane as `namespace:name`. Accounts
        are impersonated, so that what a test tries is not taken for a request of our programs.
        """
        account = (f"--as=system:serviceaccount:{who}",) if ":" in who else ()
        return self._kubectl(
            "-n",
            self.space,
            *command,
            *account,
            kubeconfig=self._tenant if who == "tenant" else None,
            stdin=json.dumps(body) if body else None,
            check=False,
        )

    def passes(
        self, who: str, command: Sequence[str], body: Mapping[str, Any] | None = None
    ) -> bool:
        """Whether it would be accepted now; nothing is kept."""
        return accepted(self.attempt(who, (*command, "--dry-run=server"), body))

    def remove(self, policy: str) -> None:
        """Take a policy out of force; the server notices it a moment later."""
        self._kubectl("delete", "validatingadmissionpolicybinding", policy)


def noted(name: str, **figures: object) -> None:
    """Keep figures of a test in build/e2e for `python -m bench.page reliability/real`."""
    path = ROOT / "build" / "e2e" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps({'commit': commit()} | figures, indent=1)}\n", encoding="utf-8")


def accepted(said: str) -> bool:
    """Whether kubectl says that something was done."""
    return bool(set(said.split()) & {"created", "patched", "deleted"})


@asynccontextmanager
async def guarded(federation: Federation, kubectl: Tool, space: str) -> AsyncIterator[Guarded]:
    """The namespace managed, `alice` its editor, every policy in force; undone at the end."""
    kubectl("label", "namespace", space, MANAGED)
    kubectl("-n", space, "create", "rolebinding", "alice", "--clusterrole=edit", "--user=alice")
    writes = ("--verb=create,patch,update,delete", "--resource=waitinglists")
    kubectl("-n", space, "create", "role", "alice-lists", *writes)
    kubectl(
        "-n", space, "create", "rolebinding", "alice-lists", "--role=alice-lists", "--user=alice"
    )
    kubectl("apply", "--server-side", "--force-conflicts", "-k", str(ADMISSION))
    found = Guarded(kubectl, space, federation.user("alice"))
    try:
        await _in_force(found)
        yield found
    finally:
        # P3 stays: an API server that loses all policies of a kind of parameters finds none again.
        for path in sorted(ADMISSION.glob("*.yaml")):
            if path.stem not in ("kustomization", "terms"):
                kubectl("delete", "--ignore-not-found", "-f", str(path))


async def _in_force(found: Guarded) -> None:
    """Until each policy refuses what it must refuse; a dry run keeps nothing."""
    probes = (
        ("tenant", _work(), "global-sched-bindings"),
        ("tenant", _marked(), "global-sched-decisions"),
        ("tenant", _policy(), "global-sched-propagation"),
        ("admin", _report(), "global-sched-reports"),
        ("tenant", _waiting_list(), "global-sched-waiting-lists"),
    )
    for who, body, policy in probes:

        def refused(who: str = who, body: Any = body, policy: str = policy) -> bool:
            said = found.attempt(who, ("create", "-f", "-", "--dry-run=server"), body)
            return f"'{policy}'" in said

        await until(refused, f"{policy} is in force")


def policies() -> dict[str, dict[str, Any]]:
    """The shipped policies by name."""
    documents = (
        one
        for path in sorted(ADMISSION.glob("*.yaml"))
        for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    )
    return {
        one["metadata"]["name"]: one
        for one in documents
        if one["kind"] == "ValidatingAdmissionPolicy"
    }


def _work() -> dict[str, Any]:
    return {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": "probe"},
        "spec": {"workload": {"manifests": []}},
    }


def _marked() -> dict[str, Any]:
    meta = {"name": "probe", "annotations": {"decision.global-sched.io/plan": "{}"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}


def _policy() -> dict[str, Any]:
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "probe"},
        "spec": {"resourceSelectors": [selector], "placement": {}},
    }


def _waiting_list() -> dict[str, Any]:
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "WaitingList",
        "metadata": {"name": "waiting"},
        "total": 1,
    }


def _report() -> dict[str, Any]:
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "CapacityReport",
        "metadata": {"name": "probe"},
        "spec": {"cluster": "east"},
    }
