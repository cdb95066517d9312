"""A Kubernetes API server in one process: enough for kubectl, our clients and our tests.

What may not be in here: any client code, and any decision that a scheduler or an agent makes.
The server is held to recordings of a real one (`tests/.../test_recording.py`).

Start with `ApiServer` (`server.py`). A request passes the rooms from the top: `endpoints` finds
the verb, `auth` the user and their rights, `registry` does the verb on the `Store` of `storage`
with the `strategy` of a built-in kind or the `validation` of a custom one, and `http` writes the
answer. `controllers` act on changes of the store by themselves; `kubectl` serves its comfort only.
"""

from global_sched.embedded.apiserver.http.identity import User
from global_sched.embedded.apiserver.server import ApiServer, RequestRecord

__all__ = ["ApiServer", "RequestRecord", "User"]
