"""Propagation policies of both scopes: defaults and ids, which kinds to watch, what they free."""

from dataclasses import dataclass

from global_sched.embedded.karmada.context import ControllerContext, TemplateKey
from global_sched.embedded.karmada.detector import Detector
from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.admission import admitted_policy
from global_sched.propagation.claim import (
    CLUSTER_POLICY_FINALIZER,
    POLICY_FINALIZER,
    claimed_by,
    matches,
    policy_id,
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
)
from global_sched.propagation.naming import is_reserved
from global_sched.propagation.selectors import Match
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.objects import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKey:
    """A policy of either scope; an empty namespace is a ClusterPropagationPolicy."""

    key: ObjectKey

    def __str__(self) -> str:
        return str(self.key)


class PolicyController:
    """Reconciles policies and tells the detector which templates to look at."""

    def __init__(self, context: ControllerContext, detector: Detector) -> None:
        self._context = context
        self._detector = detector
        self.loop: Loop[PolicyKey] = Loop("policies", self.reconcile, clock=context.clock)
        for mirror in (context.policies, context.cluster_policies):
            mirror.listen(self._changed)
        context.control.changed.append(self._look_at_all)

    def _changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            return
        if old is None or old.get("spec") != new.get("spec") or deleting(old) != deleting(new):
            self.loop.add(PolicyKey(key=key_of(new)))

    def _look_at_all(self) -> None:
        """A kind that was not served before may be now."""
        for mirror in (self._context.policies, self._context.cluster_policies):
            for policy in mirror.all():
                self.loop.add(PolicyKey(key=key_of(policy)))

    def _mirror(self, key: PolicyKey) -> Mirror:
        return self._context.policies if key.key.namespace else self._context.cluster_policies

    async def reconcile(self, key: PolicyKey) -> float | None:
        """Bring one policy into shape, and its templates to the detector."""
        mirror = self._mirror(key)
        policy = mirror.get(key.key)
        if policy is None:
            return None
        if deleting(policy):
            await self._free(mirror, policy)
            return None
        if patch := merge_difference(policy, admitted_policy(policy, self._context.new_id)):
            policy = await self._patch(mirror, policy, patch)
        await self._let_go(policy)
        self._look_for_templates(policy)
        return None

    async def _patch(self, mirror: Mirror, policy: Obj, patch: Obj) -> Obj:
        key = key_of(policy)
        guarded = patch.get("metadata", {}) | {
            "resourceVersion": policy["metadata"]["resourceVersion"]
        }
        done = await self._context.client.patch(
            mirror.resource,
            key.name,
            patch | {"metadata": guarded},
            namespace=key.namespace or None,
        )
        mirror.note(done)
        return done

    def _look_for_templates(self, policy: Obj) -> None:
        """A lazy policy's change waits until its templates change themselves."""
        lazy = get(policy, "spec", "activationPreference") == "Lazy"
        for selector in get(policy, "spec", "resourceSelectors") or []:
            kind = (str(selector.get("apiVersion")), str(selector.get("kind")))
            mirror = self._detector.watch(kind)
            if mirror is None:
                continue
            for template in mirror.all():
                if is_reserved(namespace_of(template)):
                    continue
                if lazy and claimed_by(template) == policy_id(policy):
                    continue
                if matches(policy, template) is not Match.NONE:
                    self._detector.loop.add(TemplateKey(kind=kind, key=key_of(template)))

    def _claimed(self, policy: Obj) -> list[Obj]:
        value = policy_id(policy)
        if not value:
            return []
        mirrors = (self._context.bindings, self._context.cluster_bindings)
        return [binding for mirror in mirrors for binding in mirror.indexed(("policy", value))]

    async def _let_go(self, policy: Obj) -> None:
        """Free the templates that a changed policy no longer means."""
        for binding in self._claimed(policy):
            template = await self._context.template(get(binding, "spec", "resource") or {})
            if template is None or matches(policy, template) is not Match.NONE:
                continue
            await self._unclaim(binding, template)

    async def _free(self, mirror: Mirror, policy: Obj) -> None:
        """Take the marks off everything that the policy claims, then let it go.

        The bindings stay with their clusters: a deleted policy stops nothing that runs.
        """
        for binding in self._claimed(policy):
            template = await self._context.template(get(binding, "spec", "resource") or {})
            await self._unclaim(binding, template)
        finalizer = POLICY_FINALIZER if namespace_of(policy) else CLUSTER_POLICY_FINALIZER
        finalizers = get(policy, "metadata", "finalizers") or []
        if finalizer in finalizers:
            rest = [one for one in finalizers if one != finalizer]
            await self._patch(mirror, policy, {"metadata": {"finalizers": rest}})

    async def _unclaim(self, binding: Obj, template: Obj | None) -> None:
        if patch := unclaim_patch(binding):
            await self._context.patch_binding(binding, patch)
        if template is None:
            return
        kind, key = kind_of(template), key_of(template)
        mirror = self._context.control.mirror(kind)
        patch = unclaim_patch(template)
        if mirror is not None and patch:
            try:
                done = await self._context.client.patch(
                    mirror.resource, key.name, patch, namespace=key.namespace or None
                )
            except NotFound:
                return
            mirror.note(done)
        self._detector.loop.add(TemplateKey(kind=kind, key=key))
