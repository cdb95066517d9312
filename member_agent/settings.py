"""Settings of the agent: from a file, environment variables `MAGENT_…`, and flags.

Flags win over the environment, the environment over the file. Units are in the field names
(`_seconds`, `_bytes`) or in the text.
"""

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BeforeValidator, Field, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from global_sched.shared.api import names
from member_agent.recovery.freeing import Fencing
from member_agent.recovery.signals import parse_conditions

_CLUSTER = re.compile(r"[a-z0-9]([-a-z0-9.]{0,46}[a-z0-9])?")
_LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9][-A-Za-z0-9_.]{0,62}")


def _split(value: object) -> object:
    """`a,b` from a flag or the environment; empty text is an empty list."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""A list of names: `[a, b]` in a file, `a,b` elsewhere."""


class Settings(BaseSettings):
    """Settings of `member-agent run`."""

    model_config = SettingsConfigDict(
        env_prefix="MAGENT_", extra="forbid", use_attribute_docstrings=True
    )
    cluster: str
    """The member's name: that of its Karmada Cluster object on the control plane."""
    kubeconfig: Path | None = None
    """Kubeconfig of the member (default: $KUBECONFIG, ~/.kube/config, then the pod's service
    account)."""
    context: str | None = None
    """Context in the member's kubeconfig (default: its current one)."""
    in_cluster: bool = False
    """Use the pod's service account for the member and nothing else."""
    control_kubeconfig: Path | None = None
    """Kubeconfig of the control plane; it needs rights in `karmada-es-<cluster>` only."""
    control_context: str | None = None
    """Context in the control plane's kubeconfig (default: its current one)."""

    scheduler_names: Names = (names.AGENT_SCHEDULER,)
    """Scheduler names whose pods the agent binds; an empty list means that it only reports. Unset,
    with `run_volcano_jobs`, `volcano` is one of them: what a Volcano Job means that names none."""
    label_keys: Names = ()
    """Node label keys that the report always holds, beside those that the Directive asks for."""
    label_keys_limit: Annotated[int, Field(ge=0, le=1024)] = 128
    """At most so many node label keys are reported; the rest is named as left out."""

    report_period_seconds: Annotated[int, Field(ge=2, le=3600)] = 10
    """A report is written at least this often, in seconds."""
    report_interval_seconds: Annotated[float, Field(ge=0.1, le=600)] = 2.0
    """At most one report is written in so many seconds."""
    report_slice_bytes: Annotated[int, Field(ge=16_384, le=1_000_000)] = 229_376
    """A slice of the report holds at most so many bytes of JSON; the limit per object is
    262144, of which metadata and status need their part."""
    report_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    """Above so many rows the report rounds free amounts down until it is below."""

    place_interval_seconds: Annotated[float, Field(ge=0.0, le=60)] = 0.05
    """Changes are collected for so many seconds before pods are placed."""
    binds_at_once: Annotated[int, Field(ge=1, le=1024)] = 32
    """At most so many binds are in flight."""
    node_backoff_seconds: Annotated[float, Field(ge=0.0, le=3600)] = 10.0
    """How long a node gets no new pods after it rejected one; doubles up to 16 times that."""
    rollback_seconds: Annotated[float, Field(ge=0.0, le=3600)] = 30.0
    """How long a gang whose bind stopped midway may look for room before its bound pods are
    deleted."""
    condition_interval_seconds: Annotated[float, Field(ge=1.0, le=3600)] = 10.0
    """A waiting pod's condition is written again only after so many seconds."""

    node_grace_seconds: Annotated[float, Field(ge=1.0, le=3600)] = 20.0
    """For so long a node may not be ready, or its Node object be missing, before it is in trouble
    and takes no new pods."""
    node_conditions: Names = ("GpuHealthy=False", "KernelDeadlock=True", "ReadonlyFilesystem=True")
    """TYPE=STATUS of NodeConditions that report a defect: such a node is in trouble at once."""
    dedicated_taints: Names = ()
    """Keys of NoExecute taints that reserve nodes for some pods, and are no trouble."""
    fencing: Fencing = Fencing.OUT_OF_SERVICE
    """When the machine of a pod counts as off, so that the pod is deleted without grace and its
    name is free: `never`; `out-of-service` (the Node object is gone, or has the taint
    node.kubernetes.io/out-of-service and is not ready); or `lease` (also when the kubelet's Lease
    was not renewed for twice its duration: only where nodes that lose their API server stop their
    pods by themselves, else two pods of one rank may run at once)."""

    volcano_scheduler: bool | None = None
    """Whether Volcano's scheduler runs in the member (default: found by its Lease)."""
    volcano_topology: bool | None = None
    """Whether Volcano's plugin network-topology-aware is enabled there (default: found in its
    scheduler's configuration): without it, Volcano ignores hard topology constraints."""
    volcano_namespaces: Names = ("volcano-system", "kube-system")
    """Where Volcano's Leases are looked for."""
    run_volcano_jobs: bool = False
    """Run Volcano Jobs here; refused where Volcano's own controller holds its Lease."""
    job_scheduler_name: str = names.AGENT_SCHEDULER
    """Scheduler name of a Volcano Job's pods when neither template nor Job names one."""

    namespace: str = "kube-system"
    """The member's namespace for the agent's Lease."""
    lease_name: str = "member-agent"
    """The agent's Lease: of two replicas only its holder acts."""
    lease_seconds: Annotated[float, Field(ge=1.5, le=600)] = 15.0
    """After so many seconds without renewal another replica takes over."""
    identity: str = ""
    """The replica's name on the Lease (default: host name and process id)."""

    start_patience_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """At the start, a server that does not answer (or answers 429 or 5xx) is asked again for so
    many seconds before the agent ends with one line."""
    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port of /metrics and the probes; 0 serves none."""
    metrics_host: str = "127.0.0.1"
    """Address of /metrics and the probes, which ask for no credentials. Scrapes and probes of a
    pod need another one: the Deployments of deploy/ set `0.0.0.0`."""
    log_level: str = "info"
    """debug, info, warning or error."""
    log_format: str = "json"
    """json or console."""

    @property
    def replica(self) -> str:
        """The replica's name on Leases and Events."""
        return self.identity or f"{socket.gethostname()}-{os.getpid()}"

    @field_validator("cluster")
    @classmethod
    def _cluster_name(cls, value: str) -> str:
        if not _CLUSTER.fullmatch(value):
            raise ValueError("expected a Karmada cluster's name: at most 48 of a-z, 0-9, - and .")
        return value

    @field_validator("node_conditions")
    @classmethod
    def _conditions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        parse_conditions(value)
        return value

    @field_validator("label_keys")
    @classmethod
    def _keys(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for key in value:
            if not _LABEL_KEY.fullmatch(key):
                raise ValueError(f"{key!r} is not a label key")
        return tuple(sorted(set(value)))

    @field_validator("scheduler_names")
    @classmethod
    def _scheduler_names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if names.DEFAULT_SCHEDULER in value:
            raise ValueError(
                f"{names.DEFAULT_SCHEDULER} is Kubernetes' own scheduler: two programs would "
                "bind the same pods"
            )
        return tuple(sorted(set(value)))

    @model_validator(mode="after")
    def _volcanos_name(self) -> "Settings":
        if self.run_volcano_jobs and "scheduler_names" not in self.model_fields_set:
            self.scheduler_names = (names.AGENT_SCHEDULER, names.VOLCANO_SCHEDULER)
        return self


def load_settings(file: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Settings from flags, then the environment, then a YAML file.

    Raises:  ValidationError naming the setting; ValueError or OSError for a bad file.
    """
    content: dict[str, Any] = {}
    if file is not None:
        try:
            loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
        except yaml.YAMLError as error:
            raise ValueError(f"{file} is not YAML: {' '.join(str(error).split())}") from error
        if not isinstance(loaded or {}, dict):
            raise ValueError(f"{file} is not a mapping of settings")
        content = loaded or {}

    class FromFile(Settings):
        """The settings with the file as the last source."""

        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            """Flags, environment, file."""
            del dotenv_settings, file_secret_settings
            return init_settings, env_settings, InitSettingsSource(settings_cls, content)

    return Settings.model_validate(FromFile(**flags).model_dump())
