"""Manifests tried on the live federation, as if `kubectl apply -f` had been run."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from global_sched.cache import State
from global_sched.cache.templates import key_of
from global_sched.cli.view import View
from global_sched.scenario import ScenarioError
from global_sched.scenario.play import Play
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.workload import Workload

Obj = dict[str, Any]


def tried(view: View, policies: Iterable[Obj], manifests: Sequence[Obj]) -> dict[str, WorkloadKey]:
    """The jobs of the manifests by `namespace/name`, put into the view's state.

    A job that is there already keeps its binding, its place and its room, as it would when its
    manifest is applied again; the others get the binding that Karmada would make. The view's
    snapshot and plan stay what they were before.

    Raises:  ScenarioError naming the object and the field that cannot be read.
    """
    play = Play(view.policy, state=view.state, now=view.now)
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
