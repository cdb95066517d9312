"""Send a scenario's manifests to a real API server."""

from typing import Any, Final

from global_sched.scenario.format import ScenarioError
from global_sched.shared.api import resource as resources
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists

_KINDS: Final = {
    (one.api_version, one.kind): one
    for one in vars(resources).values()
    if isinstance(one, Resource)
}


async def apply_manifest(client: Client, manifest: dict[str, Any]) -> None:
    """Create an object; one that is there already gets the manifest's fields.

    Raises:  ScenarioError for a kind that this project does not know; ApiError.
    """
    kind = (str(manifest.get("apiVersion")), str(manifest.get("kind")))
    resource = _KINDS.get(kind)
    if resource is None:
        raise ScenarioError(f"{' '.join(kind)} is not a kind that the examples may use")
    meta = manifest["metadata"]
    namespace = meta.get("namespace") if resource.namespaced else None
    body = {key: value for key, value in manifest.items() if key != "status"}
    try:
        await client.create(resource, body, namespace=namespace)
    except AlreadyExists:
        await client.patch(resource, meta["name"], body, namespace=namespace)
