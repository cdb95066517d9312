"""Manifests tried on the live federation, as if `kubectl apply -f` had been run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import yaml

from global_sched.cache import State
from global_sched.cache.stores.templates import key_of
from global_sched.dispatch.policy_map import POLICY_KEY
from global_sched.scenario import ScenarioError
from global_sched.scenario.simulator import Simulator
from global_sched.settings import SettingsError, read_policy
from global_sched.shared.api import yaml_text
from global_sched.shared.api.names import POLICY_CONFIG_MAP
from global_sched.shared.api.resource import (
    CLUSTER_PROPAGATION_POLICIES,
    PRIORITY_CLASSES,
    PROPAGATION_POLICIES,
    QUEUES,
    TENANTS,
)
from global_sched.shared.json_values import merge_patch
from global_sched.shared.kinds import KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden, NotFound
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Workload
from global_sched.view.jobs import row_of
from global_sched.view.look import View
from global_sched.view.text import Row

Obj = dict[str, Any]
SHARED: Final = {(one.api_version, one.kind): one for one in (QUEUES, TENANTS, PRIORITY_CLASSES)}
"""What jobs share: a change of it is tried without any job of the file."""
_SETTINGS_MAP: Final = "global-sched-settings"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfInput:
    """What a command was given to try: manifests, and a Policy in place of the one in force."""

    manifests: tuple[Obj, ...]
    policy: Policy | None = None

    @property
    def shares(self) -> bool:
        """Whether it changes what jobs share, so that it says something without a job."""
        kinds = {(one.get("apiVersion"), one.get("kind")) for one in self.manifests}
        return self.policy is not None or bool(kinds & SHARED.keys())


def read_trial(documents: Iterable[Obj]) -> WhatIfInput:
    """The documents of files: a Policy is a settings file or a ConfigMap that holds one.

    Raises:  ScenarioError naming the setting that cannot be used.
    """
    manifests = []
    policy = None
    for document in documents:
        try:
            found = _policy_of(document)
        except SettingsError as error:
            raise ScenarioError(str(error)) from error
        if found is None:
            manifests.append(document)
        else:
            policy = found
    return WhatIfInput(manifests=tuple(manifests), policy=policy)


def _policy_of(document: Obj) -> Policy | None:
    """The Policy in settings (`policy: ...`), in their ConfigMap, or in the published one."""
    if "kind" not in document:
        return read_policy(document["policy"] or {}) if "policy" in document else None
    if document["kind"] != "ConfigMap":
        return None
    match (document.get("metadata") or {}).get("name"):
        case name if name == _SETTINGS_MAP:
            return read_policy(_data(document, "settings.yaml").get("policy") or {})
        case name if name == POLICY_CONFIG_MAP:
            return read_policy(_data(document, POLICY_KEY))
        case _:
            return None


def _data(config_map: Obj, key: str) -> Obj:
    """What a key of a ConfigMap holds, as YAML (of which JSON is a part); empty without the key.

    Raises:  SettingsError naming the ConfigMap and the field.
    """
    where = f"ConfigMap {config_map['metadata']['name']}: data"
    data = config_map.get("data") or {}
    if not isinstance(data, dict):
        raise SettingsError(f"{where} is not an object")
    try:
        found = yaml_text.read(str(data.get(key, ""))) or {}
    except yaml.YAMLError as error:
        raise SettingsError(f"{where}.{key}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict):
        raise SettingsError(f"{where}.{key} is not an object")
    return found


def applied(live: Obj, manifest: Obj) -> Obj:
    """The object after `kubectl apply` of the manifest.

    What only the live one has stays; what the last version of the manifest had and this one has
    not goes.

    Raises:  ScenarioError for an object whose last version cannot be read; kubectl refuses it too.
    """
    annotations = live["metadata"].get("annotations") or {}
    try:
        last = msgspec.json.decode(annotations.get(_LAST_APPLIED) or "{}", type=Obj)
    except msgspec.DecodeError as error:
        name = f"{manifest.get('kind')} {live['metadata'].get('name')}"
        raise ScenarioError(
            f"{name}: its annotation {_LAST_APPLIED} cannot be read: {error}; remove it"
        ) from error
    found: Obj = merge_patch(merge_patch(live, _gone(last, manifest)), manifest)
    # As the newest state of it: the trial counts versions of its own.
    found["metadata"].pop("resourceVersion", None)
    return found


def _gone(last: Obj, manifest: Obj) -> Obj:
    """A merge patch that takes away what only the last version had."""
    patch: Obj = {}
    for key, value in last.items():
        if key not in manifest:
            patch[key] = None
        elif isinstance(value, dict) and isinstance(manifest[key], dict):
            patch[key] = _gone(value, manifest[key])
    return patch


async def try_live(client: Client, view: View, trial: WhatIfInput) -> dict[str, WorkloadKey]:
    """The trial's jobs by `namespace/name`, put into the view's state with the live policies.

    Raises:  ScenarioError naming the object and the field that cannot be read; ApiError.
    """
    manifests = await _applied(client, trial)
    return tried(view, await _live_policies(client), manifests)


def tried(view: View, policies: Iterable[Obj], manifests: Sequence[Obj]) -> dict[str, WorkloadKey]:
    """The jobs of the manifests by `namespace/name`, put into the view's state.

    A job that is there already keeps its binding, its place and its room, as it would when its
    manifest is applied again; the others get the binding that Karmada would make. The view's
    snapshot and plan stay what they were before.

    Raises:  ScenarioError naming the object and the field that cannot be read.
    """
    play = Simulator(view.policy, state=view.state, now=view.now)
    for policy in policies:
        play.apply(policy)
    changed: dict[str, WorkloadKey] = {}
    for manifest in manifests:
        live = _live(view.state, manifest)
        if live is None:
            play.apply(manifest)
        else:
            _change(view.state, live, manifest)
            changed[f"{live.namespace}/{live.name}"] = live.key
    play.propagate()
    return play.keys | changed


def _live(state: State, manifest: Obj) -> Workload | None:
    """The job that a manifest would change."""
    meta = manifest.get("metadata") or {}
    wanted = (manifest.get("apiVersion"), manifest.get("kind"), meta.get("name"))
    namespace = meta.get("namespace", "default")
    found = (one for one in state.workloads() if one.namespace == namespace)
    return next(
        (one for one in found if (one.demand.api_version, one.demand.kind, one.name) == wanted),
        None,
    )


def _change(state: State, live: Workload, manifest: Obj) -> None:
    """Read the manifest as the newest version of a live template."""
    reader = KINDS.get((live.demand.api_version, live.demand.kind))
    if reader is None:
        return  # a kind without demand: its content changes nothing
    facts = state.templates.get(key_of(reader, live.namespace, live.name))
    if facts is None:
        return
    where = f"{live.demand.kind} {live.namespace}/{live.name}"
    meta = manifest["metadata"] | {
        "namespace": live.namespace,
        "uid": facts.uid,
        "resourceVersion": facts.version,
    }
    try:
        state.upsert_template(reader, msgspec.convert(manifest | {"metadata": meta}, reader.wire))
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{where}: {error}") from error


def planned(view: View, key: WorkloadKey, plan: Plan) -> Row:
    """A row of `gsched jobs`, with what the plan would admit filled in."""
    workload = view.state.workload(key)
    assert workload is not None, key
    outcome = next((one for one in plan.outcomes if one.workload == key), None)
    row = row_of(workload, outcome, view.now)
    admission = next((one for one in plan.admissions if one.workload == key), None)
    if admission is None:
        return row
    grants = admission.decision.grants
    gang = workload.demand.gang
    pods = sum(grant.amounts.pods() for grant in grants)
    return row | {
        "state": "Would change" if workload.targets else "Would start",
        "clusters": [str(target.cluster) for target in admission.targets],
        "domain": grants[0].domain if len(grants) == 1 else None,
        "tier": grants[0].tier if len(grants) == 1 else None,
        "pods": None if gang is None else {"admitted": pods, "wanted": gang.pods()},
        "verdict": "FIT",
        "detail": None,
    }


def displaced(before: Plan, after: Plan, own: frozenset[WorkloadKey]) -> list[str]:
    """Jobs of others that would be admitted now, and would not with the file."""
    admitted = {one.workload for one in after.admissions}
    return [one.workload for one in before.admissions if one.workload not in admitted | own]


async def _live_policies(client: Client) -> list[Obj]:
    """The policies on the control plane; a caller who may not list them tries the file's only."""
    found: list[Obj] = []
    for resource in (PROPAGATION_POLICIES, CLUSTER_PROPAGATION_POLICIES):
        try:
            listing = await client.list(resource, type=dict)
        except (Forbidden, NotFound):
            continue
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        found.extend(kind | item for item in listing.items)
    return found


async def _applied(client: Client, trial: WhatIfInput) -> list[Obj]:
    """The manifests as `kubectl apply` would store them: what a live object has besides stays."""
    found = []
    for manifest in trial.manifests:
        resource = SHARED.get((str(manifest.get("apiVersion")), str(manifest.get("kind"))))
        if resource is None:
            found.append(manifest)
            continue
        try:
            live = await client.get(resource, str((manifest.get("metadata") or {}).get("name")))
        except NotFound:
            live = None
        found.append(manifest if live is None else applied(dict(live), manifest))
    return found
