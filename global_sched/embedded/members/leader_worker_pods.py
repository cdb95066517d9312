"""The StatefulSets of a LeaderWorkerSet, and what its webhook fills into their pods. Pure.

Source:  LeaderWorkerSet v1: one StatefulSet of leaders, named like the set; each leader pod owns
         the StatefulSet of its workers, named like the leader, with ordinals from 1.
"""

import hashlib
from typing import Any, Final

from global_sched.embedded.members.cluster import owner_reference
from global_sched.embedded.members.revisions import template_hash
from global_sched.propagation.fields import Obj, annotations, get, labels, name_of, namespace_of
from global_sched.shared.api.names import (
    LWS_GROUP_INDEX,
    LWS_GROUP_KEY,
    LWS_LEADER_NAME,
    LWS_NAME,
    LWS_REVISION,
    LWS_SIZE,
    LWS_WORKER_INDEX,
)

LEADER: Final = "0"


def size_of(app: Obj) -> int:
    """Pods of a group."""
    return int(get(app, "spec", "leaderWorkerTemplate", "size") or 1)


def groups_of(app: Obj) -> int:
    """How many groups are asked for."""
    found = get(app, "spec", "replicas")
    return 1 if found is None else int(found)


def revision_of(app: Obj) -> str:
    """Changes with the templates."""
    return template_hash(get(app, "spec", "leaderWorkerTemplate"))


def leaders_of(app: Obj) -> Obj:
    """The StatefulSet of all leaders."""
    template = get(app, "spec", "leaderWorkerTemplate")
    own = {LWS_NAME: name_of(app), LWS_WORKER_INDEX: LEADER}
    marks = {LWS_NAME: name_of(app), LWS_REVISION: revision_of(app)}
    return _stateful_set(
        name_of(app),
        owner=app,
        selector=own,
        marks=marks,
        spec={
            "replicas": groups_of(app),
            "serviceName": name_of(app),
            "template": _template(
                template.get("leaderTemplate") or template["workerTemplate"],
                own | marks,
                {LWS_SIZE: str(size_of(app))},
            ),
        },
    )


def workers_of(app: Obj, leader: Obj) -> Obj:
    """The StatefulSet of one leader's workers."""
    shared = (LWS_NAME, LWS_GROUP_INDEX, LWS_GROUP_KEY)
    own = {key: labels(leader)[key] for key in shared}
    marks = own | {LWS_REVISION: labels(leader)[LWS_REVISION]}
    notes = {LWS_SIZE: str(size_of(app)), LWS_LEADER_NAME: name_of(leader)}
    return _stateful_set(
        name_of(leader),
        owner=leader,
        selector=own,
        marks=marks,
        spec={
            "replicas": size_of(app) - 1,
            "serviceName": name_of(app),
            "ordinals": {"start": 1},
            "template": _template(
                app["spec"]["leaderWorkerTemplate"]["workerTemplate"], marks, notes
            ),
        },
    )


def service_of(app: Obj) -> Obj:
    """The headless Service that all groups share."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": name_of(app),
            "namespace": namespace_of(app),
            "ownerReferences": [owner_reference(app)],
        },
        "spec": {
            "clusterIP": "None",
            "selector": {LWS_NAME: name_of(app)},
            "publishNotReadyAddresses": True,
        },
    }


def fill_pod(pod: Obj) -> Obj:
    """The pod with what the webhook of LeaderWorkerSets fills in; other pods as they are."""
    own = labels(pod)
    if LWS_NAME not in own:
        return pod
    parent, _, ordinal = name_of(pod).rpartition("-")
    if own.get(LWS_WORKER_INDEX) == LEADER:
        key = hashlib.sha1(  # noqa: S324 - a label of this kind, no secret
            f"{namespace_of(pod)}/{name_of(pod)}".encode()
        ).hexdigest()
        own |= {LWS_GROUP_INDEX: ordinal, LWS_GROUP_KEY: key}
        leader, place = name_of(pod), LEADER
    else:
        own |= {LWS_WORKER_INDEX: ordinal}
        leader, place = parent, ordinal
    pod["metadata"]["labels"] = own
    domain = get(pod, "spec", "subdomain") or own[LWS_NAME]
    values = {
        "LWS_LEADER_ADDRESS": f"{leader}.{domain}.{namespace_of(pod)}",
        "LWS_GROUP_SIZE": annotations(pod).get(LWS_SIZE, "1"),
        "LWS_WORKER_INDEX": place,
    }
    variables = [{"name": name, "value": value} for name, value in values.items()]
    pod["spec"]["containers"] = [
        {**one, "env": [*variables, *(one.get("env") or ())]}
        for one in pod["spec"].get("containers") or ()
    ]
    return pod


def _template(template: Obj, own: dict[str, str], notes: dict[str, str]) -> Obj:
    meta: dict[str, Any] = dict(template.get("metadata") or {})
    meta["labels"] = (meta.get("labels") or {}) | own
    meta["annotations"] = (meta.get("annotations") or {}) | notes
    return {**template, "metadata": meta}


def _stateful_set(
    name: str, *, owner: Obj, selector: dict[str, str], marks: dict[str, str], spec: Obj
) -> Obj:
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": name,
            "namespace": namespace_of(owner),
            "labels": marks,
            "ownerReferences": [owner_reference(owner)],
        },
        "spec": {
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector},
            **spec,
        },
    }
