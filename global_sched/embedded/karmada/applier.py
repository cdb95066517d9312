"""Writes manifests into members, and remembers which version of each came from here."""

import copy

from global_sched.embedded.karmada.context import ControllerContext
from global_sched.embedded.karmada.interpreter.copies import retained
from global_sched.embedded.karmada.loop import NotNow
from global_sched.embedded.karmada.manifests import CONFLICT_RESOLUTION
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    generation_of,
    get,
    key_of,
    kind_of,
    labels,
    version_of,
)
from global_sched.shared.api.names import MANAGED, WORK_NAME, WORK_NAMESPACE
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Propagation
from global_sched.shared.kube.errors import AlreadyExists, NotFound

MANAGED_SELECTOR = f"{MANAGED}=true"


class ApplyRefusedError(NotNow):
    """A manifest cannot be applied as things are; the message says what is in the way."""


class Applier:
    """The only writer of propagated objects in the members."""

    def __init__(self, context: ControllerContext) -> None:
        self._context = context
        self._written: dict[tuple[str, str, str, str, str], str] = {}

    def mirror(self, cluster: str, manifest: Obj) -> Mirror | None:
        """The mirror of managed objects of a manifest's kind in a member."""
        member = self._context.members.get(cluster)
        if member is None:
            return None
        return member.mirror(kind_of(manifest), label_selector=MANAGED_SELECTOR)

    async def apply(self, cluster: str, manifest: Obj) -> Obj:
        """Create the object, or update it so that it is as the manifest says.

        Raises:  ApplyRefusedError; ApiError.
        """
        mirror = self._reach(cluster, manifest)
        client = self._context.members[cluster].client
        key = key_of(manifest)
        observed = mirror.get(key)
        if observed is None:
            try:
                done = await client.create(
                    mirror.resource, copy.deepcopy(manifest), namespace=key.namespace or None
                )
            except AlreadyExists:
                observed = await client.get(
                    mirror.resource, key.name, namespace=key.namespace or None
                )
            else:
                self._remember(cluster, mirror, done)
                return done
        self._check_ownership(cluster, manifest, observed)
        if deleting(observed):
            raise ApplyRefusedError(f"{_describe(manifest)} in {cluster} is still being deleted")
        wanted = retained(manifest, observed)
        if wanted == observed:
            self._remember(cluster, mirror, observed)
            return observed
        done = await client.replace(
            mirror.resource, key.name, wanted, namespace=key.namespace or None
        )
        self._remember(cluster, mirror, done)
        return done

    def _reach(self, cluster: str, manifest: Obj) -> Mirror:
        if cluster not in self._context.members:
            raise ApplyRefusedError(f"no credentials for the cluster {cluster}")
        mirror = self.mirror(cluster, manifest)
        if mirror is None:
            api_version, kind = kind_of(manifest)
            raise ApplyRefusedError(f"the cluster {cluster} does not serve {kind} of {api_version}")
        return mirror

    @staticmethod
    def _check_ownership(cluster: str, manifest: Obj, observed: Obj) -> None:
        """An object that did not come from here is overwritten only when the policy says so.

        Namespaces are shared by nature: one that exists is taken as it is.
        """
        mine = labels(observed).get(MANAGED) == "true"
        same = all(
            annotations(observed).get(name) == annotations(manifest).get(name)
            for name in (WORK_NAME, WORK_NAMESPACE)
        )
        if (mine and same) or manifest.get("kind") == "Namespace":
            return
        if annotations(manifest).get(CONFLICT_RESOLUTION) == "overwrite":
            return
        raise ApplyRefusedError(
            f"{_describe(manifest)} exists in {cluster} and was not made by this Work; "
            "conflictResolution: Overwrite in the policy would take it over"
        )

    async def delete(self, cluster: str, manifest: Obj) -> None:
        """Delete the object in the background, if it came from this Work."""
        if cluster not in self._context.members:
            return
        mirror = self.mirror(cluster, manifest)
        if mirror is None or manifest.get("kind") == "Namespace":
            return
        client = self._context.members[cluster].client
        key = key_of(manifest)
        namespace = key.namespace or None
        try:
            observed = mirror.get(key)
            if observed is None:
                observed = await client.get(mirror.resource, key.name, namespace=namespace)
            if not self._is_mine(manifest, observed):
                return
            await client.delete(
                mirror.resource,
                key.name,
                namespace=namespace,
                uid=get(observed, "metadata", "uid"),
                propagation=Propagation.BACKGROUND,
            )
        except NotFound:
            pass
        self._written.pop(_written_key(cluster, mirror.resource, manifest), None)

    @staticmethod
    def _is_mine(manifest: Obj, observed: Obj) -> bool:
        return labels(observed).get(MANAGED) == "true" and all(
            annotations(observed).get(name) == annotations(manifest).get(name)
            for name in (WORK_NAME, WORK_NAMESPACE)
        )

    def is_foreign_change(self, cluster: str, resource: Resource, observed: Obj) -> bool:
        """Whether another client has changed an object since it was last written from here."""
        written = self._written.get(_written_key(cluster, resource, observed))
        return written is not None and written != _version(observed)

    def _remember(self, cluster: str, mirror: Mirror, done: Obj) -> None:
        mirror.note(done)
        self._written[_written_key(cluster, mirror.resource, done)] = _version(done)


def _version(obj: Obj) -> str:
    """The generation where there is one, so that a changed status does not count."""
    generation = generation_of(obj)
    return f"gen:{generation}" if generation else f"rv:{version_of(obj)}"


def _written_key(cluster: str, resource: Resource, obj: Obj) -> tuple[str, str, str, str, str]:
    key = key_of(obj)
    return cluster, resource.group, resource.kind, key.namespace, key.name


def _describe(manifest: Obj) -> str:
    return f"{manifest.get('kind')} {key_of(manifest)}"
