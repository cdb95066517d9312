"""Carries out what a step decided: status, deletes, companions, PodGroup, pods.

Everything is repeatable: names are fixed, deletes name the uid, and what is there already is
recognised by its owner. What the API server refuses becomes a note for the Job's owner.
"""

import asyncio
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final

import msgspec

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.core import Pod
from global_sched.shared.api.resource import (
    CONFIGMAPS,
    POD_GROUPS,
    PODS,
    SERVICES,
    VOLCANO_JOBS,
    Resource,
)
from global_sched.shared.api.volcano import PodGroup, VolcanoJobStatus
from global_sched.shared.kube.client import Client, Propagation
from global_sched.shared.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    Unreachable,
)
from member_agent.jobs.outcome import JobOutcome, JobView, Note
from member_agent.jobs.plugins import companions
from member_agent.jobs.spec import read_spec
from member_agent.jobs.store import JobStore, owner_of
from member_agent.jobs.wire import RunJob

PARALLEL: Final = 16
"""Writes at once, of all Jobs together. With more the API server makes no more of them in a second,
and every one opens a connection of its own."""

Json = dict[str, Any]


class WriteRefusedError(RuntimeError):
    """The API server refused something that a Job needs; it is tried again later."""


class JobWriter:
    """Writes for one cluster's Jobs."""

    def __init__(self, client: Client, store: JobStore, *, group_status: bool) -> None:
        self._client = client
        self._store = store
        self._group_status = group_status
        self._gate = asyncio.Semaphore(PARALLEL)

    async def write_status(self, job: RunJob, status: VolcanoJobStatus) -> RunJob:
        """The Job with its new status.

        An answer that is lost is looked for: a restart must not be counted twice.

        Raises:  Conflict when it is no longer the version that was read.
        """
        try:
            written = await self._patch_status(job, status)
        except (Unreachable, ServerError):
            written = await self._client.get(
                VOLCANO_JOBS, job.metadata.name, namespace=job.metadata.namespace, type=RunJob
            )
            if written.metadata.uid != job.metadata.uid or written.status != status:
                raise
        self._store.put_job(written)
        return written

    async def _patch_status(self, job: RunJob, status: VolcanoJobStatus) -> RunJob:
        patch = difference(msgspec.to_builtins(job.status), msgspec.to_builtins(status))
        body = {"metadata": {"resourceVersion": job.metadata.resource_version}, "status": patch}
        async with self._gate:
            return await self._client.patch(
                VOLCANO_JOBS,
                job.metadata.name,
                body,
                namespace=job.metadata.namespace,
                subresource="status",
                type=RunJob,
            )

    async def carry_out(self, job: RunJob, view: JobView, outcome: JobOutcome) -> list[Note]:
        """Do all the rest; what was refused, as notes."""
        if outcome.delete_job:
            await _unless_gone(
                self._client.delete(
                    VOLCANO_JOBS,
                    job.metadata.name,
                    namespace=job.metadata.namespace,
                    uid=job.metadata.uid,
                    propagation=Propagation.BACKGROUND,
                )
            )
            return []
        await _together(self._delete_pod(pod) for pod in outcome.deletes)
        notes, _ = await _together(
            (self._companions(job, wanted=outcome.companions), self._group(job, view, outcome))
        )
        found = await _together(self._create_pod(job, body) for body in outcome.creates)
        return [*notes, *(note for note in found if note is not None)]

    async def _delete_pod(self, pod: Pod) -> None:
        meta = pod.metadata
        async with self._gate:
            await _unless_gone(
                self._client.delete(PODS, meta.name, namespace=meta.namespace, uid=meta.uid)
            )

    # --- PodGroup -------------------------------------------------------------------------

    async def _group(self, job: RunJob, view: JobView, outcome: JobOutcome) -> None:
        """Make, change or remove it."""
        namespace, group = job.metadata.namespace, view.group
        if outcome.create_group is not None:
            try:
                async with self._gate:
                    group = await self._client.create(
                        POD_GROUPS, outcome.create_group, namespace=namespace, type=PodGroup
                    )
            except AlreadyExists:
                return  # the watch will show it
            self._store.put_group(group)
        if group is None:
            return
        name = group.metadata.name
        if outcome.delete_group:
            uid = group.metadata.uid
            await _unless_gone(self._client.delete(POD_GROUPS, name, namespace=namespace, uid=uid))
            return
        if outcome.group_spec is not None:
            await self._patch_group(name, namespace, {"spec": outcome.group_spec}, None)
        if outcome.group_status is not None and self._group_status:
            await self._patch_group(name, namespace, {"status": outcome.group_status}, "status")

    async def _patch_group(
        self, name: str, namespace: str, body: Json, subresource: str | None
    ) -> None:
        try:
            async with self._gate:
                written = await self._client.patch(
                    POD_GROUPS,
                    name,
                    body,
                    namespace=namespace,
                    subresource=subresource,
                    type=PodGroup,
                )
        except NotFound:
            return
        self._store.put_group(written)

    # --- pods -----------------------------------------------------------------------------

    async def _create_pod(self, job: RunJob, body: Json) -> Note | None:
        name, namespace = body["metadata"]["name"], job.metadata.namespace
        try:
            async with self._gate:
                made = await self._client.create(PODS, body, namespace=namespace, type=Pod)
            self._store.put_pod(made)
        except AlreadyExists:
            there = await self._find(PODS, name, namespace)
            if there is not None and owner_of(there.metadata) != job.metadata.uid:
                return _warning("PodNameTaken", f"pod {name} exists and is not this Job's")
        except (Forbidden, Invalid, BadRequest) as error:
            return _warning("FailedCreate", f"pod {name}: {error.message}")
        return None

    async def _find(self, resource: Resource, name: str, namespace: str) -> KubeObject | None:
        try:
            return await self._client.get(resource, name, namespace=namespace, type=KubeObject)
        except NotFound:
            return None

    # --- the svc plugin's objects ---------------------------------------------------------

    async def _companions(self, job: RunJob, *, wanted: bool | None) -> list[Note]:
        if wanted is None:
            return []
        config_map, service = companions(job, read_spec(job))
        listed = [
            (resource, body)
            for resource, body in ((CONFIGMAPS, config_map), (SERVICES, service))
            if body is not None
        ]
        if not wanted:
            for resource, body in listed:
                await self._remove(resource, body["metadata"]["name"], job)
            return []
        memory = self._store.memory(job.metadata.uid)
        digest = sha256(msgspec.json.encode([body for _, body in listed])).hexdigest()
        if not listed or memory.hosts == digest:
            return []
        notes = await _together(self._ensure(resource, body, job) for resource, body in listed)
        refused = [note for note in notes if note is not None]
        if not refused:
            memory = self._store.memory(job.metadata.uid)
            self._store.memories[job.metadata.uid] = replace(memory, hosts=digest)
        return refused

    async def _ensure(self, resource: Resource, body: Json, job: RunJob) -> Note | None:
        """Create it, or bring the host lists up to date."""
        name, namespace = body["metadata"]["name"], job.metadata.namespace
        try:
            async with self._gate:
                await self._client.create(resource, body, namespace=namespace)
        except AlreadyExists:
            there = await self._find(resource, name, namespace)
            if there is None or owner_of(there.metadata) != job.metadata.uid:
                return _warning("NameTaken", f"{resource.kind} {name} exists and is not this Job's")
            if "data" in body:
                await self._client.patch(
                    resource, name, {"data": body["data"]}, namespace=namespace
                )
        except (Forbidden, Invalid, BadRequest) as error:
            return _warning("FailedCreate", f"{resource.kind} {name}: {error.message}")
        return None

    async def _remove(self, resource: Resource, name: str, job: RunJob) -> None:
        """Delete it, if it is this Job's."""
        namespace = job.metadata.namespace
        there = await self._find(resource, name, namespace)
        if there is not None and owner_of(there.metadata) == job.metadata.uid:
            await _unless_gone(
                self._client.delete(resource, name, namespace=namespace, uid=there.metadata.uid)
            )


def difference(old: Json, new: Json) -> Json:
    """The merge patch that turns `old` into `new`: what is gone becomes null."""
    patch: Json = {key: None for key in old if key not in new}
    for key, value in new.items():
        there = old.get(key)
        if isinstance(value, dict) and isinstance(there, dict):
            if inner := difference(there, value):
                patch[key] = inner
        elif there != value:
            patch[key] = value
    return patch


async def _unless_gone(delete: Awaitable[None]) -> None:
    """Delete; it is fine when it is gone already, or another of its name is there."""
    try:
        await delete
    except (NotFound, Conflict):
        return


async def _together(writes: Iterable[Awaitable[Any]]) -> list[Any]:
    """All results, in order; all have ended when the first failure is raised."""
    results = await asyncio.gather(*writes, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def _warning(reason: str, message: str) -> Note:
    return Note(reason=reason, message=message, warning=True)
