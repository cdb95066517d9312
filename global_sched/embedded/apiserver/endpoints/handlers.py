"""A checked call to its answer: which part of the room does which verb."""

from collections.abc import Callable
from typing import Any

from aiohttp import web

from global_sched.embedded.apiserver import status_error
from global_sched.embedded.apiserver.auth.authentication import Authenticator
from global_sched.embedded.apiserver.auth.rbac import Attributes, Rbac, denial
from global_sched.embedded.apiserver.auth.reviews import Reviewer
from global_sched.embedded.apiserver.http.answers import json_response, raw_response
from global_sched.embedded.apiserver.http.bodies import duplicate_fields, parse_object
from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.http.request_info import RequestInfo, version_of
from global_sched.embedded.apiserver.kubectl.table_answers import Rendering, rendering_of
from global_sched.embedded.apiserver.registry.deletion import Deleter, options_of
from global_sched.embedded.apiserver.registry.listing import (
    Lister,
    items_of,
    join_list,
    list_body,
    list_meta,
)
from global_sched.embedded.apiserver.registry.patch_handler import Patcher
from global_sched.embedded.apiserver.registry.subresources import Subresources
from global_sched.embedded.apiserver.registry.update_strategy import check_uid
from global_sched.embedded.apiserver.registry.watching import Watch, Watcher
from global_sched.embedded.apiserver.registry.writes import Writer, WriteResult
from global_sched.embedded.apiserver.resources.custom_resources import CRDS
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.backend import Backend, key_of
from global_sched.embedded.apiserver.storage.conversion import from_storage, present
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.apiserver.strategy.by_kind import rules_of

Obj = dict[str, Any]


class Handler:
    """Everything that answers resource requests of one server."""

    def __init__(self, backend: Backend, authenticator: Authenticator) -> None:
        self.backend = backend
        self.rbac = Rbac(backend)
        self.lister = Lister(backend)
        self.watcher = Watcher(backend)
        self.writer = Writer(backend)
        self.deleter = Deleter(backend)
        self.patcher = Patcher(self.writer)
        self.subresources = Subresources(self.writer, self.patcher, self.deleter, authenticator)
        self.reviewer = Reviewer(backend, self.rbac, authenticator)
        self._verbs: dict[str, Callable[[RequestInfo, bytes], web.Response]] = {
            "get": self._get,
            "list": self._list,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    # ---- who may ---------------------------------------------------------------------------

    def authorize(self, call: RequestInfo) -> None:
        """Let a call pass.

        Raises:  StatusError (403) when nothing allows it.
        """
        if call.user.master:
            return
        wanted = Attributes(
            verb=call.verb,
            group=call.served.group,
            resource=call.served.plural,
            subresource=call.subresource,
            namespace=_scope(call),
            name=call.name or _selected_name(call),
        )
        if not self.rbac.allowed(call.user, wanted):
            why = denial(call.user, wanted)
            raise status_error.forbidden(call.served.plural, call.served.group, call.name, why)

    def authorize_path(self, user: User, method: str, path: str) -> None:
        """Let a request for a path that is no resource pass.

        Raises:  StatusError (403) when nothing allows it.
        """
        if user.master:
            return
        wanted = Attributes(verb=method.lower(), path=path)
        if not self.rbac.allowed(user, wanted):
            raise StatusError(403, "Forbidden", f"forbidden: {denial(user, wanted)}", details={})

    # ---- answers ---------------------------------------------------------------------------

    def answer(self, call: RequestInfo, body: bytes) -> web.Response:
        """The answer to a call that is no watch.

        Raises:  StatusError with what is wrong.
        """
        rendering_of(call.accept)
        if call.served.deprecation:
            call.warnings.append(call.served.deprecation)
        if call.served.verbs == ("create",):
            review = self.reviewer.review(call, parse_object(body, call.content_type))
            return json_response(review, 201, call)
        if call.subresource:
            handled = self.subresources.answer(call, body)
            if handled is not None:
                return json_response(handled.obj, handled.code, call)
        return self._verbs[call.verb](call, body)

    def _record(self, call: RequestInfo) -> Record:
        record = self.find(call)
        if record is None:
            raise status_error.not_found(call.served.plural, call.served.group, call.name)
        return record

    def find(self, call: RequestInfo) -> Record | None:
        """The record that a call names."""
        return self.backend.get(call.served.collection, key_of(call.namespace, call.name))

    def _rendered(self, call: RequestInfo, written: WriteResult, code: int) -> web.Response:
        rendering = rendering_of(call.accept)
        if rendering is Rendering.JSON:
            if written.record is not None:
                return raw_response(present(call.served, written.record), code, call)
            return json_response(written.obj, code, call)
        body = rendering.one(self.backend, call, from_storage(call.served, dict(written.obj)))
        return raw_response(body, code, call)

    def _get(self, call: RequestInfo, _body: bytes) -> web.Response:
        asked = call.query.get("resourceVersion")
        if asked and version_of(asked) > self.backend.store.version:
            raise status_error.too_large_version(version_of(asked), self.backend.store.version)
        record = self._record(call)
        rendering = rendering_of(call.accept)
        if rendering is Rendering.JSON:
            return raw_response(present(call.served, record), 200, call)
        obj = from_storage(call.served, record.load())
        return raw_response(rendering.one(self.backend, call, obj), 200, call)

    def _list(self, call: RequestInfo, _body: bytes) -> web.Response:
        page = self.lister.page(call)
        rendering = rendering_of(call.accept)
        if rendering is Rendering.JSON:
            return raw_response(list_body(call.served, page), 200, call)
        return raw_response(rendering.many(self.backend, call, page), 200, call)

    def _create(self, call: RequestInfo, body: bytes) -> web.Response:
        obj = parse_object(body, call.content_type)
        self._check_duplicates(call, body)
        return self._rendered(call, self.writer.create(call, obj), 201)

    @staticmethod
    def _check_duplicates(call: RequestInfo, body: bytes) -> None:
        if call.query.get("fieldValidation") != "Strict" or not body.startswith(b"{"):
            return
        twice = duplicate_fields(body)
        if twice:
            listed = ", ".join(f'duplicate field "{key}"' for key in twice)
            kind = call.served.kind
            raise status_error.bad_request(
                f'{kind} in version "{call.served.version}" cannot be handled as a {kind}:'
                f" strict decoding error: {listed}"
            )

    def _update(self, call: RequestInfo, body: bytes) -> web.Response:
        obj = parse_object(body, call.content_type)
        self._check_duplicates(call, body)
        record = self.find(call)
        created = rules_of(call.served.collection).create_on_update and not call.subresource
        if record is None and not created:
            raise status_error.not_found(call.served.plural, call.served.group, call.name)
        check_uid(call, record, obj)
        if record is None:
            return self._rendered(call, self.writer.create(call, obj), 201)
        old = from_storage(call.served, record.load())
        return self._rendered(call, self.writer.update(call, record, old, obj), 200)

    def _patch(self, call: RequestInfo, body: bytes) -> web.Response:
        written = self.patcher.patch(call, self.find(call), body)
        return self._rendered(call, written, 201 if written.created else 200)

    def _delete(self, call: RequestInfo, body: bytes) -> web.Response:
        given = parse_object(body, call.content_type) if body else {}
        options = options_of(call, given)
        record = self._record(call)
        answer = self.deleter.delete(call.served, record, options)
        # Only a request of the old form learns that the object is not gone yet.
        waits = given.get("orphanDependents") is False and self.find(call) is not None
        return json_response(answer, 202 if waits else 200, call)

    def _delete_collection(self, call: RequestInfo, body: bytes) -> web.Response:
        options = options_of(call, parse_object(body, call.content_type) if body else None)
        page = self.lister.page(call)
        item = items_of(call.served)
        items = [item(record) for record in page.records]
        for record in page.records:
            self.deleter.delete(call.served, record, options)
        served = call.served
        meta = list_meta(page, custom=served.custom)
        return raw_response(join_list(served.list_kind, served.api_version, meta, items), 200, call)

    def open_watch(self, call: RequestInfo) -> tuple[Watch, str]:
        """A watch ready to stream, and its content type."""
        rendering = rendering_of(call.accept)
        if rendering is Rendering.JSON:
            return self.watcher.open(call, None), "application/json"
        return self.watcher.open(call, rendering.frame(self.backend, call)), "application/json"

    def install(self, crd: Obj, user: User) -> None:
        """Create a definition, or bring the stored one to this spec."""
        served = self.backend.registry.find(
            "apiextensions.k8s.io", "v1", "customresourcedefinitions"
        )
        assert served is not None
        call = RequestInfo(method="POST", verb="create", served=served, user=user, agent="install")
        record = self.backend.get(CRDS, crd["metadata"]["name"])
        copy: Obj = Record("", crd, 0, {}).load()
        if record is None:
            self.writer.create(call, copy)
            return
        call.verb, call.name = "patch", record.name
        old = record.load()
        new = record.load()
        new["spec"] = copy["spec"]
        self.writer.update(call, record, old, new)


def _scope(call: RequestInfo) -> str:
    """The namespace that a call is in; a namespace object is in itself."""
    if call.served.collection == "namespaces":
        return call.name
    return call.namespace


def _selected_name(call: RequestInfo) -> str:
    """The one name that a list or watch is narrowed to, so that resourceNames can allow it."""
    if call.verb not in {"list", "watch", "deletecollection"}:
        return ""
    for term in call.query.get("fieldSelector", "").split(","):
        key, _, value = term.partition("=")
        if key.strip() == "metadata.name" and value:
            return value.lstrip("=").strip()
    return ""
