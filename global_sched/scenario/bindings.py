"""Templates and policies to the bindings that Karmada would make of them."""

import copy

from global_sched.propagation.admission import admitted_policy
from global_sched.propagation.binding_content import new_binding, updated_binding
from global_sched.propagation.claim import choose, claim_of
from global_sched.propagation.fields import Obj, namespace_of

POLICY_KINDS = ("PropagationPolicy", "ClusterPropagationPolicy")


class Propagation:
    """Claims templates for policies, namespaced ones first, as Karmada's detector does."""

    def __init__(self) -> None:
        self._policies: list[Obj] = []

    def add_policy(self, policy: Obj) -> None:
        """A policy with what the webhook fills in."""
        copied = copy.deepcopy(policy)
        copied.setdefault("metadata", {})
        name = f"{policy['kind']}-{namespace_of(policy)}-{policy['metadata']['name']}"
        self._policies.append(admitted_policy(copied, name.lower))

    def binding_of(self, template: Obj, binding_id: str) -> Obj | None:
        """The binding of a template, None when no policy selects it."""
        policy = self._policy_of(template)
        if policy is None:
            return None
        return new_binding(template, policy, claim_of(policy), id_=binding_id, priority=None)

    def updated(self, binding: Obj, template: Obj) -> Obj:
        """The binding after a change of its template."""
        policy = self._policy_of(template)
        if policy is None:
            return binding
        return updated_binding(binding, template, policy, claim_of(policy), priority=None)

    def _policy_of(self, template: Obj) -> Obj | None:
        namespace = namespace_of(template)
        scopes = (
            [
                p
                for p in self._policies
                if p["kind"] == POLICY_KINDS[0] and namespace_of(p) == namespace
            ],
            [p for p in self._policies if p["kind"] == POLICY_KINDS[1]],
        )
        return next((found for scope in scopes if (found := choose(scope, template))), None)
