"""Selectors of templates, with their closeness, and affinities of clusters."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from global_sched.propagation.fields import Obj, get, kind_of, labels, name_of, namespace_of
from global_sched.shared.model.label_selectors import json_selects


class Match(IntEnum):
    """How closely a selector names a template: the implicit priority of its policy."""

    NONE = 0
    ALL = 1
    LABELS = 2
    NAME = 3


def match_template(selectors: Iterable[Obj], template: Obj) -> Match:
    """The closest match among a policy's selectors."""
    return max((_match_one(selector, template) for selector in selectors), default=Match.NONE)


def _match_one(selector: Obj, template: Obj) -> Match:
    if (selector.get("apiVersion"), selector.get("kind")) != kind_of(template):
        return Match.NONE
    if selector.get("namespace") and selector["namespace"] != namespace_of(template):
        return Match.NONE
    if selector.get("name"):
        return Match.NAME if selector["name"] == name_of(template) else Match.NONE
    wanted = selector.get("labelSelector")
    if wanted is None:
        return Match.ALL
    return Match.LABELS if json_selects(wanted, labels(template)) else Match.NONE


def cluster_matches(affinity: Mapping[str, Any] | None, cluster: Obj) -> bool:
    """Whether a ClusterAffinity means a cluster; none means every cluster."""
    if affinity is None:
        return True
    if name_of(cluster) in (affinity.get("exclude") or []):
        return False
    names = affinity.get("clusterNames") or []
    if names and name_of(cluster) not in names:
        return False
    selector = affinity.get("labelSelector")
    if selector is not None and not json_selects(selector, labels(cluster)):
        return False
    fields = get(affinity, "fieldSelector", "matchExpressions") or []
    return all(_field_requirement(one, cluster) for one in fields)


def _field_requirement(requirement: Mapping[str, Any], cluster: Obj) -> bool:
    key, values = requirement.get("key"), requirement.get("values") or []
    spec = cluster.get("spec") or {}
    if key == "zone":
        having = spec.get("zones") or ([spec["zone"]] if spec.get("zone") else [])
    else:
        having = [spec[key]] if key in ("provider", "region") and spec.get(key) else []
    match requirement.get("operator"):
        case "In":
            return bool(having) and all(value in values for value in having)
        case "NotIn":
            return all(value not in values for value in having)
        case _:
            return False
