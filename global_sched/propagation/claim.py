"""The policy that claims a template, and the marks of the claim on it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from global_sched.propagation.fields import (
    Obj,
    annotations,
    deleting,
    get,
    labels,
    name_of,
    namespace_of,
)
from global_sched.propagation.selectors import Match, match_template
from global_sched.shared.api.names import (
    CLUSTER_POLICY_ID,
    CLUSTER_POLICY_NAME,
    POLICY_ID,
    POLICY_NAME,
    POLICY_NAMESPACE,
)
from global_sched.shared.kube.objects import ObjectKey

POLICY_FINALIZER: Final = "karmada.io/propagation-policy-controller"
CLUSTER_POLICY_FINALIZER: Final = "karmada.io/cluster-propagation-policy-controller"
CLAIM_LABELS: Final = (POLICY_ID, CLUSTER_POLICY_ID)
CLAIM_ANNOTATIONS: Final = (POLICY_NAMESPACE, POLICY_NAME, CLUSTER_POLICY_NAME)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyClaim:
    """The marks of a policy on its templates and bindings."""

    labels: dict[str, str]
    annotations: dict[str, str]

    def on(self, obj: Obj) -> bool:
        """Whether an object carries exactly this claim."""
        marks = {key: value for key, value in labels(obj).items() if key in CLAIM_LABELS}
        notes = {key: value for key, value in annotations(obj).items() if key in CLAIM_ANNOTATIONS}
        return marks == self.labels and notes == self.annotations


def claim_of(policy: Obj) -> PolicyClaim:
    """What a policy writes on what it claims."""
    if policy["kind"] == "PropagationPolicy":
        return PolicyClaim(
            labels={POLICY_ID: labels(policy)[POLICY_ID]},
            annotations={POLICY_NAMESPACE: namespace_of(policy), POLICY_NAME: name_of(policy)},
        )
    return PolicyClaim(
        labels={CLUSTER_POLICY_ID: labels(policy)[CLUSTER_POLICY_ID]},
        annotations={CLUSTER_POLICY_NAME: name_of(policy)},
    )


def policy_id(policy: Obj) -> str:
    """A policy's permanent id, empty while it has none."""
    name = POLICY_ID if policy["kind"] == "PropagationPolicy" else CLUSTER_POLICY_ID
    return labels(policy).get(name, "")


def claimed_by(obj: Obj) -> str:
    """The permanent id of the policy that claims an object, empty when none does."""
    marks = labels(obj)
    return marks.get(POLICY_ID) or marks.get(CLUSTER_POLICY_ID) or ""


def claiming_policy(obj: Obj) -> tuple[str, ObjectKey] | None:
    """Kind and key of the policy that the marks on an object name."""
    marks, notes = labels(obj), annotations(obj)
    if POLICY_ID in marks:
        return "PropagationPolicy", ObjectKey(
            notes.get(POLICY_NAMESPACE, ""), notes.get(POLICY_NAME, "")
        )
    if CLUSTER_POLICY_ID in marks:
        return "ClusterPropagationPolicy", ObjectKey("", notes.get(CLUSTER_POLICY_NAME, ""))
    return None


def unclaim_patch(obj: Obj) -> Obj:
    """A merge patch that removes every mark of a policy; empty when there is none."""
    gone_labels = {key: None for key in CLAIM_LABELS if key in labels(obj)}
    gone_notes = {key: None for key in CLAIM_ANNOTATIONS if key in annotations(obj)}
    parts: dict[str, Any] = {}
    if gone_labels:
        parts["labels"] = gone_labels
    if gone_notes:
        parts["annotations"] = gone_notes
    return {"metadata": parts} if parts else {}


def claim_patch(obj: Obj, claim: PolicyClaim) -> Obj:
    """A merge patch that replaces whatever claim an object carries."""
    patch = unclaim_patch(obj)
    metadata = patch.setdefault("metadata", {})
    metadata["labels"] = metadata.get("labels", {}) | claim.labels
    metadata["annotations"] = metadata.get("annotations", {}) | claim.annotations
    return patch


def matches(policy: Obj, template: Obj) -> Match:
    """How closely a policy means a template."""
    return match_template(get(policy, "spec", "resourceSelectors") or [], template)


def choose(policies: Iterable[Obj], template: Obj) -> Obj | None:
    """The policy of one scope that a template belongs to.

    Order: spec.priority (higher first), closeness of the match, name.
    """
    ranked = [
        (-priority_of(policy), -match, name_of(policy), policy)
        for policy in policies
        if not deleting(policy) and (match := matches(policy, template)) is not Match.NONE
    ]
    return min(ranked, key=lambda rank: rank[:3])[3] if ranked else None


def priority_of(policy: Obj) -> int:
    """The explicit priority."""
    return int(get(policy, "spec", "priority") or 0)


def preempts(policy: Obj, claimant: Obj) -> bool:
    """Whether a policy takes a template over from the one that claims it.

    A policy in the namespace takes over from a cluster-wide one; within a scope the higher
    explicit priority does. Only policies that say `preemption: Always` take over at all.
    """
    if get(policy, "spec", "preemption") != "Always":
        return False
    if policy["kind"] != claimant["kind"]:
        return bool(policy["kind"] == "PropagationPolicy")
    return priority_of(policy) > priority_of(claimant)
