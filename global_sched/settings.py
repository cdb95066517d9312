"""Settings of global-sched: from a file, environment variables `GSCHED_…`, and flags.

Flags win over the environment, the environment over the file. Units are in the field names
(`_seconds`) or in the text. The section `policy` holds what decisions depend on; it is
validated into `model.Policy`, the value that every cycle takes.
"""

import os
import re
import socket
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from global_sched.shared.api.names import GLOBAL_SCHEDULER, SYSTEM_NAMESPACE
from global_sched.shared.model.instant import DAY
from global_sched.shared.model.policy import Policy, ScoreWeights
from global_sched.shared.model.recovery_spec import CODES_LIMIT


class SettingsError(ValueError):
    """A setting cannot be used; one line that names it and says what would help."""


def _split(value: object) -> object:
    """`a,b` from a flag or the environment."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
"""A list of names: `[a, b]` in a file, `a,b` elsewhere."""
Seconds = Annotated[float, Field(gt=0, le=86400)]


class Settings(BaseSettings):
    """Settings of `global-sched run`."""

    model_config = SettingsConfigDict(
        env_prefix="GSCHED_",
        env_nested_delimiter="__",
        extra="forbid",
        use_attribute_docstrings=True,
    )
    kubeconfig: Path | None = None
    """Kubeconfig of the control plane (default: $KUBECONFIG, ~/.kube/config, then the pod's
    service account)."""
    context: str | None = None
    """Context in the kubeconfig (default: its current one)."""
    in_cluster: bool = False
    """Use the pod's service account and nothing else."""

    scheduler_names: Names = (GLOBAL_SCHEDULER,)
    """Values of a policy's `spec.schedulerName` that we answer for."""
    namespace: str = SYSTEM_NAMESPACE
    """Control-plane namespace of the Lease and of the ConfigMap with the Policy."""
    lease_name: str = "global-sched"
    """The Lease: of several replicas only its holder decides."""
    lease_seconds: Seconds = 15.0
    """After so many seconds without renewal another replica takes over."""
    renew_seconds: Seconds = 10.0
    """A leader that could not renew for so many seconds stops; less than `lease_seconds`."""
    retry_seconds: Seconds = 2.0
    """Seconds between two attempts to get or renew the Lease."""
    identity: str = ""
    """This replica's name on the Lease (default: host name and process id)."""

    start_patience_seconds: Annotated[float, Field(ge=0, le=3600)] = 60.0
    """At the start, a control plane that does not answer (or answers 429 or 5xx) is asked again
    for so many seconds before the program ends with one line."""
    debounce_seconds: Annotated[float, Field(ge=0, le=10)] = 0.005
    """Changes are collected for so many seconds before a cycle starts."""
    cycle_budget_seconds: Annotated[float, Field(ge=0, le=60)] = 0.05
    """Cycles that take longer than so many seconds run in a thread."""
    max_age_seconds: Seconds = 120.0
    """Nothing is decided when the watches were last up to date longer ago than so many
    seconds."""
    writes_at_once: Annotated[int, Field(ge=1, le=1024)] = 64
    """At most so many writes of bindings are in flight."""
    status_interval_seconds: Annotated[float, Field(ge=1, le=3600)] = 5.0
    """Statuses of Queues, Tenants and CapacityReports are written at most so often."""
    drain_seconds: Annotated[float, Field(ge=0, le=600)] = 10.0
    """At the end, writes in flight get at most so many seconds."""

    metrics_port: Annotated[int, Field(ge=0, le=65535)] = 0
    """Port of /metrics and the probes; 0 serves none."""
    metrics_host: str = "127.0.0.1"
    """Address of /metrics and the probes, which ask for no credentials. Scrapes and probes of a
    pod need another one: the Deployments of deploy/ set `0.0.0.0`."""
    log_level: str = "info"
    """debug, info, warning or error."""
    log_format: str = "json"
    """json or console."""

    policy: Policy = Policy()
    """What decisions depend on; published in the ConfigMap `global-sched-policy`."""

    @property
    def replica(self) -> str:
        """The name of this replica on the Lease and on Events."""
        return self.identity or f"{socket.gethostname()}-{os.getpid()}"

    @field_validator("scheduler_names")
    @classmethod
    def _some_name(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one scheduler that we answer for")
        return tuple(sorted(set(value)))

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        if value not in ("debug", "info", "warning", "error"):
            raise ValueError("use debug, info, warning or error")
        return value

    @field_validator("log_format")
    @classmethod
    def _format(cls, value: str) -> str:
        if value not in ("json", "console"):
            raise ValueError("use json or console")
        return value

    @field_validator("policy", mode="before")
    @classmethod
    def _known_policy(cls, value: object) -> object:
        _only_known(value, Policy, "policy")
        if isinstance(value, dict):
            _only_known(value.get("score_weights"), ScoreWeights, "policy.score_weights")
        return value

    @field_validator("policy")
    @classmethod
    def _sane_policy(cls, value: Policy) -> Policy:
        check_policy(value)
        return value


def _only_known(value: object, kind: type[Policy | ScoreWeights], where: str) -> None:
    if not isinstance(value, dict):
        return
    known = sorted(field.name for field in fields(kind))
    for key in value:
        if key not in known:
            raise ValueError(f"{where}.{key} is no setting; there are {', '.join(known)}")


MAY_BE_ZERO: Final = frozenset(
    {
        "ageing_limit",
        "ageing_period_seconds",
        "ageing_step",
        "checkpoint_grace_limit_seconds",
        "elastic_cooldown_limit_seconds",
        "hold_seconds",
        "min_runtime_before_preemption_seconds",
        "min_runtime_before_reclaim_seconds",
        "min_runtime_limit_seconds",
        "patience_seconds",
        "reclaim_loss_limit_gpu_hours",
        "recovery_heal_seconds",
        "recovery_hold_limit_seconds",
        "moves_per_cycle",
        "moves_per_hour",
        "reservations",
        "searches_per_cycle",
        "usage_half_life_seconds",
        "usage_weight_percent",
    }
)
"""Numbers of the policy for which 0 means that it does not happen."""
MOST: Final = {
    "checkpoint_grace_limit_seconds": DAY // 24,
    "elastic_cooldown_limit_seconds": DAY // 24,
    "min_runtime_before_preemption_seconds": 7 * DAY,
    "min_runtime_before_reclaim_seconds": 7 * DAY,
    "min_runtime_limit_seconds": 7 * DAY,
    "placement_search_limit": 10**10,
    "recovery_heal_seconds": 7 * DAY,
    "recovery_hold_limit_seconds": 7 * DAY,
    "recovery_step_seconds": 7 * DAY,
}
"""Largest values that are not ten million."""


_GROUP_KIND: Final = re.compile(r"[A-Z][A-Za-z0-9]*(\.[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?")


def check_policy(policy: Policy) -> None:
    """Raises ValueError for a number or a kind that makes no sense."""
    for name in ("copied_kinds", "pod_kinds"):
        for kind in getattr(policy, name):
            if not _GROUP_KIND.fullmatch(kind):
                raise ValueError(
                    f"policy.{name}: {kind!r} is no kind; use Kind.group without a version, such "
                    "as DaemonSet.apps, or Kind alone in the core group"
                )
    codes = policy.recovery_node_exit_codes
    if len(codes) > CODES_LIMIT:
        raise ValueError(
            f"policy.recovery_node_exit_codes: {len(codes)} are listed; use at most {CODES_LIMIT}"
        )
    if bad := [code for code in codes if not 1 <= code <= 255]:
        raise ValueError(
            f"policy.recovery_node_exit_codes: {bad[0]} is no exit code of a failure; use 1 to 255"
        )
    for field in fields(Policy):
        value = getattr(policy, field.name)
        if not isinstance(value, int) or isinstance(value, bool):
            continue
        least, most = int(field.name not in MAY_BE_ZERO), MOST.get(field.name, 10**7)
        if not least <= value <= most:
            raise ValueError(f"policy.{field.name}: {value} is out of range; use {least} to {most}")
    for field in fields(ScoreWeights):
        weight = getattr(policy.score_weights, field.name)
        if not 0 <= weight <= 10_000:
            raise ValueError(
                f"policy.score_weights.{field.name}: {weight} is out of range; use 0 to 10000"
            )


def read_policy(value: object) -> Policy:
    """A Policy from plain data (the published ConfigMap, a scenario). Raises SettingsError."""
    try:
        _only_known(value, Policy, "policy")
        policy = TypeAdapter(Policy).validate_python(value)
        check_policy(policy)
    except ValidationError as error:
        raise SettingsError(_one_line(error, "policy.")) from error
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return policy


def load_settings(file: Path | None, flags: Mapping[str, Any]) -> Settings:
    """Settings from flags, then the environment, then a YAML or TOML file.

    Raises:  SettingsError in one line: which setting, what is wrong, what would help.
    """
    content = {} if file is None else _read_file(file)

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

    try:
        loaded = FromFile(**flags)
        settings = Settings.model_construct(
            **{n: getattr(loaded, n) for n in Settings.model_fields}
        )
    except ValidationError as error:
        raise SettingsError(_one_line(error, "")) from error
    if not settings.lease_seconds > settings.renew_seconds > 1.2 * settings.retry_seconds:
        raise SettingsError(
            "lease_seconds must exceed renew_seconds, and that 1.2 × retry_seconds; they are "
            f"{settings.lease_seconds:g}, {settings.renew_seconds:g}, {settings.retry_seconds:g}"
        )
    return settings


def _read_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
        loaded = tomllib.loads(text) if file.suffix == ".toml" else yaml.safe_load(text)
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {' '.join(str(error).split())}") from error
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise SettingsError(f"{file} is not a mapping of settings")
    return loaded


def _one_line(error: ValidationError, prefix: str) -> str:
    first = error.errors()[0]
    where = prefix + ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        known = ", ".join(sorted(Settings.model_fields))
        return f"{where} is no setting; there are {known}"
    message = first["msg"].removeprefix("Value error, ")
    if message.startswith("policy."):
        return message
    return f"{where}: {message}, not {str(first.get('input'))[:80]!r}"
