"""Deletion: finalizers, owners, propagation, and the end of a namespace."""

import asyncio

import pytest

MAPS = "/api/v1/namespaces/team/configmaps"
MERGE = "application/merge-patch+json"


async def settled(http, path, want, tries=200):
    """The code of a path once the collector is through."""
    for _ in range(tries):
        code = (await http("GET", path)).code
        if code == want:
            return code
        await asyncio.sleep(0)
    return code


async def make(http, name, owner=None, *, blocks=False, finalizers=()):
    meta = {"name": name, "finalizers": list(finalizers)}
    if owner is not None:
        meta["ownerReferences"] = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"],
                "blockOwnerDeletion": blocks,
            }
        ]
    reply = await http("POST", MAPS, {"metadata": meta})
    assert reply.code == 201, reply
    return reply.obj


async def test_dependents_go_with_their_owner(team):
    """Background deletion takes the owner at once, and what it owned after it, to the last."""
    top = await make(team, "top")
    middle = await make(team, "middle", top)
    await make(team, "leaf", middle)

    assert (await team("DELETE", f"{MAPS}/top")).obj["status"] == "Success"

    assert await settled(team, f"{MAPS}/middle", 404) == 404
    assert await settled(team, f"{MAPS}/leaf", 404) == 404


async def test_orphans_stay(team):
    """Orphaning cuts the dependents loose."""
    top = await make(team, "top")
    await make(team, "child", top)

    await team("DELETE", f"{MAPS}/top", {"propagationPolicy": "Orphan"})

    assert await settled(team, f"{MAPS}/top", 404) == 404
    assert "ownerReferences" not in (await team("GET", f"{MAPS}/child")).obj["metadata"]


async def test_foreground_waits_for_blocking_dependents(team):
    """An owner deleted in the foreground stays until the dependents that block it are gone."""
    top = await make(team, "top")
    await make(team, "held", top, blocks=True, finalizers=["example.test/hold"])

    marked = await team("DELETE", f"{MAPS}/top", {"propagationPolicy": "Foreground"})
    for _ in range(20):
        await asyncio.sleep(0)
    waiting = await team("GET", f"{MAPS}/top")
    child = await team("GET", f"{MAPS}/held")
    await team("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": None}}, kind=MERGE)

    assert marked.obj["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert waiting.code == 200
    assert "deletionTimestamp" in child.obj["metadata"]
    assert await settled(team, f"{MAPS}/held", 404) == 404
    assert await settled(team, f"{MAPS}/top", 404) == 404


async def test_one_living_owner_is_enough(team):
    """A dependent of two owners loses the reference to the one that went."""
    one = await make(team, "one")
    two = await make(team, "two")
    child = await make(team, "child", one)
    both = [*child["metadata"]["ownerReferences"]]
    both.append({**both[0], "name": "two", "uid": two["metadata"]["uid"]})
    await team("PATCH", f"{MAPS}/child", {"metadata": {"ownerReferences": both}}, kind=MERGE)

    await team("DELETE", f"{MAPS}/one")
    for _ in range(20):
        await asyncio.sleep(0)
    left = (await team("GET", f"{MAPS}/child")).obj

    assert [owner["name"] for owner in left["metadata"]["ownerReferences"]] == ["two"]


async def test_an_owner_that_never_was(team):
    """An object whose owner does not exist is collected."""
    ghost = {"metadata": {"name": "ghost", "uid": "00000000-0000-4000-8000-000000000000"}}
    await make(team, "child", ghost)

    assert await settled(team, f"{MAPS}/child", 404) == 404


async def test_what_is_being_deleted_takes_no_finalizer(team):
    """Finalizers only go while an object terminates."""
    await make(team, "a", finalizers=["example.test/hold"])
    await team("DELETE", f"{MAPS}/a")
    patch = {"metadata": {"finalizers": ["example.test/hold", "example.test/more"]}}

    reply = await team("PATCH", f"{MAPS}/a", patch, kind=MERGE)

    assert reply.code == 422
    assert reply.obj["message"] == (
        'ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added'
        " if the object is being deleted, found new finalizers"
        ' []string{"example.test/more"}'
    )


async def test_a_namespace_takes_its_content_along(team):
    """A deleted namespace terminates, takes nothing new, empties and goes."""
    await make(team, "held", finalizers=["example.test/hold"])
    await make(team, "free")

    marked = await team("DELETE", "/api/v1/namespaces/team")
    assert await settled(team, f"{MAPS}/free", 404) == 404
    refused = await team("POST", MAPS, {"metadata": {"name": "late"}})
    await team("PATCH", f"{MAPS}/held", {"metadata": {"finalizers": None}}, kind=MERGE)

    assert marked.obj["status"]["phase"] == "Terminating"
    assert refused.code == 403
    assert refused.obj["message"] == (
        'configmaps "late" is forbidden: unable to create new content in namespace team because it'
        " is being terminated"
    )
    assert refused.obj["details"]["causes"][0]["reason"] == "NamespaceTerminating"
    assert await settled(team, "/api/v1/namespaces/team", 404) == 404


@pytest.mark.parametrize(
    ("body", "want_code"),
    [
        pytest.param({"preconditions": {"uid": "x"}}, 409, id="another uid"),
        pytest.param({"preconditions": {"resourceVersion": "1"}}, 409, id="another version"),
        pytest.param({"propagationPolicy": "Sideways"}, 422, id="an unknown policy"),
        pytest.param(
            {"propagationPolicy": "Orphan", "orphanDependents": True}, 422, id="two policies"
        ),
    ],
)
async def test_refused_deletions(team, body, want_code):
    """Preconditions hold, and options make sense, or nothing is deleted."""
    await make(team, "a")

    assert (await team("DELETE", f"{MAPS}/a", body)).code == want_code
    assert (await team("GET", f"{MAPS}/a")).code == 200
