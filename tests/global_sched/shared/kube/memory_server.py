"""A transport with objects in memory and optimistic concurrency: enough for a Lease or Events."""

import json
from contextlib import asynccontextmanager

from global_sched.shared.kube.errors import Unreachable
from global_sched.shared.kube.transport import Response


class MemoryTransport:
    """GET, POST, PUT and merge PATCH of whole objects by path.

    An Event's note cannot be changed, as on a real server. `refusals`: so many requests are refused
    with 403, as by a server that has just been started.
    """

    def __init__(self):
        self.refusals = 0
        self.objects = {}
        self.version = 0
        self.requests = []
        self.down = False

    async def send(self, request):
        self.requests.append(f"{request.method} {request.path}")
        if self.down:
            raise Unreachable("down", target=request.target)
        if self.refusals:
            self.refusals -= 1
            return self._refuse(403, "Forbidden")
        path = request.path
        body = json.loads(request.body) if request.body else {}
        if request.method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                return self._refuse(409, "AlreadyExists")
            return self._store(path, body, 201)
        found = self.objects.get(path)
        if found is None:
            return self._refuse(404, "NotFound")
        if request.method == "GET":
            return Response(status=200, headers={}, body=json.dumps(found).encode())
        if request.method == "PATCH" and body.get("note", found.get("note")) != found.get("note"):
            return self._refuse(422, "Invalid")
        if request.method == "PATCH":
            return self._store(path, found | body, 200)
        if body["metadata"].get("resourceVersion") != found["metadata"]["resourceVersion"]:
            return self._refuse(409, "Conflict")
        return self._store(path, body, 200)

    def _store(self, path, body, status):
        self.version += 1
        metadata = body["metadata"] | {"resourceVersion": str(self.version)}
        self.objects[path] = body | {"metadata": metadata}
        return Response(status=status, headers={}, body=json.dumps(self.objects[path]).encode())

    def _refuse(self, code, reason):
        body = {"code": code, "reason": reason, "message": reason}
        return Response(status=code, headers={}, body=json.dumps(body).encode())

    @asynccontextmanager
    async def stream(self, request):
        raise Unreachable("no watches here", target=request.target)
        yield

    async def close(self):
        pass
