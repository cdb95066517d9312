"""The way in: token, cookie, Host, forms of other sites, and the headers of every answer."""

import pytest

from global_sched.web.entry import NO_ENTRY
from tests.global_sched.web.site import PAGES, Parts, site
from tests.virtual_time import virtual_time

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


@pytest.mark.slow
@virtual_time
async def test_the_printed_token_is_spent_for_a_cookie():
    """The first use gives a strict cookie and an address without the token; the second nothing."""
    said = []
    async with site(behind_proxy=False, jobs=False) as world:
        world.entry.announce = said.append
        token = world.entry.token
        before = await world.get("/waiting")
        async with world.client.get(f"/?token={token}", allow_redirects=False) as answer:
            status, where = answer.status, answer.headers["Location"]
            cookie = answer.cookies["gsched"]
        world.client.session.cookie_jar.clear()
        cookies = {"Cookie": f"gsched={cookie.value}"}
        pages = [await world.get(path, **cookies) for path in PAGES]
        again = await world.get(f"/?token={token}")
        async with world.client.get("/events?from=0", headers=cookies) as events:
            streamed = await events.content.readuntil(b"\n\n")

    assert before == (401, f"{NO_ENTRY}\n")
    assert (status, where) == (303, "/waiting")
    assert (cookie["httponly"], cookie["samesite"]) == (True, "Strict")
    assert again[0] == 401
    assert [status for status, _ in pages] == [200] * len(PAGES)
    secrets = (token, cookie.value, said[0])
    assert len({*secrets}) == 3
    assert not any(one in text for one in secrets for _, text in pages)
    assert not any(one.encode() in streamed for one in secrets)


@pytest.mark.slow
@virtual_time
async def test_other_names_other_sites_and_missing_headers_are_refused():
    """Host is checked first, then where a form comes from, then the person."""
    async with site(jobs=False) as world:
        other_name = await world.get("/waiting", Host="evil.example")
        no_header, health = [], []
        for path, found in (("/waiting", no_header), ("/healthz", health)):
            async with world.client.get(path, headers={"Host": "10.0.0.7:8080"}) as answer:
                found += [answer.status]
        async with world.client.get("/waiting") as answer:
            no_header += [answer.status]
        sent = []
        for headers in ({}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            given = world.bearer("admin") | headers
            async with world.client.post("/whatif", data={}, headers=given) as answer:
                sent.append(answer.status)
        given = world.bearer("admin") | {"Sec-Fetch-Site": "same-origin"}
        async with world.client.post("/whatif", data={"manifest": ""}, headers=given) as answer:
            own = answer.status

    assert other_name == (421, "This server is not asked for by that name.\n")
    assert (no_header, health) == ([421, 401], [200])
    assert sent == [403, 403, 403]
    assert own == 200


@pytest.mark.slow
@virtual_time
async def test_no_answer_lets_a_page_run_anything_but_our_script():
    """Every answer carries the policy, and no page needs an exception from it."""
    async with site() as world:
        headers, texts = [], []
        for path in (*PAGES, "/jobs/team-a/train-job", "/static/live.js", "/nothing-here"):
            async with world.client.get(path, headers=world.bearer("admin")) as answer:
                headers.append(answer.headers.get("Content-Security-Policy"))
                texts.append(await answer.text() if answer.content_type == "text/html" else "")

    assert headers == [POLICY] * len(headers)
    tags = [one for text in texts for one in Parts(text).tags]
    scripts = {attrs.get("src") for tag, attrs in tags if tag == "script"}
    assert scripts == {"/static/live.js"}
    assert not any(name == "style" or name[:2] == "on" for _, attrs in tags for name in attrs)
    assert not any("://" in (attrs.get("href") or attrs.get("src") or "") for _, attrs in tags)
