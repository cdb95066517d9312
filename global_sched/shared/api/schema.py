"""The CRD of a kind that is served as one: ours, Karmada's, Volcano's, a workload's.

`shared.kinds.crds` has all of them. Ours are strict: unknown fields are dropped, bounds hold.
The others are for embedded and local use: they say what we read or write and keep everything else
as it came; `CrdKind` adds what the real ones validate and default beyond that.
"""

import copy
from typing import Any

from global_sched.shared.api.crd_kind import Column, CrdKind
from global_sched.shared.api.structural import OPEN, Schema, schema_of


def crd(kind: CrdKind) -> dict[str, Any]:
    """One CustomResourceDefinition."""
    what = kind.resource
    names: dict[str, Any] = {
        "kind": what.kind,
        "listKind": f"{what.kind}List",
        "plural": what.plural,
        "singular": what.kind.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    subresources: dict[str, Any] = {"status": {}} if kind.status else {}
    if kind.scale:
        subresources["scale"] = dict(kind.scale)
    version = {
        "name": what.version,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": _schema(kind)},
        "subresources": subresources,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": kind.name},
        "spec": {
            "group": what.group,
            "names": names,
            "scope": "Namespaced" if what.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _column(column: Column) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": column[0], "jsonPath": column[1], "type": column[2]}
    if len(column) == 4:
        shown["priority"] = column[3]
    return shown


def _schema(kind: CrdKind) -> Schema:
    schema = schema_of(kind.type, strict=kind.strict)
    # The server rules over these three; a default or an open object there would be refused.
    schema.pop(OPEN, None)
    if not kind.strict:
        schema[OPEN] = True
    schema["properties"] |= {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
    }
    for path, rule in kind.rules.items():
        part = at(schema, path)
        if "properties" in rule:
            part.pop(OPEN, None)  # the rule says what an open object holds
        part.update(copy.deepcopy(dict(rule)))
    return schema


def at(schema: Schema, path: str) -> Schema:
    """The part of a schema at a path like `spec.clusters[].name`; empty is the whole."""
    here = schema
    for step in [part for part in path.split(".") if part]:
        name, brackets, _ = step.partition("[]")
        here = here["properties"][name]
        if brackets:
            here = here["items"]
    return here
