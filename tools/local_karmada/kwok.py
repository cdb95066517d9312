"""Kubelets played by kwok: pods run and end as their templates ask.

The annotations are those that the embedded members know (`shared.api.names`: RUN_SECONDS,
EXIT_CODE, FAIL_ONCE). A pod that says nothing runs for ever when its restart policy is Always,
for five seconds otherwise. kwok sees one pod at a time: FAIL_ONCE looks at the pod's own restarts
and at those of its Volcano Job, so a pod that another controller made again fails again.
"""

from pathlib import Path
from typing import Any, Final

import yaml

from global_sched.shared.api.names import EXIT_CODE, FAIL_ONCE, JOB_RETRY_COUNT, RUN_SECONDS
from tools.local_karmada.identities import KWOK
from tools.local_karmada.ledger import Program
from tools.local_karmada.servers import Site

Obj = dict[str, Any]
MANAGED: Final = "kwok.x-k8s.io/node"
"""The annotation of nodes that kwok plays."""
_START_MILLISECONDS: Final = 300
_RUN_MILLISECONDS: Final = 5000

_ENDS: Final = f"""
(.metadata.annotations // {{}}) as $said
| (($said["{EXIT_CODE}"] // "0") | tonumber? // 0) as $code
| ([.status.containerStatuses[]?.restartCount] | max // 0) as $restarts
| if $said["{FAIL_ONCE}"] != "true" then $code
  elif $restarts > 0 or ($said["{JOB_RETRY_COUNT}"] // "0") != "0" then 0
  elif $code == 0 then 1
  else $code end
| if . == 0 then "well" else "badly" end
"""
"""A query of a pod: how it ends."""

_RESTARTS: Final = f"""
.spec.restartPolicy as $policy
| (.metadata.annotations["{RUN_SECONDS}"] != null) as $ends
| ({_ENDS}) as $how
| if $policy == "Always" then $ends
  elif $policy == "OnFailure" then $how == "badly"
  else false end
"""
"""A query of a pod: whether its containers are started again when they end."""

_CODE: Final = f"""
{{{{ $code := get (.metadata.annotations | default dict) "{EXIT_CODE}" }}}}
{{{{ if or (eq $code "") (eq $code "0") }}}}{{{{ $code = "1" }}}}{{{{ end }}}}
"""

_CONDITIONS: Final = """
conditions:
- {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
- {type: Ready, status: "READY", lastTransitionTime: {{ $now | Quote }}}
- {type: ContainersReady, status: "READY", lastTransitionTime: {{ $now | Quote }}}
- {type: PodScheduled, status: "True", lastTransitionTime: {{ $now | Quote }}}
"""

_ADDRESS: Final = (
    "{{ PodIPWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "
    '"" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) | Quote }}'
)

_RUNNING: Final = (
    """
{{ $now := Now }}
phase: Running
startTime: {{ or .status.startTime $now | Quote }}
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
podIP: """
    + _ADDRESS
    + _CONDITIONS.replace("READY", "True")
    + """
containerStatuses:
{{ range .spec.containers }}
- name: {{ .name | Quote }}
  image: {{ .image | Quote }}
  imageID: ""
  ready: true
  started: true
  restartCount: 0
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
"""
)

_CONTAINERS: Final = """
containerStatuses:
{{ $root := . }}
{{ range $index, $item := .spec.containers }}
{{ $before := index $root.status.containerStatuses $index }}
- name: {{ $item.name | Quote }}
  image: {{ $item.image | Quote }}
  imageID: ""
"""


def _ended(phase: str, reason: str, code: str) -> str:
    """The status of a pod whose containers have ended for good."""
    return (
        "{{ $now := Now }}"
        + _CODE
        + f"\nphase: {phase}\n"
        + _CONDITIONS.replace("READY", "False")
        + _CONTAINERS
        + f"""  ready: false
  started: false
  restartCount: {{{{ $before.restartCount }}}}
  state:
    terminated:
      exitCode: {code}
      reason: {reason}
      startedAt: {{{{ $before.state.running.startedAt | Quote }}}}
      finishedAt: {{{{ $now | Quote }}}}
{{{{ end }}}}
"""
    )


_AGAIN: Final = (
    "{{ $now := Now }}"
    + _CONTAINERS
    + """  ready: true
  started: true
  restartCount: {{ add $before.restartCount 1 }}
  state: {running: {startedAt: {{ $now | Quote }}}}
{{ end }}
"""
)


def stages() -> list[Obj]:
    """The stages of a pod's life, exclusive of each other."""
    alive = _is(".metadata.deletionTimestamp", "DoesNotExist")
    runs = _is(".status.phase", "In", "Running")
    for_good = _is(_RESTARTS, "In", "false")
    ending = _is(".spec.restartPolicy", "In", "Never", "OnFailure")
    late = {
        "durationMilliseconds": _RUN_MILLISECONDS,
        "durationFrom": {"expressionFrom": f'.metadata.annotations["{RUN_SECONDS}"] + "s"'},
    }
    fresh = _is(".status.phase", "NotIn", "Running", "Succeeded", "Failed")
    return [
        _stage("pod-runs", [alive, fresh], _RUNNING, {"durationMilliseconds": _START_MILLISECONDS}),
        _stage(
            "pod-succeeds",
            [alive, runs, ending, for_good, _is(_ENDS, "In", "well")],
            _ended("Succeeded", "Completed", "0"),
            late,
        ),
        _stage(
            "pod-fails",
            [alive, runs, ending, for_good, _is(_ENDS, "In", "badly")],
            _ended("Failed", "Error", "{{ $code }}"),
            late,
        ),
        _stage("pod-starts-again", [alive, runs, _is(_RESTARTS, "In", "true")], _AGAIN, late),
        _stage("pod-goes", [_is(".metadata.deletionTimestamp", "Exists")], "", None),
    ]


def _is(query: str, operator: str, *values: str) -> Obj:
    found: Obj = {"key": query.strip(), "operator": operator}
    return found | ({"values": list(values)} if values else {})


def _stage(name: str, conditions: list[Obj], status: str, delay: Obj | None) -> Obj:
    step: Obj = {"statusTemplate": status} if status else {"delete": True}
    if not status:
        step["finalizers"] = {"empty": True}
    spec: Obj = {
        "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
        "selector": {"matchExpressions": conditions},
        "next": step,
    }
    if delay:
        spec["delay"] = delay
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": spec,
    }


def write_config(site: Site, module: Path) -> Path:
    """Write kwok's configuration: the stages above, and its own stage that makes a node ready."""
    node = module / "kustomize" / "stage" / "node" / "fast" / "node-initialize.yaml"
    path = site.state / "kwok.yaml"
    path.write_text(
        yaml.safe_dump_all(stages(), sort_keys=False) + "---\n" + node.read_text(encoding="utf-8"),
        encoding="utf-8",
    )
    return path


def kwok(site: Site, member: str) -> Program:
    """The kubelets of a member. It renews no Leases: 847 of them would be most of the traffic."""
    port = site.ledger.port(f"{member}/kwok")
    return site.program(
        f"{member}/kwok",
        "kwok",
        f"--kubeconfig={site.kubeconfig(member, KWOK)}",
        f"--config={site.state / 'kwok.yaml'}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={MANAGED}=fake",
        "--node-lease-duration-seconds=0",
        f"--server-address=127.0.0.1:{port}",
        health=f"http://127.0.0.1:{port}/healthz",
    )
