"""Subresources that are more than a part of the object: scale, binding, eviction, token, log."""

from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.auth.authentication import Authenticator
from global_sched.embedded.apiserver.http.bodies import (
    media_type,
    parse_object,
    parse_patch,
    parse_yaml,
)
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.registry.deletion import Deleter, options_of
from global_sched.embedded.apiserver.registry.patch_handler import (
    APPLY,
    MERGE_PATCH,
    STRATEGIC,
    Patcher,
    accepted_types,
    patched,
)
from global_sched.embedded.apiserver.registry.update_strategy import check_uid
from global_sched.embedded.apiserver.registry.writes import Writer
from global_sched.embedded.apiserver.status_error import StatusCause, StatusError
from global_sched.embedded.apiserver.storage.backend import key_of
from global_sched.embedded.apiserver.storage.conversion import from_storage
from global_sched.embedded.apiserver.storage.selectors import match_selector, selector_text
from global_sched.embedded.apiserver.storage.store import Record, encode
from global_sched.embedded.apiserver.validation.jsonpath import find, parse_path
from global_sched.shared.model.instant import format_instant

Obj = dict[str, Any]

SUCCESS: Final[Obj] = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


_UNSET: Final = -(2**31)
"""Replicas of a Scale whose object has none, while a patch is applied to it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A body and its code."""

    obj: Obj
    code: int


def _set(obj: Obj, path: str, value: Any) -> None:
    *parents, last = [step.text for step in parse_path(path)]
    node = obj
    for name in parents:
        node = node.setdefault(name, {})
    node[last] = value


def _text_for_replicas(scale: Obj) -> StatusError:
    """422: a patch made replicas a text; a real server shows the whole Scale."""
    why = "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32"
    ordered = {"apiVersion": scale["apiVersion"], "kind": scale["kind"], **scale}
    text = encode(ordered).decode().strip().replace('"', '\\"')
    cause = StatusCause("FieldValueInvalid", f'Invalid value: "{text}": {why}', "patch")
    failure = status_error.invalid("", "", "", [cause])
    assert failure.details is not None
    del failure.details["kind"]
    return failure


def _negative(call: RequestInfo, replicas: Any) -> StatusError:
    """422: replicas below zero; custom resources name the field of their own."""
    served = call.served
    if served.custom and served.scale is not None:
        why = "should be a non-negative integer"
        cause = field_errors.invalid(served.scale.spec, replicas, why)
        return status_error.invalid(served.kind, served.group, call.name, [cause])
    cause = field_errors.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    return status_error.invalid("Scale", "autoscaling", call.name, [cause])


class Subresources:
    """Answers the subresources of one server."""

    def __init__(
        self, writer: Writer, patcher: Patcher, deleter: Deleter, authenticator: Authenticator
    ) -> None:
        self.writer = writer
        self.backend = writer.backend
        self.patcher = patcher
        self.deleter = deleter
        self.authenticator = authenticator

    def answer(self, call: RequestInfo, body: bytes) -> Answer | None:
        """The answer; None for a subresource that is only a part of the object."""
        match call.subresource:
            case "scale":
                return self._scale(call, body)
            case "binding":
                return self._bind(call, body)
            case "eviction":
                return self._evict(call, body)
            case "token":
                return self._token(call, body)
            case "finalize":
                return self._finalize(call, body)
            case "log" | "proxy" | "exec" | "attach" | "portforward":
                raise StatusError(
                    404, "NotFound", "the server could not find the requested resource", details={}
                )
            case _:
                return None

    def _record(self, call: RequestInfo) -> Record:
        record = self.backend.get(call.served.collection, key_of(call.namespace, call.name))
        if record is None:
            raise status_error.not_found(call.served.plural, call.served.group, call.name)
        return record

    # ---- scale -----------------------------------------------------------------------------

    def _scale_of(self, call: RequestInfo, obj: Obj, default: int | None = None) -> Obj:
        """The Scale of an object; `default` stands for replicas that it does not have."""
        paths = call.served.scale
        assert paths is not None
        wanted = find(parse_path(paths.spec), obj) or ([default] if default is not None else [])
        if not wanted:
            raise status_error.internal(f'the spec replicas field "{paths.spec}" does not exist')
        status: Obj = {"replicas": (find(parse_path(paths.status), obj) or [0])[0] or 0}
        if call.served.custom:
            selector = find(parse_path(paths.selector), obj) if paths.selector else []
            text = selector_text(selector[0]) if selector else ""
        else:
            text = selector_text((obj.get("spec") or {}).get("selector"))
        if text:
            status["selector"] = text
        meta = obj["metadata"]
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        spec = {"replicas": wanted[0]} if wanted[0] else {}
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {key: meta[key] for key in kept if key in meta},
            "spec": spec,
            "status": status,
        }

    def _scale(self, call: RequestInfo, body: bytes) -> Answer:
        record = self._record(call)
        served = call.served
        old = from_storage(served, record.load())
        if call.verb == "get":
            return Answer(self._scale_of(call, old), 200)
        scale = self._new_scale(call, old, body)
        check_uid(call, record, scale)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        assert served.scale is not None
        if replicas == _UNSET:
            raise status_error.bad_request(
                f'the spec replicas field "{served.scale.spec}" cannot be empty'
            )
        if isinstance(replicas, bool) or not isinstance(replicas, int) or replicas < 0:
            raise _negative(call, replicas)
        version = (scale.get("metadata") or {}).get("resourceVersion")
        if version and version != str(record.version):
            raise status_error.modified(served.plural, served.group, call.name)
        new = from_storage(served, record.load())
        _set(new, served.scale.spec, replicas)
        # The scale is written as a patch of the object, since its version was checked above.
        written = self.writer.update(call, record, old, new)
        return Answer(self._scale_of(call, written.obj), 200)

    def _new_scale(self, call: RequestInfo, old: Obj, body: bytes) -> Obj:
        if call.verb == "update":
            return parse_object(body, call.content_type)
        kind = media_type(call.content_type)
        if kind not in accepted_types(call):
            raise status_error.unsupported_media(accepted_types(call))
        current = self._scale_of(call, old, _UNSET)
        patch = parse_yaml(body) if kind == APPLY else parse_patch(body)
        new = patched(call, MERGE_PATCH if kind in {APPLY, STRATEGIC} else kind, current, patch)
        if isinstance((new.get("spec") or {}).get("replicas"), str):
            raise _text_for_replicas(new)
        return new

    # ---- pods ------------------------------------------------------------------------------

    def _bind(self, call: RequestInfo, body: bytes) -> Answer:
        binding = parse_object(body, call.content_type)
        target = binding.get("target") or {}
        causes = []
        if target.get("kind") not in {None, "", "Node"}:
            known = ["Node", "<empty>"]
            causes.append(field_errors.not_supported("target.kind", target["kind"], known))
        if not target.get("name"):
            causes.append(field_errors.required("target.name"))
        if (binding.get("metadata") or {}).get("name") != call.name:
            raise status_error.bad_request("name in URL does not match name in Binding object")
        if causes:
            # A real server does not dress this refusal as a 422.
            raise StatusError(500, "", ", ".join(cause.text() for cause in causes))
        record = self._record(call)
        pod = record.load()
        meta, spec = pod["metadata"], pod["spec"]
        check_uid(call, record, binding)
        if record.terminating:
            raise status_error.conflict(
                "pods/binding",
                "",
                call.name,
                f"pod {call.name} is being deleted, cannot be assigned to a host",
            )
        if spec.get("nodeName"):
            why = f'pod {call.name} is already assigned to node "{spec["nodeName"]}"'
            raise status_error.conflict("pods/binding", "", call.name, why)
        if spec.get("schedulingGates"):
            why = f"pod {call.name} has non-empty .spec.schedulingGates"
            raise status_error.conflict("pods/binding", "", call.name, why)
        spec["nodeName"] = target["name"]
        for key in ("annotations", "labels"):
            given = (binding.get("metadata") or {}).get(key)
            if given:
                meta[key] = {**(meta.get(key) or {}), **given}
        self._scheduled(pod)
        if not call.dry_run:
            self.backend.commit(call.served, record.key, pod)
        return Answer(SUCCESS, 201)

    def _scheduled(self, pod: Obj) -> None:
        status = pod.setdefault("status", {})
        status.pop("nominatedNodeName", None)
        condition = {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": format_instant(self.backend.now()),
        }
        conditions = list(status.get("conditions") or ())
        at = [i for i, held in enumerate(conditions) if held.get("type") == "PodScheduled"]
        if at:
            conditions[at[0]] = condition
        else:
            conditions.append(condition)
        status["conditions"] = conditions

    def _evict(self, call: RequestInfo, body: bytes) -> Answer:
        eviction = parse_object(body, call.content_type)
        if (eviction.get("metadata") or {}).get("name") != call.name:
            raise status_error.bad_request("name in URL does not match name in Eviction object")
        record = self._record(call)
        options = options_of(call, eviction.get("deleteOptions"))
        pod = record.load()
        if not record.terminating and not self._may_disrupt(pod, record):
            raise StatusError(
                429,
                "TooManyRequests",
                "Cannot evict pod as it would violate the pod's disruption budget.",
                details={
                    "causes": [
                        {
                            "reason": "DisruptionBudget",
                            "message": f"The disruption budget does not allow evicting {call.name}"
                            " now",
                        }
                    ]
                },
            )
        self.deleter.delete(call.served, record, options)
        return Answer(SUCCESS, 201)

    def _may_disrupt(self, pod: Obj, record: Record) -> bool:
        """Whether every budget that covers the pod has a disruption left; takes one of each."""
        phase = (pod.get("status") or {}).get("phase")
        if phase in {"Succeeded", "Failed", "Pending"}:
            return True
        name = "poddisruptionbudgets.policy"
        served = self.backend.registry.find("policy", "v1", "poddisruptionbudgets")
        assert served is not None
        covering = []
        for held in list(self.backend.store.collection(name).select(record.namespace)):
            budget = held.load()
            if match_selector(budget["spec"].get("selector"), record.labels):
                covering.append((held, budget))
        if any((b.get("status") or {}).get("disruptionsAllowed", 0) < 1 for _, b in covering):
            return False
        for held, budget in covering:
            budget["status"]["disruptionsAllowed"] -= 1
            self.backend.commit(served, held.key, budget)
        return True

    # ---- others ----------------------------------------------------------------------------

    def _token(self, call: RequestInfo, body: bytes) -> Answer:
        record = self._record(call)
        request = parse_object(body, call.content_type) if body else {}
        spec = request.get("spec") or {}
        seconds = int(spec.get("expirationSeconds") or 3600)
        if seconds < 600:
            cause = field_errors.invalid(
                "spec.expirationSeconds", seconds, "may not specify a duration less than 10 minutes"
            )
            raise status_error.invalid("TokenRequest", "authentication.k8s.io", call.name, [cause])
        token, until = self.authenticator.issue(call.namespace, call.name, record.uid, seconds)
        return Answer(
            {
                "kind": "TokenRequest",
                "apiVersion": "authentication.k8s.io/v1",
                "metadata": {"name": call.name, "namespace": call.namespace},
                "spec": {
                    "audiences": spec.get("audiences") or ["https://kubernetes.default.svc"],
                    "expirationSeconds": seconds,
                    "boundObjectRef": spec.get("boundObjectRef"),
                },
                "status": {"token": token, "expirationTimestamp": format_instant(until)},
            },
            201,
        )

    def _finalize(self, call: RequestInfo, body: bytes) -> Answer:
        """The finalizers of a namespace, written by the client that emptied it."""
        record = self._record(call)
        given = parse_object(body, call.content_type)
        obj = record.load()
        finalizers = (given.get("spec") or {}).get("finalizers") or []
        obj["spec"] = {"finalizers": finalizers} if finalizers else {}
        if record.terminating and not finalizers and not obj["metadata"].get("finalizers"):
            self.backend.remove(call.served, record.key, obj)
        elif not call.dry_run:
            self.backend.commit(call.served, record.key, obj)
        return Answer(obj, 200)
