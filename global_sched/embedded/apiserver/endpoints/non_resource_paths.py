"""Paths that are no resources: health, version, discovery and OpenAPI."""

from aiohttp import web

from global_sched.embedded.apiserver.endpoints.discovery import Discovery
from global_sched.embedded.apiserver.http.answers import json_response, text_response
from global_sched.embedded.apiserver.http.incoming import Incoming
from global_sched.embedded.apiserver.status_error import NoSuchPath
from global_sched.embedded.apiserver.storage.backend import Backend

VERSION = {
    "major": "1",
    "minor": "35",
    "emulationMajor": "1",
    "emulationMinor": "35",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "34",
    "gitVersion": "v1.35.4",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
_HEALTH = ("/healthz", "/readyz", "/livez")


class Paths:
    """Answers everything below no group and version."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.discovery = Discovery(backend)

    def known(self, path: str) -> bool:
        """Whether the path is one of these."""
        if path.startswith("/api"):
            return self.discovery.known(path)
        return path in {"/", "/version", "/version/"} or path.startswith((*_HEALTH, "/openapi/"))

    def answer(self, request: Incoming) -> web.Response:
        """The answer for a path.

        Raises:  NoSuchPath for one below a known prefix that leads nowhere.
        """
        path = request.path
        if path.startswith("/api"):
            return self.discovery.answer(request)
        if path.startswith(_HEALTH):
            return text_response("ok")
        if path.startswith("/version"):
            return json_response(VERSION)
        if path == "/":
            return json_response({"paths": self.discovery.paths()})
        if path.startswith("/openapi/"):
            return self.discovery.openapi(request)
        raise NoSuchPath
