"""The federation that a command reads: kubeconfig, context, namespaces and acting user."""

from dataclasses import dataclass
from pathlib import Path

from global_sched.shared.api.names import SYSTEM_NAMESPACE


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The control plane, and where on it the leader publishes its Policy."""

    kubeconfig: Path | None = None
    context: str | None = None
    leader_namespace: str = SYSTEM_NAMESPACE
    acting_user: str = ""
    """The user to act as; empty for the one that the kubeconfig names."""
    acting_groups: tuple[str, ...] = ()
