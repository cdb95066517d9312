"""Objects that control pods: whose they are, and what of them makes a minimum."""

from typing import Any

from global_sched.shared.api import names
from global_sched.shared.api.base import KubeObject
from global_sched.shared.kinds import CountError, OwnerFacts, kind_of
from global_sched.shared.model.strict_json import TEXT_LIMIT
from member_agent.cache.reading import ReadError, binding_of, notes_of, owner_ref
from member_agent.cache.records import OwnerRecord


def owner_type(api_version: str, kind: str) -> type[Any]:
    """What an object that controls pods is decoded into: no pod templates."""
    known = kind_of(api_version, kind)
    return KubeObject if known is None else known.owner


def read_owner(obj: Any, api_version: str, kind: str) -> OwnerRecord:
    """The record of an object that controls pods, decoded into its `owner_type`.

    Raises:  ReadError for counts out of range.
    """
    meta = obj.metadata
    facts = _facts(obj, api_version, kind)
    return OwnerRecord(
        uid=meta.uid,
        api_version=api_version,
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        deleting=meta.deletion_timestamp is not None,
        owner=owner_ref(meta.controller()),
        binding=binding_of(meta),
        minimum=facts.minimum,
        tasks=facts.tasks,
        notes=notes_of(meta),
        groups=facts.groups,
        below=facts.below,
        recovery=meta.annotation(names.RECOVERY)[: TEXT_LIMIT + 1],
    )


def _facts(obj: Any, api_version: str, kind: str) -> OwnerFacts:
    known = kind_of(api_version, kind)
    if known is None:
        return OwnerFacts()
    try:
        return known.facts(obj)
    except CountError as error:
        raise ReadError(str(error)) from error
