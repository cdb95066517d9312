"""Kubeconfigs: one server and one user per file, or a context per server for people."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.local_karmada.certs import Pair

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One API server as a client needs it."""

    name: str
    url: str
    ca: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """Who a client is: a certificate, or a token."""

    user: str
    pair: Pair | None = None
    token: str = ""

    def fields(self) -> Obj:
        """The user as a kubeconfig has it."""
        if self.pair is None:
            return {"token": self.token}
        return {
            "client-certificate-data": _inline(self.pair.cert),
            "client-key-data": _inline(self.pair.key),
        }


def write(path: Path, contexts: Mapping[str, tuple[Endpoint, Credential]]) -> Path:
    """Write a kubeconfig with these contexts, the first one current; readable by its owner."""
    names = list(contexts)
    content: Obj = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": names[0],
        "clusters": [],
        "users": [],
        "contexts": [],
    }
    for name, (endpoint, who) in contexts.items():
        cluster = {"server": endpoint.url, "certificate-authority-data": _inline(endpoint.ca)}
        user = f"{who.user}@{name}"
        content["clusters"].append({"name": name, "cluster": cluster})
        content["users"].append({"name": user, "user": who.fields()})
        content["contexts"].append({"name": name, "context": {"cluster": name, "user": user}})
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    fresh.replace(path)
    return path


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
