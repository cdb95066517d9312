"""Whole objects as dicts, for creating and replacing."""

from typing import Any

from global_sched.shared.api.resource import Resource


def new_object(
    resource: Resource, name: str, *, namespace: str = "", version: str = "", **parts: Any
) -> dict[str, Any]:
    """An object of a kind with these top-level parts; `version` makes a replace conditional."""
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {key: value for key, value in metadata.items() if value},
        **parts,
    }
