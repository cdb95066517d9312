"""Tokens and kubeconfigs of an embedded federation: what `deploy/` would give every program."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from global_sched.embedded.apiserver.http.identity import ADMIN, User, service_account
from global_sched.embedded.apiserver.server import ApiServer
from global_sched.shared.api import yaml_text
from global_sched.shared.api.names import SYSTEM_NAMESPACE, execution_namespace

AGENT = "member-agent"
AGENT_NAMESPACE = "global-sched"
"""Where the agent lives in its member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKubeconfigs:
    """The two files of one agent."""

    control_plane: Path
    member: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfigs:
    """Where the kubeconfigs are.

    admin: the control plane's administrator, with a context per member too.
    """

    admin: Path
    global_sched: Path
    agents: Mapping[str, AgentKubeconfigs] = field(default_factory=dict)
    members: Mapping[str, Path] = field(default_factory=dict)
    tenants: Mapping[str, Path] = field(default_factory=dict)


class Tokens:
    """One secret token per program and person, kept in the state folder across restarts."""

    def __init__(self, state: Path | None) -> None:
        self._path = None if state is None else state / "tokens.json"
        self._known: dict[str, str] = {}
        if self._path is not None and self._path.exists():
            self._known = json.loads(self._path.read_text(encoding="utf-8"))

    def of(self, name: str) -> str:
        """The token of a user."""
        if name not in self._known:
            self._known[name] = secrets.token_urlsafe(24)
        return self._known[name]

    def save(self) -> None:
        """Write the tokens for the next start, readable by their owner only."""
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        self._path.write_text(json.dumps(self._known, indent=1) + "\n", encoding="utf-8")

    def control_plane(self, members: Sequence[str], tenants: Sequence[str]) -> dict[str, User]:
        """Who may speak to the control plane: its users by token."""
        users = {
            self.of("admin"): ADMIN,
            self.of("karmada"): User(name="system:karmada", groups=("system:masters",)),
            self.of("global-sched"): service_account(SYSTEM_NAMESPACE, "global-sched"),
        }
        for name in members:
            users[self.of(f"agent/{name}")] = service_account(execution_namespace(name), AGENT)
        for name in tenants:
            users[self.of(f"tenant/{name}")] = User(
                name=f"user-of-{name}", groups=(f"tenant:{name}",)
            )
        return users

    def member(self, name: str) -> dict[str, User]:
        """Who may speak to a member."""
        return {
            self.of(f"member/{name}"): ADMIN,
            self.of(f"member-agent/{name}"): service_account(AGENT_NAMESPACE, AGENT),
        }


def write_kubeconfigs(
    state: Path,
    tokens: Tokens,
    control: ApiServer,
    members: Mapping[str, ApiServer],
    tenants: Sequence[str],
) -> Kubeconfigs:
    """Write every kubeconfig below the state folder."""
    folder = state / "kubeconfigs"
    global_sched = folder / "global-sched.yaml"
    control.write_kubeconfig(global_sched, tokens.of("global-sched"))
    agents: dict[str, AgentKubeconfigs] = {}
    admins: dict[str, Path] = {}
    for name, server in members.items():
        files = AgentKubeconfigs(
            control_plane=folder / f"agent-{name}-control-plane.yaml",
            member=folder / f"agent-{name}-member.yaml",
        )
        control.write_kubeconfig(files.control_plane, tokens.of(f"agent/{name}"))
        server.write_kubeconfig(files.member, tokens.of(f"member-agent/{name}"))
        agents[name] = files
        admins[name] = folder / f"member-{name}.yaml"
        server.write_kubeconfig(admins[name], tokens.of(f"member/{name}"))
    people: dict[str, Path] = {}
    for name in tenants:
        people[name] = folder / f"tenant-{name}.yaml"
        control.write_kubeconfig(people[name], tokens.of(f"tenant/{name}"))
    return Kubeconfigs(
        admin=_write_admin(state / "kubeconfig", tokens, control, members),
        global_sched=global_sched,
        agents=agents,
        members=admins,
        tenants=people,
    )


def _write_admin(
    path: Path, tokens: Tokens, control: ApiServer, members: Mapping[str, ApiServer]
) -> Path:
    """One file for people: the control plane first, a context per member beside it."""
    whole = control.kubeconfig(tokens.of("admin"))
    for name, server in members.items():
        one = server.kubeconfig(tokens.of(f"member/{name}"))
        for part in ("clusters", "users", "contexts"):
            whole[part] += one[part]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml_text.written(whole), encoding="utf-8")
    return path
