"""The base of all wire types, object metadata, and the pieces that many kinds share."""

import msgspec

Quantity = str | int | float
"""As JSON may spell one; `model.quantity.parse_quantity(str(q), name)` reads it."""

JsonMap = dict[str, object]
"""A part that we pass on or compare but do not look into."""


class Wire(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, frozen=True, gc=False):
    """Camel-case field names, defaults left out when written."""


class OwnerReference(Wire, frozen=True):
    """Who owns an object."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class Meta(Wire, frozen=True):
    """Object metadata."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None

    def label(self, name: str) -> str:
        """A label's value, empty when absent."""
        return (self.labels or {}).get(name, "")

    def annotation(self, name: str) -> str:
        """An annotation's value, empty when absent."""
        return (self.annotations or {}).get(name, "")

    def controller(self) -> OwnerReference | None:
        """The owner that controls it."""
        return next((o for o in self.owner_references or () if o.controller), None)


class KubeObject(Wire, frozen=True):
    """Any object of which only the metadata matters."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()


class Condition(Wire, frozen=True):
    """A metav1.Condition (also the older shapes without `observedGeneration`)."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None


class LabelSelectorRequirement(Wire, frozen=True):
    """One expression of a selector."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Wire, frozen=True):
    """metav1.LabelSelector: all parts hold; an empty one matches everything."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[LabelSelectorRequirement] | None = None


def condition(conditions: list[Condition] | None, kind: str) -> Condition | None:
    """The condition of one type, None when absent."""
    return next((c for c in conditions or () if c.type == kind), None)
