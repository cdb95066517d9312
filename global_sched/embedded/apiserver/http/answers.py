"""Responses: bytes and statuses as aiohttp responses."""

from typing import Any, Final

from aiohttp import web

from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.store import encode

JSON_TYPE: Final = "application/json"
_JSON_HEADERS: Final = {"Content-Type": JSON_TYPE}


def raw_response(
    body: bytes, code: int = 200, call: RequestInfo | None = None, content_type: str = JSON_TYPE
) -> web.Response:
    """Bytes of JSON as a response, with the call's warnings."""
    response = web.Response(
        body=body,
        status=code,
        headers=_JSON_HEADERS if content_type == JSON_TYPE else {"Content-Type": content_type},
    )
    if call is not None:
        for warning in call.warnings:
            text = warning.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
            response.headers.add("Warning", f'299 - "{text}"')
    return response


def json_response(obj: Any, code: int = 200, call: RequestInfo | None = None) -> web.Response:
    """An object as a response."""
    return raw_response(encode(obj), code, call)


def failure_response(failure: StatusError, call: RequestInfo | None) -> web.Response:
    """A refusal as a response."""
    response = json_response(failure.status(), failure.code, call)
    for name, value in failure.headers.items():
        response.headers[name] = value
    return response


def text_response(text: str, code: int = 200) -> web.Response:
    """Plain text as a response."""
    return web.Response(text=text, status=code, content_type="text/plain", charset="utf-8")
