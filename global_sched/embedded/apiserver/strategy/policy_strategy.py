"""Priority classes, disruption budgets, RBAC kinds and network kinds."""

from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.strategy.pod_strategy import PRIORITY_CLASSES
from global_sched.embedded.apiserver.strategy.strategy import Strategy

Obj = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"
_USER_MAXIMUM: Final = 1_000_000_000
_IMMUTABLE: Final = "field is immutable"


def _class_defaults(obj: Obj) -> None:
    obj.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _class_admit(backend: Backend, obj: Obj) -> None:
    """Only one class may be the default."""
    if not obj.get("globalDefault"):
        return
    for record in backend.store.collection(PRIORITY_CLASSES).select():
        if record.fields.get("globalDefault") == "true" and record.name != obj["metadata"].get(
            "name"
        ):
            raise status_error.forbidden(
                "priorityclasses",
                "scheduling.k8s.io",
                obj["metadata"].get("name", ""),
                f"PriorityClass {record.name} is already marked as default. Only one default can"
                " exist",
            )


def _class_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    name = obj["metadata"].get("name") or ""
    if name.startswith("system-"):
        why = "priority class names with 'system-' prefix are reserved for system use only"
        found.append(field_errors.forbidden("metadata.name", why))
    elif obj.get("value", 0) > _USER_MAXIMUM:
        why = f"maximum allowed value of a user defined priority is {_USER_MAXIMUM}"
        found.append(field_errors.forbidden("value", why))
    policies = ["Never", "PreemptLowerPriority"]
    if obj.get("preemptionPolicy") not in policies:
        given = obj.get("preemptionPolicy")
        found.append(field_errors.not_supported("preemptionPolicy", given, policies))
    return found


def _class_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    if obj.get("value") != old.get("value"):
        why = "may not be changed in an update."
        found.append(field_errors.forbidden("value", why))
    if obj.get("preemptionPolicy") != old.get("preemptionPolicy"):
        found.append(
            field_errors.invalid("preemptionPolicy", obj.get("preemptionPolicy"), _IMMUTABLE)
        )
    return found


def _budget_prepare(_backend: Backend, obj: Obj) -> None:
    kinds = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    obj["status"] = dict.fromkeys(kinds, 0)


def _budget_causes(obj: Obj) -> list[StatusCause]:
    spec = obj["spec"]
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        why = "minAvailable and maxUnavailable cannot be both set"
        return [field_errors.invalid("spec", spec, why)]
    return []


# ---- RBAC ----------------------------------------------------------------------------------


def _binding_defaults(obj: Obj) -> None:
    reference = obj["roleRef"]
    if not reference.get("apiGroup"):
        reference["apiGroup"] = _RBAC
    for subject in obj.get("subjects") or ():
        if not subject.get("apiGroup") and subject.get("kind") in {"User", "Group"}:
            subject["apiGroup"] = _RBAC


def _binding_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    reference = obj["roleRef"]
    known = ["ClusterRole"] if obj["kind"] == "ClusterRoleBinding" else ["Role", "ClusterRole"]
    if reference.get("kind") not in known:
        found.append(field_errors.not_supported("roleRef.kind", reference.get("kind"), known))
    if not reference.get("name"):
        found.append(field_errors.required("roleRef.name"))
    for index, subject in enumerate(obj.get("subjects") or ()):
        where = f"subjects[{index}]"
        if not subject.get("name"):
            found.append(field_errors.required(f"{where}.name"))
        kind = subject.get("kind")
        if kind not in {"ServiceAccount", "User", "Group"}:
            kinds = ["ServiceAccount", "User", "Group"]
            found.append(field_errors.not_supported(f"{where}.kind", kind, kinds))
        elif (
            kind == "ServiceAccount"
            and not subject.get("namespace")
            and obj["kind"] == "ClusterRoleBinding"
        ):
            found.append(field_errors.required(f"{where}.namespace"))
    return found


def _binding_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    if obj["roleRef"] != old["roleRef"]:
        return [field_errors.invalid("roleRef", obj["roleRef"], "cannot change roleRef")]
    return []


def _role_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    for index, rule in enumerate(obj.get("rules") or ()):
        where = f"rules[{index}]"
        if not rule.get("verbs"):
            found.append(
                field_errors.required(f"{where}.verbs", "verbs must contain at least one value")
            )
        if rule.get("nonResourceURLs"):
            if obj["kind"] == "Role":
                why = "namespaced rules cannot apply to non-resource URLs"
                found.append(
                    field_errors.invalid(f"{where}.nonResourceURLs", rule["nonResourceURLs"], why)
                )
            continue
        if not rule.get("apiGroups"):
            why = "resource rules must supply at least one api group"
            found.append(field_errors.required(f"{where}.apiGroups", why))
        if not rule.get("resources"):
            why = "resource rules must supply at least one resource"
            found.append(field_errors.required(f"{where}.resources", why))
    return found


# ---- network and storage -------------------------------------------------------------------


def _policy_defaults(obj: Obj) -> None:
    spec = obj["spec"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _slice_defaults(obj: Obj) -> None:
    for port in obj.get("ports") or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def _storage_defaults(obj: Obj) -> None:
    obj.setdefault("reclaimPolicy", "Delete")
    obj.setdefault("volumeBindingMode", "Immediate")


def _scaler_defaults(obj: Obj) -> None:
    obj["spec"].setdefault("minReplicas", 1)
    if not obj["spec"].get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        resource = {"name": "cpu", "target": target}
        obj["spec"]["metrics"] = [{"type": "Resource", "resource": resource}]


def _webhook_defaults(obj: Obj) -> None:
    for hook in obj.get("webhooks") or ():
        hook.setdefault("failurePolicy", "Fail")
        hook.setdefault("matchPolicy", "Equivalent")
        hook.setdefault("namespaceSelector", {})
        hook.setdefault("objectSelector", {})
        hook.setdefault("timeoutSeconds", 10)
        if obj.get("kind") == "MutatingWebhookConfiguration":
            hook.setdefault("reinvocationPolicy", "Never")
        for rule in hook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = (hook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


_ROLE: Final = Strategy(validate=_role_causes, create_on_update=True)
_BINDING: Final = Strategy(
    defaults=_binding_defaults,
    validate=_binding_causes,
    validate_update=_binding_fixed,
    create_on_update=True,
)
_WEBHOOKS: Final = Strategy(defaults=_webhook_defaults, unconditional=False)

POLICY_RULES: Final = {
    PRIORITY_CLASSES: Strategy(
        defaults=_class_defaults,
        admit=_class_admit,
        validate=_class_causes,
        validate_update=_class_fixed,
    ),
    "poddisruptionbudgets.policy": Strategy(
        prepare=_budget_prepare, validate=_budget_causes, unconditional=False
    ),
    f"roles.{_RBAC}": _ROLE,
    f"clusterroles.{_RBAC}": _ROLE,
    f"rolebindings.{_RBAC}": _BINDING,
    f"clusterrolebindings.{_RBAC}": _BINDING,
    "networkpolicies.networking.k8s.io": Strategy(defaults=_policy_defaults),
    "endpointslices.discovery.k8s.io": Strategy(defaults=_slice_defaults),
    "storageclasses.storage.k8s.io": Strategy(defaults=_storage_defaults),
    "horizontalpodautoscalers.autoscaling": Strategy(defaults=_scaler_defaults),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
}
