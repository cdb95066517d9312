"""Manifests to servers, through the kubectl that belongs to them."""

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.local_karmada.errors import LocalError
from tools.local_karmada.identities import ADMIN
from tools.local_karmada.servers import Site

Obj = dict[str, Any]


async def kubectl(site: Site, server: str, *arguments: str, text: str = "") -> str:
    """The output of a kubectl call as the server's administrator.

    Raises:  LocalError with the last line of what it said.
    """
    child = await asyncio.create_subprocess_exec(
        str(site.programs["kubectl"]),
        f"--kubeconfig={site.kubeconfig(server, ADMIN)}",
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await child.communicate(text.encode())
    if child.returncode:
        lines = errors.decode(errors="replace").strip().splitlines() or ["no message"]
        raise LocalError(f"kubectl {' '.join(arguments)} on {server}: {lines[-1]}")
    return output.decode()


async def apply(site: Site, server: str, objects: Iterable[Obj]) -> None:
    """Apply objects on the server's side; fields of others that differ are taken over."""
    text = yaml.safe_dump_all(objects, sort_keys=False)
    arguments = ("apply", "--server-side", "--force-conflicts", "--field-manager=local", "-f", "-")
    await kubectl(site, server, *arguments, text=text)


async def define(site: Site, server: str, definitions: Iterable[Obj]) -> None:
    """Apply CustomResourceDefinitions and wait until they are served."""
    listed = list(definitions)
    await apply(site, server, listed)
    names = [f"crd/{one['metadata']['name']}" for one in listed]
    await kubectl(site, server, "wait", "--for=condition=Established", "--timeout=60s", *names)


def read(path: Path, replace: Mapping[str, str] | None = None) -> list[Obj]:
    """The objects of a manifest, its placeholders replaced."""
    text = path.read_text(encoding="utf-8")
    for placeholder, value in (replace or {}).items():
        text = text.replace(placeholder, value)
    return [obj for obj in yaml.safe_load_all(text) if obj]
