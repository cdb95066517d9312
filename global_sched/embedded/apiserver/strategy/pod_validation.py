"""Validation of a pod spec, field by field; pods and templates share it."""

from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.codec.quantity import QuantityError, value_of
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.validation.metadata import (
    label_causes,
    label_problems,
    subdomain_problems,
)

Obj = dict[str, Any]

NEGATIVE: Final = "must be greater than or equal to 0"
_RESTART: Final = ("Always", "OnFailure", "Never")
_PULL: Final = ("Always", "IfNotPresent", "Never")
_DNS: Final = ("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def amount_causes(amounts: Any, field: str) -> list[StatusCause]:
    """What is wrong with a map of amounts."""
    found: list[StatusCause] = []
    for name in sorted(amounts or {}):
        where = f"{field}[{name}]"
        try:
            value = value_of(amounts[name])
        except QuantityError as error:
            found.append(field_errors.invalid(where, amounts[name], str(error)))
            continue
        if value < 0:
            found.append(field_errors.invalid(where, amounts[name], NEGATIVE))
        if "/" not in name and name not in _CORE_RESOURCES and not name.startswith(_PREFIXED):
            why = "must be a standard resource type or fully qualified"
            found.append(field_errors.invalid(where, name, why))
        elif "/" in name and "kubernetes.io/" not in name and value.denominator != 1:
            found.append(field_errors.invalid(where, amounts[name], "must be an integer"))
    return found


_CORE_RESOURCES: Final = frozenset(
    {"cpu", "memory", "ephemeral-storage", "storage", "pods", "services", "secrets", "configmaps"}
)
_PREFIXED: Final = ("hugepages-", "requests.", "limits.", "count/")


def _resource_causes(resources: Obj, field: str) -> list[StatusCause]:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    found = amount_causes(limits, f"{field}.limits")
    found += amount_causes(requests, f"{field}.requests")
    if found:
        return found
    for name in sorted(requests):
        where = f"{field}.requests"
        limit = limits.get(name)
        if limit is None:
            if "/" in name and "kubernetes.io/" not in name:
                limits_field = f"{field}.limits"
                found.append(
                    field_errors.required(
                        limits_field, "Limit must be set for non overcommitable resources"
                    )
                )
            continue
        if "/" in name and value_of(requests[name]) != value_of(limit):
            why = f"must be equal to {name} limit of {limit}"
            found.append(field_errors.invalid(where, requests[name], why))
        elif value_of(requests[name]) > value_of(limit):
            why = f"must be less than or equal to {name} limit of {limit}"
            found.append(field_errors.invalid(where, requests[name], why))
    return found


def _container_causes(container: Obj, field: str, volumes: set[str]) -> list[StatusCause]:
    found: list[StatusCause] = []
    name = container.get("name") or ""
    if not name:
        found.append(field_errors.required(f"{field}.name"))
    else:
        found += [field_errors.invalid(f"{field}.name", name, why) for why in label_problems(name)]
    if not container.get("image"):
        found.append(field_errors.required(f"{field}.image"))
    policy = container.get("imagePullPolicy")
    if policy and policy not in _PULL:
        found.append(field_errors.not_supported(f"{field}.imagePullPolicy", policy, _PULL))
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{field}.volumeMounts[{index}]"
        if mount.get("name") not in volumes:
            found.append(field_errors.not_found(f"{where}.name", mount.get("name") or ""))
        if not mount.get("mountPath"):
            found.append(field_errors.required(f"{where}.mountPath"))
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            found.append(field_errors.required(f"{field}.env[{index}].name"))
    for index, port in enumerate(container.get("ports") or ()):
        number = port.get("containerPort") or 0
        where = f"{field}.ports[{index}].containerPort"
        if not number:
            found.append(field_errors.required(where))
        elif not 0 < number < 65536:
            why = "must be between 1 and 65535, inclusive"
            found.append(field_errors.invalid(where, number, why))
    return found + _resource_causes(container.get("resources") or {}, f"{field}.resources")


def _volume_causes(volumes: list[Obj], field: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    seen: set[str] = set()
    for index, volume in enumerate(volumes):
        where, name = f"{field}[{index}].name", volume.get("name") or ""
        if not name:
            found.append(field_errors.required(where))
        elif name in seen:
            found.append(field_errors.duplicate(where, name))
        else:
            found += [field_errors.invalid(where, name, why) for why in label_problems(name)]
        seen.add(name)
        if len(volume) > 2:
            why = "may not specify more than 1 volume type"
            found.append(field_errors.forbidden(f"{field}[{index}]", why))
    return found


def _toleration_causes(tolerations: list[Obj], field: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    for index, toleration in enumerate(tolerations):
        where = f"{field}[{index}]"
        operator = toleration.get("operator") or "Equal"
        if operator not in {"Equal", "Exists"}:
            known = ["Equal", "Exists"]
            found.append(field_errors.not_supported(f"{where}.operator", operator, known))
        elif operator == "Exists" and toleration.get("value"):
            why = "value must be empty when `operator` is 'Exists'"
            found.append(field_errors.invalid(f"{where}.operator", toleration, why))
        elif not toleration.get("key") and operator != "Exists":
            why = (
                "operator must be Exists when `key` is empty, which means"
                ' "match all values and all keys"'
            )
            found.append(field_errors.invalid(f"{where}.operator", operator, why))
        effect = toleration.get("effect")
        if effect and effect not in _EFFECTS:
            found.append(field_errors.not_supported(f"{where}.effect", effect, _EFFECTS))
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.append(field_errors.invalid(f"{where}.effect", effect or "", why))
    return found


def pod_spec_causes(spec: Obj, field: str) -> list[StatusCause]:
    """What is wrong with a pod spec."""
    found = _volume_causes(spec.get("volumes") or [], f"{field}.volumes")
    volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
    if not spec.get("containers"):
        found.append(field_errors.required(f"{field}.containers"))
    names: set[str] = set()
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{field}.{kind}[{index}]"
            found += _container_causes(container, where, volumes)
            name = container.get("name") or ""
            if name and name in names:
                found.append(field_errors.duplicate(f"{where}.name", name))
            names.add(name)
    for key, known in (("restartPolicy", _RESTART), ("dnsPolicy", _DNS)):
        value = spec.get(key)
        if value and value not in known:
            found.append(field_errors.not_supported(f"{field}.{key}", value, known))
    for key in ("terminationGracePeriodSeconds", "activeDeadlineSeconds"):
        value = spec.get(key)
        if value is not None and value < 0:
            found.append(field_errors.invalid(f"{field}.{key}", value, NEGATIVE))
    found += label_causes(spec.get("nodeSelector"), f"{field}.nodeSelector")
    found += _toleration_causes(spec.get("tolerations") or [], f"{field}.tolerations")
    for key in ("nodeName", "serviceAccountName", "priorityClassName"):
        value = spec.get(key)
        if value:
            found += [
                field_errors.invalid(f"{field}.{key}", value, why)
                for why in subdomain_problems(value)
            ]
    return found
