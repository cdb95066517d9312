"""Members: what Karmada needs there, and their registration on the control plane.

As `karmadactl join` does it, with tokens of the same accounts, but without waiting half a minute
for their Secrets.
"""

import base64
from pathlib import Path
from typing import Any, Final

from global_sched.shared.api.resource import CLUSTERS, NAMESPACES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, NotFound
from tools.local_karmada import identities, objects
from tools.local_karmada.errors import LocalError
from tools.local_karmada.health import CEILING
from tools.local_karmada.karmada_objects import our_definitions
from tools.local_karmada.nodes import MemberPlan, create
from tools.local_karmada.servers import CONTROL_PLANE, Site

Obj = dict[str, Any]
_HERE: Final = Path(__file__).parent / "manifests"
_SPACE: Final = "karmada-cluster"


async def prepare(site: Site, plan: MemberPlan, clock: Clock) -> None:
    """Kinds, accounts and nodes of a member."""
    await objects.define(site, plan.name, our_definitions(member=True))
    given = objects.read(_HERE / "member.yaml", {"MEMBER": plan.name})
    await objects.apply(site, plan.name, given)
    client = await identities.client(site, plan.name, clock)
    try:
        await create(plan, client, clock)
    finally:
        await client.close()


async def register(site: Site, plan: MemberPlan, clock: Clock) -> None:
    """The Cluster object with its credentials; one that is there already only moves."""
    member = await identities.client(site, plan.name, clock)
    control = await identities.client(site, CONTROL_PLANE, clock)
    try:
        cluster = await _cluster(site, plan, member)
        if await _known(control, plan.name, cluster["spec"]["apiEndpoint"]):
            return
        token = await identities.token(member, _SPACE, f"karmada-{plan.name}")
        other = await identities.token(member, _SPACE, "karmada-impersonator")
    finally:
        await member.close()
        await control.close()
    ca = site.authority.ca.cert.read_bytes()
    secrets = [
        _secret(plan.name, {"token": token.encode(), "caBundle": ca}),
        _secret(f"{plan.name}-impersonator", {"token": other.encode()}),
    ]
    await objects.apply(site, CONTROL_PLANE, secrets)
    await objects.apply(site, CONTROL_PLANE, [cluster])


async def _known(control: Client, name: str, endpoint: str) -> bool:
    try:
        found = await control.get(CLUSTERS, name)
    except NotFound:
        return False
    return bool(found["spec"].get("apiEndpoint") == endpoint)


async def _cluster(site: Site, plan: MemberPlan, member: Client) -> Obj:
    system = await member.get(NAMESPACES, "kube-system")
    return {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": plan.name, "labels": plan.labels},
        "spec": {
            "id": system["metadata"]["uid"],
            "syncMode": "Push",
            "apiEndpoint": site.endpoint(plan.name).url,
            "secretRef": {"namespace": _SPACE, "name": plan.name},
            "impersonatorSecretRef": {"namespace": _SPACE, "name": f"{plan.name}-impersonator"},
            **plan.spec,
        },
    }


def _secret(name: str, data: dict[str, bytes]) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": _SPACE},
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


async def until_ready(site: Site, names: list[str], clock: Clock) -> None:
    """Until every one of these members is a Ready cluster.

    Raises:  LocalError that names those that are not.
    """
    control = await identities.client(site, CONTROL_PLANE, clock)
    end = clock.monotonic() + CEILING
    left: dict[str, str] = dict.fromkeys(names, "it is not there")
    try:
        while left and clock.monotonic() < end:
            try:
                listing = await control.list(CLUSTERS)
            except ApiError:
                await clock.sleep(0.2)  # the aggregated API comes a moment later
                continue
            ready = {one["metadata"]["name"]: _ready(one) for one in listing.items}
            left = {one: ready.get(one, "it is not there") for one in names if ready.get(one) != ""}
            if left:
                await clock.sleep(0.2)
    finally:
        await control.close()
    if left:
        said = "; ".join(f"{name}: {why}" for name, why in left.items())
        raise LocalError(f"not every member is Ready after {CEILING:.0f} s: {said}")


def _ready(cluster: Obj) -> str:
    """Empty when a cluster is Ready and has reported what it serves, else what is missing."""
    status = cluster.get("status") or {}
    for one in status.get("conditions") or ():
        if one["type"] == "Ready":
            if one["status"] != "True":
                return str(one.get("message") or one.get("reason"))
            return "" if status.get("apiEnablements") else "its kinds are not known yet"
    return "it has no Ready condition"
