"""The programs of a local federation: which module builds each, and how each tells its version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.local_karmada.errors import LocalError

MODULES: Final = Path(__file__).parent / "modules"
KARMADA_VERSIONS: Final = ("1.18.2", "1.17.1")
"""The first is the one that is started by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """One upstream at one version: a Go module here whose only content is pinned tools.

    packages: by program name, the Go package that is it. stamps: variables set by the linker, so
    that programs tell their version as released ones do. asks: the arguments that make a program
    tell it. tags: build tags that its own build sets.
    """

    name: str
    version: str
    source: str
    packages: Mapping[str, str]
    stamps: Mapping[str, str]
    asks: Mapping[str, tuple[str, ...]]
    tags: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its go.mod and go.sum are."""
        return MODULES / f"{self.name}-{self.version}"

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of `go build`."""
        stamps = " ".join(f"-X {name}={value}" for name, value in sorted(self.stamps.items()))
        tags = (f"-tags={','.join(self.tags)}",) if self.tags else ()
        return ("-trimpath", *tags, f"-ldflags=-s -w {stamps}".rstrip())

    def names_itself_in(self, output: str) -> bool:
        """Whether a program's answer names this version."""
        return re.search(rf"(?<![\d.]){re.escape(self.version)}(?![\d.]*\d)", output) is not None


def _kubernetes() -> Upstream:
    version = "1.35.4"
    major, minor, _ = version.split(".")
    programs = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    stamp = "k8s.io/component-base/version"
    return Upstream(
        name="kubernetes",
        version=version,
        source="k8s.io/kubernetes",
        packages={one: f"k8s.io/kubernetes/cmd/{one}" for one in programs},
        stamps={
            f"{stamp}.gitVersion": f"v{version}",
            f"{stamp}.gitMajor": major,
            f"{stamp}.gitMinor": minor,
            f"{stamp}.gitTreeState": "clean",
        },
        asks=dict.fromkeys(programs, ("--version",)) | {"kubectl": ("version", "--client")},
    )


def _karmada(version: str) -> Upstream:
    parts = (
        "aggregated-apiserver",
        "controller-manager",
        "descheduler",
        "scheduler",
        "scheduler-estimator",
        "webhook",
    )
    source = "github.com/karmada-io/karmada"
    packages = {f"karmada-{one}": f"{source}/cmd/{one}" for one in parts}
    packages["karmadactl"] = f"{source}/cmd/karmadactl"
    return Upstream(
        name="karmada",
        version=version,
        source=source,
        packages=packages,
        stamps={f"{source}/pkg/version.gitVersion": f"v{version}"},
        asks=dict.fromkeys(packages, ("version",)),
        # As in its hack/build.sh: without it the descheduler and schedulers panic when they speak
        # to an estimator.
        tags=("kubernetes_protomessage_one_more_release",),
    )


KUBERNETES: Final = _kubernetes()
ETCD: Final = Upstream(
    name="etcd",
    version="3.6.16",
    source="go.etcd.io/etcd/server/v3",
    packages={"etcd": "go.etcd.io/etcd/server/v3"},
    stamps={},
    asks={"etcd": ("--version",)},
)
KWOK: Final = Upstream(
    name="kwok",
    version="0.7.0",
    source="sigs.k8s.io/kwok",
    packages={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
    stamps={"sigs.k8s.io/kwok/pkg/consts.Version": "v0.7.0"},
    asks={"kwok": ("--version",)},
)
HELM: Final = Upstream(
    name="helm",
    version="3.19.0",
    source="helm.sh/helm/v3",
    packages={"helm": "helm.sh/helm/v3/cmd/helm"},
    stamps={"helm.sh/helm/v3/internal/version.version": "v3.19.0"},
    asks={"helm": ("version", "--short")},
)


def karmada(version: str) -> Upstream:
    """Karmada at one of the versions that this folder has a module for.

    Raises:  LocalError for another.
    """
    if version not in KARMADA_VERSIONS:
        known = " or ".join(KARMADA_VERSIONS)
        raise LocalError(f"KARMADA={version}: there is no module for that version; use {known}")
    return _karmada(version)


def upstreams(karmada_version: str) -> tuple[Upstream, ...]:
    """Everything that a federation with that Karmada needs."""
    return (ETCD, KUBERNETES, karmada(karmada_version), KWOK, HELM)
