"""Lists: selectors, pages on one version, versions asked for, other forms."""

import pytest

MAPS = "/api/v1/namespaces/team/configmaps"
MERGE = "application/merge-patch+json"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


def names(reply):
    return [item["metadata"]["name"] for item in reply.obj["items"]]


@pytest.fixture
async def filled(team):
    """Six config maps: c0 to c5, labelled by parity, two of them in a tier."""
    for index in range(6):
        labels = {"parity": "odd" if index % 2 else "even", "n": str(index)}
        if index > 3:
            labels["tier"] = "high"
        await team("POST", MAPS, {"metadata": {"name": f"c{index}", "labels": labels}})
    return team


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        pytest.param("parity=odd", ["c1", "c3", "c5"], id="equal"),
        pytest.param("parity==odd,tier", ["c5"], id="equal, and there"),
        pytest.param("parity!=odd", ["c0", "c2", "c4"], id="not equal"),
        pytest.param("tier!=high", ["c0", "c1", "c2", "c3"], id="absent is not equal"),
        pytest.param("!tier,n in (0, 3)", ["c0", "c3"], id="absent, and in a set"),
        pytest.param("n notin (0,1,2,3,4)", ["c5"], id="not in a set"),
        pytest.param("n>3", ["c4", "c5"], id="greater"),
        pytest.param("n<1", ["c0"], id="less"),
        pytest.param("tier in (low)", [], id="nothing matches"),
    ],
)
async def test_label_selectors(filled, selector, want):
    """Labels select by equality, by set and by presence; terms are all needed."""
    assert names(await filled("GET", MAPS, params={"labelSelector": selector})) == want


@pytest.mark.parametrize(
    ("selector", "want_message"),
    [
        pytest.param(
            "=1",
            "found '=', expected: !, identifier, or 'end of string'",
            id="a key is needed",
        ),
        pytest.param(
            "a in 1",
            "unable to parse requirement: found '1' expected: '('",
            id="a set has parentheses",
        ),
        pytest.param(
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            id="an operator is needed",
        ),
    ],
)
async def test_bad_label_selectors(team, selector, want_message):
    """A selector that cannot be read is refused with what was found."""
    reply = await team("GET", MAPS, params={"labelSelector": selector})

    assert (reply.code, reply.obj["message"]) == (400, want_message)


async def test_pages_are_of_one_version(filled):
    """What changes between two pages shows in neither; the last page has no token."""
    first = await filled("GET", MAPS, params={"limit": "2"})
    await filled("DELETE", f"{MAPS}/c2")
    await filled("POST", MAPS, {"metadata": {"name": "c1b"}})
    await filled("PATCH", f"{MAPS}/c3", {"data": {"x": "1"}}, kind=MERGE)
    token = first.obj["metadata"]["continue"]
    second = await filled("GET", MAPS, params={"limit": "2", "continue": token})
    token = second.obj["metadata"]["continue"]
    third = await filled("GET", MAPS, params={"limit": "2", "continue": token})

    assert [names(page) for page in (first, second, third)] == [
        ["c0", "c1"],
        ["c2", "c3"],
        ["c4", "c5"],
    ]
    assert [page.obj["metadata"].get("remainingItemCount") for page in (first, second)] == [4, 2]
    assert "data" not in second.obj["items"][1]
    assert "continue" not in third.obj["metadata"]
    assert len({page.obj["metadata"]["resourceVersion"] for page in (first, second, third)}) == 1


async def test_an_exact_version_is_the_past(filled):
    """A list at an exact version is what was there then."""
    version = (await filled("GET", MAPS)).obj["metadata"]["resourceVersion"]
    await filled("DELETE", f"{MAPS}/c0")

    exact = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
    then = await filled("GET", MAPS, params=exact)
    since = await filled("GET", MAPS, params={"resourceVersion": version})

    assert names(then)[0] == "c0"
    assert names(since)[0] == "c1"


@pytest.mark.parametrize(
    ("params", "want_code", "want_text"),
    [
        pytest.param(
            {"continue": "!!"},
            400,
            "invalid continue token: continue key is not valid: illegal base64 data at input"
            " byte 0",
            id="a token is base64",
        ),
        pytest.param(
            {"resourceVersionMatch": "Exact"},
            422,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
            id="a match needs a version",
        ),
        pytest.param(
            {"resourceVersion": "99999", "limit": "1"},
            504,
            "Too large resource version: 99999",
            id="the future is not known",
        ),
        pytest.param({"limit": "x"}, 400, "invalid syntax", id="a limit is a number"),
    ],
)
async def test_refused_lists(team, params, want_code, want_text):
    """A list that cannot be answered says why."""
    reply = await team("GET", MAPS, params=params)

    assert reply.code == want_code
    assert want_text in reply.obj["message"]


async def test_keys_are_ordered_as_the_store_of_a_real_server_does(http):
    """Namespaces order by their bytes before the slash: a-b comes before a."""
    for name in ("a", "a-b", "b"):
        await http("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        await http("POST", f"/api/v1/namespaces/{name}/secrets", {"metadata": {"name": "s"}})

    listed = (await http("GET", "/api/v1/secrets")).obj["items"]

    assert [item["metadata"]["namespace"] for item in listed] == ["a-b", "a", "b"]


async def test_metadata_alone(filled):
    """A client may ask for the metadata only."""
    reply = await filled("GET", MAPS, params={"limit": "1"}, headers={"Accept": PARTIAL})

    assert reply.obj["kind"] == "PartialObjectMetadataList"
    assert set(reply.obj["items"][0]) == {"kind", "apiVersion", "metadata"}


async def test_delete_collection_takes_what_is_selected(filled):
    """Deleting a collection honours selectors, and answers with what it deleted."""
    reply = await filled("DELETE", MAPS, params={"labelSelector": "parity=odd"})

    assert names(reply) == ["c1", "c3", "c5"]
    assert names(await filled("GET", MAPS)) == ["c0", "c2", "c4"]
