"""A Kubernetes API server in one process: enough for kubectl, our clients and our tests.

What may not be in here: any client code, and any decision that a scheduler or an agent makes.
The server is held to recordings of a real one (`tests/.../test_recording.py`).

Start with `ApiServer` (`server.py`): it takes requests to `Handler` (`handling.py`), which reads
from and writes to the `Store` (`store.py`) through `listing`, `watching`, `writes`, `patching`
and `deletes`. Built-in kinds come from a table of types (`go_types.py`), custom ones from their
definitions (`crds.py`, `structural.py`).
"""

from global_sched.embedded.apiserver.identity import User
from global_sched.embedded.apiserver.server import ApiServer, RequestRecord

__all__ = ["ApiServer", "RequestRecord", "User"]
