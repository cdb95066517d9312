"""Manifests by the chart template that they become.

There are three charts, because there are three API servers: Karmada's, that of the cluster which
hosts Karmada, and each member's. A Helm release speaks to one of them.
"""

from collections.abc import Mapping
from typing import Any, Final

from global_sched.shared.kinds.crds import CRD_KINDS
from tools.charts import NEVER, Template, render

OURS: Final = "federation.global-sched.io"
CONTROL_PLANE: Final = "global-sched-control-plane"
HOST: Final = "global-sched"
MEMBER: Final = "member-agent"

_SYSTEM: Final = {"karmada-system": "{{ .Release.Namespace }}"}
_POD: Final = {
    "replicas": "{{ .Values.replicas }}",
    "image": "{{ .Values.image.repository }}:{{ .Values.image.tag }}",
    "imagePullPolicy": "{{ .Values.image.pullPolicy }}",
    "imagePullSecrets": "{{ toJson .Values.imagePullSecrets }}",
    "nodeSelector": "{{ toJson .Values.nodeSelector }}",
    "tolerations": "{{ toJson .Values.tolerations }}",
    "affinity": "{{ toJson .Values.affinity }}",
    "resources": "{{ toJson .Values.resources }}",
    "priorityClassName": "{{ .Values.priorityClass.name }}",
}
_PORTS: Final = {
    "[{port: 443, protocol: TCP}, {port: 5443, protocol: TCP}, {port: 6443, protocol: TCP}, "
    "{port: 32443, protocol: TCP}]": ("{{ toJson .Values.networkPolicy.serverPorts }}"),
    "[{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]": (
        "{{ toJson .Values.networkPolicy.metricsFrom }}"
    ),
}

_WRITERS: Final = """\
      ["system:karmada:karmada-controller-manager",
      "system:karmada:karmada-scheduler",
      "system:karmada:karmada-descheduler",
      "system:kube-controller-manager",
      "system:serviceaccount:kube-system:generic-garbage-collector",
      "system:serviceaccount:kube-system:namespace-controller"]"""
"""As the manifests have the list; what replaces it is one line."""


def texts(generated: Mapping[str, str]) -> dict[str, str]:
    """Every template by its path, given the CRDs by theirs."""
    return {
        f"deploy/charts/{chart}/templates/{name}": render(template, generated=generated)
        for chart, templates in CHARTS.items()
        for name, template in templates.items()
    }


def _listed(name: str) -> str:
    """A list of names as CEL has it."""
    return f'["{{{{ join "\\", \\"" .Values.admission.{name} }}}}"]'


def _crds() -> dict[str, Template]:
    keep = "metadata:\n  annotations: {helm.sh/resource-policy: keep}\n  name: "
    return {
        f"crd-{kind.resource.plural}.yaml": Template(
            source=f"crds/{kind.file_name}",
            words={"metadata:\n  name: ": keep},
            when=".Values.crds.install",
        )
        for kind in CRD_KINDS
        if kind.resource.group == OURS
    }


def _admission() -> dict[str, Template]:
    groups = {'["system:masters"]': _listed("trustedGroups")}
    writers = {_WRITERS: "      " + _listed("bindingWriters")}
    words: dict[str, dict[str, str]] = {
        "bindings": _SYSTEM | groups | writers,
        "own-writes": _SYSTEM,
        "terms": _SYSTEM,
        "decisions": _SYSTEM | groups,
        "propagation": {'["global-sched"]': _listed("schedulerNames")} | groups | writers,
        "reports": {},
        "waiting-lists": _SYSTEM | groups,
    }
    return {
        f"admission-{name}.yaml": Template(
            source=f"deploy/admission/{name}.yaml", words=found, when=".Values.admission.enabled"
        )
        for name, found in words.items()
    }


def _interpreter() -> dict[str, Template]:
    values = {
        "volcano-job": "volcanoJob",
        "volcano-queue": "volcanoQueue",
        "job-set": "jobSet",
        "train-job": "trainJob",
        "tenant": "tenant",
    }
    return {
        f"interpreter-{name}.yaml": Template(
            source=f"deploy/interpreter/{name}.yaml", when=f".Values.interpreter.{value}"
        )
        for name, value in values.items()
    }


def _control_plane() -> dict[str, Template]:
    return {
        **_crds(),
        "rbac.yaml": Template(source="deploy/global-sched/rbac.yaml", words=_SYSTEM),
        **_admission(),
        **_interpreter(),
        "policy-priority-classes.yaml": Template(
            source="deploy/policies/priority-classes.yaml",
            when=".Values.propagation.priorityClasses",
        ),
        "policy-volcano-queues.yaml": Template(
            source="deploy/policies/volcano-queues.yaml", when=".Values.propagation.volcanoQueues"
        ),
        "members.yaml": Template(
            source="deploy/member-agent/control-plane/access.yaml",
            words={"karmada-es-MEMBER": "karmada-es-{{ $item }}"},
            each=".Values.members",
        ),
    }


def _program(folder: str, namespace: str, secret: str) -> dict[str, Template]:
    """What both programs have: pods, and what surrounds them."""
    at = {f"namespace: {namespace}": "namespace: {{ .Release.Namespace }}"}

    def template(name: str, **more: Any) -> Template:
        words = {**at, **more.pop("words", {})}
        return Template(source=f"{folder}/{name}.yaml", words=words, **more)

    return {
        "priority-class.yaml": Template(
            source=f"{folder}/priority-class.yaml",
            lines={"name": "{{ .Values.priorityClass.name }}"},
            when=".Values.priorityClass.create",
        ),
        "deployment.yaml": template(
            "deployment",
            words={
                f"secretName: {secret}": "secretName: {{ .Values.kubeconfigSecret }}",
                "value: 0.0.0.0": (
                    'value: {{ .Values.settings.metrics_host | default "0.0.0.0" | quote }}'
                ),
            },
            lines=_POD,
        ),
        "service.yaml": template("service"),
        "disruption-budget.yaml": template(
            "disruption-budget", when=".Values.podDisruptionBudget.enabled"
        ),
        "network-policy.yaml": template(
            "network-policy", words=_PORTS, when=".Values.networkPolicy.enabled"
        ),
    }


def _host() -> dict[str, Template]:
    folder = "deploy/global-sched/host"
    return {
        **_program(folder, "karmada-system", "global-sched-kubeconfig"),
        "service-account.yaml": Template(source=f"{folder}/service-account.yaml", words=_SYSTEM),
        "settings.yaml": Template(
            source=f"{folder}/settings.yaml",
            words={
                "    metrics_port: 8080\n    namespace: karmada-system": (
                    "{{ toYaml .Values.settings | indent 4 }}"
                ),
                **_SYSTEM,
            },
        ),
    }


def _member() -> dict[str, Template]:
    folder = "deploy/member-agent"
    own = {"namespace: global-sched": "namespace: {{ .Release.Namespace }}"}
    return {
        **_program(folder, "global-sched", "member-agent-control-plane"),
        "rbac.yaml": Template(
            source=f"{folder}/member.yaml",
            words=own,
            documents={"Namespace/global-sched": NEVER},
        ),
        "jobs.yaml": Template(
            source=f"{folder}/jobs/rbac.yaml",
            words=own,
            when=".Values.settings.run_volcano_jobs",
        ),
        "settings.yaml": Template(
            source=f"{folder}/settings.yaml",
            words={
                "    cluster: MEMBER\n"
                "    in_cluster: true\n"
                "    metrics_port: 8080\n"
                "    namespace: global-sched": (
                    '{{ toYaml (merge (dict "cluster" (required "set cluster to the name of the '
                    'Karmada Cluster" .Values.cluster) "namespace" .Release.Namespace) '
                    ".Values.settings) | indent 4 }}"
                ),
                **own,
            },
        ),
    }


CHARTS: Final[Mapping[str, Mapping[str, Template]]] = {
    CONTROL_PLANE: _control_plane(),
    HOST: _host(),
    MEMBER: _member(),
}
