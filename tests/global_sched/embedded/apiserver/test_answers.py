"""The embedded server answers as a real one does: scale, forms, UIDs, credentials, unknown kinds.

`tests/e2e/test_embedded_server.py` asks the real server for the recording once more.
"""

import aiohttp
import pytest

from global_sched.embedded.apiserver import ApiServer, User
from tests.global_sched.embedded.apiserver.answers import (
    REQUESTS,
    TENANT,
    USERS,
    answers,
    prepare,
    recorded,
)
from tests.global_sched.embedded.apiserver.conftest import Http


@pytest.mark.slow
async def test_answers_are_those_of_a_real_server():
    """Code, reason, message and details of every request."""
    users = {"admin": User(name="admin", groups=("system:masters",)), TENANT: User(name=TENANT)}
    server = ApiServer(tokens=users, seed=1)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
        asks = {who: Http(session, who or None) for who in USERS}
        await prepare(asks["admin"])
        found = await answers(asks)
    await server.stop()

    want = recorded()
    assert list(want) == [one.id for one in REQUESTS]
    assert {name: found[name] for name in want if found[name] != want[name]} == {}
