"""The ConfigMap with the Policy in force, its hash, and our scheduler names.

`explain`, `whatif` and the completion read it.
"""

import hashlib
from collections.abc import Iterable

from global_sched.dispatch.bodies import new_object
from global_sched.shared.api.names import POLICY_CONFIG_MAP
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.values import to_json

POLICY_KEY = "policy.json"
SCHEDULERS_KEY = "schedulerNames"
HASH_KEY = "hash"


def policy_data(policy: Policy, scheduler_names: Iterable[str]) -> dict[str, str]:
    """The ConfigMap's data: the policy as JSON, its SHA-256, and the names that we answer for."""
    text = to_json(policy)
    return {
        POLICY_KEY: text.decode(),
        HASH_KEY: hashlib.sha256(text).hexdigest(),
        SCHEDULERS_KEY: ",".join(sorted(scheduler_names)),
    }


async def publish_policy(
    client: Client, namespace: str, policy: Policy, scheduler_names: Iterable[str]
) -> bool:
    """Make the ConfigMap say what is in force; whether it had to be written. Raises ApiError."""
    data = policy_data(policy, scheduler_names)
    try:
        found = await client.get(CONFIGMAPS, POLICY_CONFIG_MAP, namespace=namespace)
    except NotFound:
        body = new_object(CONFIGMAPS, POLICY_CONFIG_MAP, namespace=namespace, data=data)
        await client.create(CONFIGMAPS, body, namespace=namespace)
        return True
    if found.get("data") == data:
        return False
    await client.patch(CONFIGMAPS, POLICY_CONFIG_MAP, {"data": data}, namespace=namespace)
    return True
