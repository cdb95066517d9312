"""The detector: policies claim templates, and every claimed template has its binding."""

from typing import Final

from global_sched.embedded.karmada.context import BindingKey, ControllerContext, TemplateKey
from global_sched.embedded.karmada.loop import Loop, NotNow
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.binding_content import new_binding, updated_binding
from global_sched.propagation.claim import (
    PolicyClaim,
    choose,
    claim_of,
    claim_patch,
    claimed_by,
    claiming_policy,
    matches,
    policy_id,
    preempts,
    unclaim_patch,
)
from global_sched.propagation.fields import (
    Obj,
    deleting,
    get,
    key_of,
    kind_of,
    merge_difference,
    namespace_of,
    uid_of,
)
from global_sched.propagation.naming import binding_name, is_reserved
from global_sched.propagation.selectors import Match
from global_sched.shared.api.resource import PRIORITY_CLASSES
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.objects import ObjectKey

COMPONENT: Final = "resource-detector"
_IGNORED_METADATA: Final = ("managedFields", "resourceVersion", "generation")


class ApplyError(NotNow):
    """A policy cannot be applied to a template now; the message is for the template's owner."""


class Detector:
    """Reconciles templates; `policies.PolicyController` reconciles the policies themselves."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._mirrors: set[int] = set()
        self.loop: Loop[TemplateKey] = Loop("detector", self.reconcile, clock=context.clock)
        context.recorder(COMPONENT)

    def watch(self, kind: tuple[str, str]) -> Mirror | None:
        """The mirror of a template's kind, its changes reported here from the first time on."""
        mirror = self._context.control.mirror(kind)
        if mirror is not None and id(mirror) not in self._mirrors:
            self._mirrors.add(id(mirror))
            mirror.listen(self._changed)
        return mirror

    def _changed(self, old: Obj | None, new: Obj | None) -> None:
        """Status and bookkeeping of the server are no change of a template."""
        if new is None or is_reserved(namespace_of(new)):
            return
        if old is None or _specification(old) != _specification(new):
            self.loop.add(TemplateKey(kind=kind_of(new), key=key_of(new)))

    async def reconcile(self, key: TemplateKey) -> float | None:
        """Find the policy of a template, claim it, and bring its binding in line."""
        mirror = self._context.control.mirror(key.kind)
        template = mirror.get(key.key) if mirror is not None else None
        if mirror is None or template is None or deleting(template):
            return None  # garbage collection takes the binding
        policy = self._policy_for(template)
        if policy is None:
            await self._release(mirror, template)
            return None
        if not policy_id(policy):
            return None  # its controller brings it into shape, then comes back here
        if missing := self._missing_overrides(policy, template):
            raise ApplyError(f"dependentOverrides are not there yet: {', '.join(missing)}")
        try:
            await self._apply(mirror, template, policy)
        except ApplyError as error:
            note = f"Apply policy({key_of(policy)}) failed: {error}"
            self._context.warn(COMPONENT, template, "ApplyPolicyFailed", note)
            raise
        return None

    # --- which policy -----------------------------------------------------------------------

    def _policy_for(self, template: Obj) -> Obj | None:
        """The one that claims it while that is right, unless another one preempts it."""
        best = self._best(template)
        claimant = self._claimant(template)
        if claimant is None or best is None or policy_id(best) == policy_id(claimant):
            return claimant if claimant is not None else best
        if self._context.options.policy_preemption and preempts(best, claimant):
            return best
        return claimant

    def _best(self, template: Obj) -> Obj | None:
        namespace = namespace_of(template)
        local = [one for one in self._context.policies.all() if namespace_of(one) == namespace]
        found = choose(local, template) if namespace else None
        return found or choose(self._context.cluster_policies.all(), template)

    def _claimant(self, template: Obj) -> Obj | None:
        """The policy that the marks name, if it is still there and still means the template."""
        named = claiming_policy(template)
        if named is None:
            return None
        kind, key = named
        mirror = (
            self._context.policies
            if kind == "PropagationPolicy"
            else self._context.cluster_policies
        )
        policy = mirror.get(key)
        if policy is None or deleting(policy) or policy_id(policy) != claimed_by(template):
            return None
        return policy if matches(policy, template) is not Match.NONE else None

    def _missing_overrides(self, policy: Obj, template: Obj) -> list[str]:
        namespace = namespace_of(policy) or namespace_of(template)
        return [
            name
            for name in get(policy, "spec", "dependentOverrides") or []
            if self._context.overrides.get(ObjectKey(namespace, name)) is None
            and self._context.cluster_overrides.get(ObjectKey("", name)) is None
        ]

    # --- claim and bind ---------------------------------------------------------------------

    async def _release(self, mirror: Mirror, template: Obj) -> None:
        """Take the marks of a policy that is gone off a template and its binding."""
        binding = self._context.binding(self._binding_key(template))
        if binding is not None and (patch := unclaim_patch(binding)):
            await self._context.patch_binding(binding, patch)
        if patch := unclaim_patch(template):
            await self._patch_template(mirror, template, patch)

    async def _apply(self, mirror: Mirror, template: Obj, policy: Obj) -> None:
        claim = claim_of(policy)
        if not claim.on(template):
            patch = claim_patch(template, claim)
            template = await self._patch_template(mirror, template, patch)
        priority = await self._priority(template, policy)
        key = self._binding_key(template)
        binding = self._context.binding(key)
        if binding is None:
            await self._create(key, template, policy, claim, priority)
            return
        self._check_owner(binding, template)
        wanted = updated_binding(binding, template, policy, claim, priority=priority)
        if patch := merge_difference(binding, wanted):
            await self._context.patch_binding(binding, patch)

    async def _create(
        self, key: BindingKey, template: Obj, policy: Obj, claim: PolicyClaim, priority: int | None
    ) -> None:
        binding = new_binding(
            template, policy, claim, id_=self._context.new_id(), priority=priority
        )
        done = await self._context.client.create(
            key.resource, binding, namespace=key.key.namespace or None
        )
        self._context.bindings_of(key).note(done)

    async def _patch_template(self, mirror: Mirror, template: Obj, patch: Obj) -> Obj:
        key = key_of(template)
        done = await self._context.client.patch(
            mirror.resource, key.name, patch, namespace=key.namespace or None
        )
        mirror.note(done)
        return done

    @staticmethod
    def _check_owner(binding: Obj, template: Obj) -> None:
        """Two kinds of one name share the binding's name: the first one keeps it."""
        for owner in get(binding, "metadata", "ownerReferences") or []:
            if owner.get("controller") and owner.get("uid") != uid_of(template):
                raise ApplyError(
                    f"the binding {key_of(binding)} belongs to the {owner.get('kind')} "
                    f"{owner.get('name')} of {owner.get('apiVersion')}; rename one of the two"
                )
        if deleting(binding):
            raise ApplyError(f"the binding {key_of(binding)} of an earlier object is still going")

    async def _priority(self, template: Obj, policy: Obj) -> int | None:
        """The binding's schedulePriority; only ResourceBindings have one."""
        wanted = get(policy, "spec", "schedulePriority")
        if not wanted or not namespace_of(template):
            return None
        name = str(wanted.get("priorityClassName"))
        try:
            found = await self._context.client.get(PRIORITY_CLASSES, name)
        except NotFound as error:
            raise ApplyError(f"the PriorityClass {name} does not exist: create it") from error
        return int(found.get("value") or 0)

    @staticmethod
    def _binding_key(template: Obj) -> BindingKey:
        key = key_of(template)
        name = binding_name(template["kind"], key.name)
        return BindingKey(key=ObjectKey(key.namespace, name))


def _specification(obj: Obj) -> Obj:
    rest = {key: value for key, value in obj.items() if key != "status"}
    rest["metadata"] = {
        key: value for key, value in obj["metadata"].items() if key not in _IGNORED_METADATA
    }
    return rest
