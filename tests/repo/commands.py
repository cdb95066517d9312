"""The commands of the pages that people copy from, and which test runs each of them.

A command is a line of a fenced block without a language or in bash, or a span of code with a
program and an argument.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tools.generate import ROOT

PAGES: Final = (
    "README.md",
    "docs/quickstart.md",
    "docs/why-waiting.md",
    "docs/deploy.md",
    "docs/real-karmada.md",
)
_PROGRAMS: Final = re.compile(
    r"(?:[A-Z_]+=\S+ +)*(?:gsched|kubectl|karmadactl|make|helm|podman|pip|python3?|export|"
    r"global-sched|member-agent|deploy/\S+\.sh)(?= )"
)
_FENCE: Final = re.compile(r"^\s*```(\S*)\s*$")
_SPAN: Final = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class Runs:
    """A test that runs the command, with the names of its own world in place of the page's."""

    test: str
    """`path::function`."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """Why no test runs it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Live:
    """`tests/e2e/test_package.py` takes the line from the page and runs it on the demo."""


def commands(text: str) -> list[str]:
    """Every command of a page, in its order, each one once."""
    return list(dict.fromkeys(_commands(text)))


def _commands(text: str) -> Iterator[str]:
    language: str | None = None
    held = ""
    for line in text.splitlines():
        fence = _FENCE.match(line)
        if fence:
            language = fence.group(1) if language is None else None
        elif language is None:
            yield from (
                " ".join(span.split()) for span in _SPAN.findall(line) if _PROGRAMS.match(span)
            )
        elif language in {"", "bash"}:
            held += " " + re.sub(r"\s+#\s.*$", "", line).strip()
            if held.endswith("\\"):
                held = held[:-1]
                continue
            command, held = " ".join(held.split()), ""
            if _PROGRAMS.match(command):
                yield command


def page(name: str) -> str:
    """The text of a page."""
    return (ROOT / name).read_text(encoding="utf-8")


_INSTALL: Final = Runs(
    "tests/e2e/test_deploy_install.py::test_everything_is_installed_and_the_credentials_work"
)
_LOCAL: Final = Runs("tests/e2e/test_control_plane.py::test_the_commands_of_the_page")
_DEMO: Final = Runs("tests/e2e/test_package.py::test_the_demo_and_the_quickstart")
_MANIFESTS: Final = Runs("tests/e2e/test_package.py::test_manifests_come_with_the_wheel")
_MADE_AGAIN: Final = Runs(
    "tests/e2e/test_deploy_adoption.py::test_a_policy_that_is_made_again_moves_nothing"
)
_NO_CONTAINERS: Final = NotRun("CI has no containers; hadolint reads the Containerfile")
_NO_RELEASE: Final = NotRun(
    "`helm template` of the same chart is compared with the kustomize base object by object"
    " (tests/e2e/test_deploy_charts.py); a release needs a cluster that it may keep"
)
_VARIABLES: Final = NotRun("it sets variables of a shell; tests give them to each process")
_PLACES: Final = "the words stand for a job of the reader's own; quickstart has it with a real one"

COMMANDS: Final[dict[str, Runs | NotRun | Live]] = {
    # README.md
    "gsched explain -n language tune-3": Live(),
    "podman build -f deploy/images/Containerfile -t registry.example/global-sched:0.1.0 .": (
        _NO_CONTAINERS
    ),
    "export KARMADA_KUBECONFIG=karmada.config HOST_KUBECONFIG=host.config "
    "IMAGE=registry.example/global-sched:0.1.0": _VARIABLES,
    "deploy/install.sh member1=member1.config member2=member2.config": _INSTALL,
    "gsched manifests": _MANIFESTS,
    "make demo": _DEMO,
    "make e2e": NotRun("it is the suite itself; tests/tools/test_e2e.py tests how it runs"),
    "kubectl apply": Runs("tests/e2e/test_examples.py::test_both_worlds_decide_alike"),
    # docs/quickstart.md
    "make demo ARGS=--keep": _DEMO,
    "export KUBECONFIG=…/kubeconfig": _VARIABLES,
    "export PATH=$PWD/.venv/bin:$PATH": _VARIABLES,
    "gsched jobs": Live(),
    "gsched dashboard": Runs(
        "tests/global_sched/cli/test_dashboard.py::test_the_command_serves_until_it_is_interrupted"
    ),
    "gsched jobs -A --state pending --queue research --sort-by priority": Live(),
    "gsched clusters": Live(),
    "gsched topology west": Live(),
    "gsched queues": Live(),
    "gsched tenants": Live(),
    "gsched explain -n vision too-wide": Live(),
    "kubectl -n vision describe jobs.batch.volcano.sh too-wide": Live(),
    "kubectl -n vision get resourcebinding too-wide-job -o "
    """jsonpath='{.status.conditions[?(@.type=="Scheduled")].message}'""": Live(),
    "gsched whatif examples/wider-rack.yaml": Live(),
    "gsched whatif tests/scenarios/rack-of-four.yaml": Live(),
    "kubectl get queue research -o yaml | sed 's/weight: 1/weight: 5/' | gsched whatif -": Live(),
    "gsched whatif mine.yaml": Live(),
    "kubectl apply -f mine.yaml": Live(),
    "gsched explain -n my-team mine": Live(),
    "gsched explain -n my-team mine-too": Live(),
    "kubectl --context lingjun -n my-team get pods -o wide": Live(),
    "kubectl get resourcebindings -A": Live(),
    "kubectl get queues": Live(),
    "kubectl get capacityreports -A": Live(),
    "kubectl --context west get pods -A": Live(),
    # docs/why-waiting.md
    "gsched explain -n my-team my-job": NotRun(_PLACES),
    "kubectl get waiting -n my-team": NotRun(_PLACES),
    "kubectl describe waiting -n my-team": NotRun(_PLACES),
    "kubectl -n my-team get resourcebinding my-job-job -o "
    """jsonpath='{.status.conditions[?(@.type=="Scheduled")].message}'""": NotRun(_PLACES),
    # docs/deploy.md
    "KARMADA_KUBECONFIG=karmada.config HOST_KUBECONFIG=host.config "
    "IMAGE=registry.example/global-sched:0.1.0 "
    "deploy/install.sh member1=member1.config member2=member2.config": _INSTALL,
    "gsched manifests --to .": _MANIFESTS,
    "gsched manifests host": Runs(
        "tests/global_sched/cli/test_manifests.py::"
        "test_a_program_is_printed_with_the_image_that_is_named"
    ),
    "kubectl --kubeconfig karmada.config apply --server-side -k deploy/control-plane": _INSTALL,
    "helm --kubeconfig karmada.config upgrade --install global-sched "
    "deploy/charts/global-sched-control-plane --namespace karmada-system "
    "--set 'members={member1,member2}'": _NO_RELEASE,
    "kubectl -n karmada-system create token global-sched --duration=24h": NotRun(
        "Kubernetes' own command; the credential of the script is tried with `kubectl auth whoami`"
    ),
    "kubectl --kubeconfig host.config -n karmada-system create secret generic "
    "global-sched-kubeconfig --from-file=kubeconfig=…": _INSTALL,
    "kubectl --kubeconfig host.config apply --server-side -k deploy/global-sched/host": _INSTALL,
    "kubectl --kubeconfig karmada.config apply --server-side -k my/member2/control-plane": Runs(
        "tests/e2e/test_deploy_manifests.py::test_the_control_plane_takes_an_agents_access"
    ),
    "kubectl --kubeconfig member2.config create namespace global-sched": _INSTALL,
    "kubectl --kubeconfig member2.config -n global-sched create secret generic "
    "member-agent-control-plane --from-file=kubeconfig=…": _INSTALL,
    "kubectl --kubeconfig member2.config apply --server-side -k my/member2/member": Runs(
        "tests/e2e/test_deploy_charts.py::test_a_chart_installs_what_kustomize_does"
    ),
    "kubectl --kubeconfig karmada.config -n karmada-es-member2 get capacityreports": NotRun(
        "the installed Deployments run no containers in the suite, where kwok plays their pods;"
        " quickstart has it with reports"
    ),
    "kubectl get propagationpolicy jobs -n team -o yaml > jobs.yaml": _MADE_AGAIN,
    "kubectl delete propagationpolicy jobs -n team && kubectl apply -f jobs.yaml": _MADE_AGAIN,
    "kubectl --kubeconfig karmada.config label namespace team "
    "federation.global-sched.io/managed=true": Runs(
        "tests/e2e/test_admission_passes.py::test_a_tenants_day"
    ),
    "kubectl delete validatingadmissionpolicybinding NAME": Runs(
        "tests/e2e/test_admission_refusals.py::test_refused_with_a_reason_while_the_policy_is_there"
    ),
    "kubectl delete -k deploy/control-plane": NotRun(
        "the suite's federation goes on to be used: its parts are deleted by the same command"
        " (tests/e2e/test_deploy_install.py, `cleaned`)"
    ),
    "make gen": Runs("tests/repo/test_generated.py::test_generated_files_are_up_to_date"),
    "karmadactl init": NotRun("it needs a cluster with containers"),
    "gsched explain": _DEMO,
    "helm upgrade": _NO_RELEASE,
    "make karmada-up": _LOCAL,
    # docs/real-karmada.md
    "export KUBECONFIG=~/.local/state/global-sched/karmada/kubeconfig": _VARIABLES,
    "kubectl get clusters": _LOCAL,
    "make karmada-status": _LOCAL,
    "make karmada-down": Runs(
        "tests/e2e/test_control_plane_faults.py::test_what_ended_is_started_again"
    ),
    "karmadactl join": NotRun(
        "members are joined as it joins them, by tools/local_karmada, on every run of the suite"
    ),
    "karmadactl apply": Runs(
        "tests/e2e/test_examples.py::test_karmadactl_applies_what_kubectl_does"
    ),
    "karmadactl get": Runs("tests/e2e/test_volcano_jobs.py::test_karmadactl_get"),
    "make check": NotRun("it is the gate itself; tests/tools/test_check.py tests how it runs"),
}
