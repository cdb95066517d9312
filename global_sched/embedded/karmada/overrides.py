"""OverridePolicies on the copy for one cluster; pure.

Cluster-wide policies come first, then those of the namespace; of one scope the ones that name the
template less closely come first, then by name, so that the closest has the last word.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
import yaml

from global_sched.embedded.apiserver.patch.json_patch import PatchError, json_patch
from global_sched.embedded.karmada.loop import NotNow
from global_sched.propagation.demand import pod_spec_of
from global_sched.propagation.fields import (
    ANNOTATIONS,
    LABELS,
    Obj,
    get,
    name_of,
    put,
)
from global_sched.propagation.selectors import Match, cluster_matches, match_template

APPLIED: Final = "policy.karmada.io/applied-overrides"
APPLIED_CLUSTER: Final = "policy.karmada.io/applied-cluster-overrides"


class OverrideError(NotNow):
    """An overrider cannot be applied; the message names its policy and says why."""


def applicable(policies: Iterable[Obj], template: Obj, cluster: Obj) -> list[tuple[str, Obj]]:
    """The overriders that concern a template in a cluster, with their policies' names, in order."""
    ranked: list[tuple[Match, str, Obj]] = []
    for policy in policies:
        selectors = get(policy, "spec", "resourceSelectors") or []
        match = match_template(selectors, template) if selectors else Match.ALL
        if match is not Match.NONE:
            ranked.append((match, name_of(policy), policy))
    ranked.sort(key=lambda one: one[:2])
    return [
        (name, overriders)
        for _, name, policy in ranked
        for overriders in _for_cluster(policy, cluster)
    ]


def _for_cluster(policy: Obj, cluster: Obj) -> Iterable[Obj]:
    spec = policy.get("spec") or {}
    rules = spec.get("overrideRules")
    if rules:
        for rule in rules:
            if cluster_matches(rule.get("targetCluster"), cluster):
                yield rule.get("overriders") or {}
    elif spec.get("overriders") and cluster_matches(spec.get("targetCluster"), cluster):
        yield spec["overriders"]


def apply_all(manifest: Obj, overriders: Iterable[tuple[str, Obj]]) -> str | None:
    """Apply overriders to a manifest in place; what was applied, as the Work's annotation.

    Raises:  OverrideError at the first that cannot be applied.
    """
    applied: list[Obj] = []
    for name, one in overriders:
        for field, apply in _APPLIERS.items():
            for item in one.get(field) or []:
                try:
                    apply(manifest, item)
                except (PatchError, ValueError, TypeError, LookupError, NotNow) as error:
                    raise OverrideError(f"override policy {name}, {field}: {error}") from error
        applied.append({"policyName": name, "overriders": one})
    return msgspec.json.encode(applied).decode() if applied else None


# --- one function per kind of overrider ------------------------------------------------------


def _plaintext(manifest: Obj, item: Obj) -> None:
    operation = {"op": item.get("operator"), "path": item.get("path")}
    if "value" in item:
        operation["value"] = item["value"]
    json_patch(manifest, [operation])


def _field(manifest: Obj, item: Obj) -> None:
    """A JSON or YAML document inside a text field."""
    pointer = str(item.get("fieldPath"))
    names = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    text = get(manifest, *names)
    if not isinstance(text, str):
        raise OverrideError(f"{pointer} is no text field")
    is_json = bool(item.get("json"))
    document = msgspec.json.decode(text) if is_json else yaml.safe_load(text)
    operations = [
        {"op": one.get("operator"), "path": one.get("subPath")}
        | ({"value": one["value"]} if "value" in one else {})
        for one in item.get("json") or item.get("yaml") or []
    ]
    document = json_patch(document, operations)
    changed = (
        msgspec.json.encode(document).decode()
        if is_json
        else yaml.safe_dump(document, sort_keys=False)
    )
    put(manifest, *names, value=changed)


def _map_overrider(*path: str) -> Callable[[Obj, Obj], None]:
    def apply(manifest: Obj, item: Obj) -> None:
        having: dict[str, Any] = dict(get(manifest, *path) or {})
        for key, value in (item.get("value") or {}).items():
            match item.get("operator"):
                case "remove":
                    having.pop(key, None)
                case "replace" if key not in having:
                    continue
                case "add" | "replace":
                    having[key] = value
                case other:
                    raise OverrideError(f"unknown operator {other!r}")
        put(manifest, *path, value=having)

    return apply


def _words(field: str) -> Callable[[Obj, Obj], None]:
    """Command or arguments of a container: values appended or removed."""

    def apply(manifest: Obj, item: Obj) -> None:
        for container in _containers(manifest):
            if container.get("name") != item.get("containerName"):
                continue
            words = list(container.get(field) or [])
            values = item.get("value") or []
            if item.get("operator") == "remove":
                words = [word for word in words if word not in values]
            else:
                words += values
            container[field] = words

    return apply


def _containers(manifest: Obj) -> list[Obj]:
    pod = pod_spec_of(manifest)
    return [*(pod.get("containers") or []), *(pod.get("initContainers") or [])]


def _image(manifest: Obj, item: Obj) -> None:
    path = get(item, "predicate", "path")
    if path:
        names = str(path).split("/")[1:]
        above: Any = manifest
        for name in names[:-1]:
            above = above[int(name)] if isinstance(above, list) else above[name]
        above[names[-1]] = _new_image(str(above[names[-1]]), item)
        return
    for container in _containers(manifest):
        if container.get("image"):
            container["image"] = _new_image(container["image"], item)


def _new_image(image: str, item: Obj) -> str:
    """The image with one of its three parts changed: registry, repository, tag or digest."""
    rest, digest_mark, digest = image.partition("@")
    first, slash, below = rest.partition("/")
    has_registry = slash and ("." in first or ":" in first or first == "localhost")
    registry, path = (first, below) if has_registry else ("", rest)
    repository, colon, tag = path.rpartition(":")
    if not colon:
        repository, tag = path, ""
    parts = {"Registry": registry, "Repository": repository, "Tag": digest if digest_mark else tag}
    component, value = str(item.get("component")), str(item.get("value") or "")
    match item.get("operator"):
        case "add":
            parts[component] += value
        case "replace":
            parts[component] = value
        case "remove":
            parts[component] = ""
        case other:
            raise OverrideError(f"unknown operator {other!r}")
    return _join_image(parts, digest=bool(digest_mark))


def _join_image(parts: Mapping[str, str], *, digest: bool) -> str:
    image = f"{parts['Registry']}/" if parts["Registry"] else ""
    image += parts["Repository"]
    if not parts["Tag"]:
        return image
    return f"{image}{'@' if digest or parts['Tag'].startswith('sha256:') else ':'}{parts['Tag']}"


_APPLIERS: Final[dict[str, Callable[[Obj, Obj], None]]] = {
    "imageOverrider": _image,
    "commandOverrider": _words("command"),
    "argsOverrider": _words("args"),
    "labelsOverrider": _map_overrider(*LABELS),
    "annotationsOverrider": _map_overrider(*ANNOTATIONS),
    "fieldOverrider": _field,
    "plaintext": _plaintext,
}
"""In the order in which they are applied."""
