"""Portraits of a federation once the examples are decided: without names, ids and times.

Two federations that behave alike have equal portraits. Ids are replaced by what they stand for,
times by whether there is one, and everything else stays: what differs is a difference.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION, execution_namespace
from global_sched.shared.kube.client import Client
from tests.e2e.examples import TEAMS, bindings

Obj = dict[str, Any]
Portrait = dict[str, Any]

_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_SERVERS_OWN: Final = ("resourceVersion", "uid", "managedFields", "selfLink", "generation")
_DURATIONS: Final = ("runningDuration",)
_COUNTERS: Final = ("observedGeneration",)
"""Of copies in members: a Deployment counts its annotations, and the agent writes its plan there
once per batch of pods that came together."""
_IMPERSONATION: Final = "karmada-impersonator-"
"""Rights of people who look into members through the control plane; the embedded federation has
no such proxy (docs/embedded.md)."""
_DECISION_IDS: Final = ("id", "epoch", "at", "since")


async def of(control: Client, members: Mapping[str, Client]) -> Portrait:
    """Every binding, every Work, and where every pod of the examples is."""
    found: Portrait = {}
    for one in await bindings(control):
        found[_name("binding", one)] = _binding(one)
    for member in members:
        listing = await control.list(kinds.WORKS, namespace=execution_namespace(member))
        for one in listing.items:
            if not one["metadata"]["name"].startswith(_IMPERSONATION):
                found[_name("work", one)] = _work(one)
    for resource in (kinds.VOLCANO_JOBS, kinds.PYTORCH_JOBS, kinds.DEPLOYMENTS):
        for one in (await control.list(resource)).items:
            if one["metadata"]["namespace"] in TEAMS:
                found[_name("template", one)] = _plain(one.get("status") or {})
    for member, client in members.items():
        for one in (await client.list(kinds.PODS)).items:
            if one["metadata"]["namespace"] in TEAMS:
                _note_pod(found, member, one)
    return found


def differences(embedded: Portrait, real: Portrait) -> list[str]:
    """Every place where the two differ, as `object path: embedded … real …`."""
    found: list[str] = []
    for name in sorted({*embedded, *real}):
        if name not in real:
            found.append(f"{name}: only in the embedded federation")
        elif name not in embedded:
            found.append(f"{name}: only in the real one")
        else:
            found += [f"{name} {text}" for text in _apart(embedded[name], real[name], "")]
    return found


def _apart(left: Any, right: Any, path: str) -> list[str]:
    if isinstance(left, dict) and isinstance(right, dict):
        return [
            text
            for key in sorted({*left, *right})
            for text in _apart(left.get(key), right.get(key), f"{path}.{key}")
        ]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        return [
            text
            for at, (one, two) in enumerate(zip(left, right, strict=True))
            for text in _apart(one, two, f"{path}[{at}]")
        ]
    if left == right:
        return []
    return [f"{path}: embedded {json.dumps(left)}, real {json.dumps(right)}"]


def _name(what: str, obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{what} {meta.get('namespace', '')}/{meta['name']}"


def _note_pod(found: Portrait, member: str, pod: Obj) -> None:
    """A pod by name; those of a ReplicaSet have random ones and are counted by rack instead.

    They come one by one, and on which node of its rack each goes depends on who was there first.
    """
    meta, node = pod["metadata"], pod["spec"].get("nodeName", "")
    told = {"phase": pod["status"]["phase"], "scheduler": pod["spec"]["schedulerName"]}
    owners = [one["kind"] for one in meta.get("ownerReferences") or ()]
    if "ReplicaSet" not in owners:
        found[f"pod {member} {meta['namespace']}/{meta['name']}"] = told | {"node": node}
        return
    base = str(meta["generateName"]).rstrip("-").rpartition("-")[0]
    name = f"pods {member} {meta['namespace']}/{base} in {node.rpartition('-')[0]}"
    found[name] = told | {"count": found.get(name, {}).get("count", 0) + 1}


def _binding(obj: Obj) -> Obj:
    status = obj.get("status") or {}
    observed = status.get("schedulerObservedGeneration")
    return {
        "metadata": _metadata(obj),
        "spec": _plain(obj["spec"]),
        "status": _plain(_copies(status))
        | {
            "conditions": _conditions(status.get("conditions")),
            "schedulerObservedGeneration": "now"
            if observed == obj["metadata"]["generation"]
            else "never"
            if observed is None
            else "before",
        },
    }


def _work(obj: Obj) -> Obj:
    status = obj.get("status") or {}
    return {
        "metadata": _metadata(obj),
        "spec": _plain(obj["spec"]),
        "status": _plain(_copies(status)) | {"conditions": _conditions(status.get("conditions"))},
    }


def _copies(status: Obj) -> Obj:
    """A status whose parts from members do not count their generations."""
    found = dict(status)
    for key in ("aggregatedStatus", "manifestStatuses"):
        if key in found:
            found[key] = [
                one | {"status": _uncounted(one["status"])} if one.get("status") else one
                for one in found[key]
            ]
    return found


def _uncounted(status: Obj) -> Obj:
    return {key: "COUNT" if key in _COUNTERS else value for key, value in status.items()}


def _metadata(obj: Obj) -> Obj:
    meta = obj["metadata"]
    annotations = dict(meta.get("annotations") or {})
    if DECISION in annotations:
        record = json.loads(annotations[DECISION])
        annotations[DECISION] = _plain(
            {key: value for key, value in record.items() if key not in _DECISION_IDS}
        )
    return {
        "labels": _plain(meta.get("labels") or {}),
        "annotations": _plain({key: _decoded(value) for key, value in annotations.items()}),
        "finalizers": sorted(meta.get("finalizers") or ()),
        "owners": _plain(meta.get("ownerReferences") or []),
    }


def _decoded(value: Any) -> Any:
    """An annotation that is JSON, as what it says: key order is free there."""
    if isinstance(value, str) and value[:1] in "[{":
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _conditions(listed: list[Obj] | None) -> dict[str, Any]:
    """Conditions by type, their order being free."""
    return {one["type"]: _plain(one) for one in listed or ()}


def _plain(value: Any) -> Any:
    """The value with ids and times replaced; fields that are empty count as absent."""
    rules: dict[type, Callable[[Any], Any]] = {
        dict: lambda found: {
            key: "DURATION" if key in _DURATIONS else made
            for key, one in sorted(found.items())
            if key not in _SERVERS_OWN and (made := _plain(one)) not in ({}, [], None)
        },
        list: lambda found: [_plain(one) for one in found],
        str: lambda found: _TIME.sub("TIME", _UUID.sub("ID", found)),
    }
    rule = rules.get(type(value))
    return rule(value) if rule else value
