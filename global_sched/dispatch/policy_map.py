"""The Policy in force, published for `explain` and `whatif` in a ConfigMap, with its hash."""

import hashlib

from global_sched.dispatch.bodies import new_object
from global_sched.shared.api.names import POLICY_CONFIG_MAP
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.model.codec import to_json
from global_sched.shared.model.policy import Policy

POLICY_KEY = "policy.json"
HASH_KEY = "hash"


def policy_data(policy: Policy) -> dict[str, str]:
    """The ConfigMap's data: the policy as JSON, and the SHA-256 of that text."""
    text = to_json(policy)
    return {POLICY_KEY: text.decode(), HASH_KEY: hashlib.sha256(text).hexdigest()}


async def publish_policy(client: Client, namespace: str, policy: Policy) -> bool:
    """Make the ConfigMap say this policy; whether it had to be written. Raises ApiError."""
    data = policy_data(policy)
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
