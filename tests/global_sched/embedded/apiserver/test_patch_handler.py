"""Patches: which kinds there are, how each merges, and the refusal of a bad one."""

import pytest

from global_sched.embedded.apiserver.patch.strategic_merge_patch import strategic_merge
from tests.global_sched.embedded.apiserver.widgets import CRDS, WIDGETS, definition, widget

JSON_PATCH = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
MAPS = "/api/v1/namespaces/team/configmaps"

PAIR = [{"name": "a", "image": "1"}, {"name": "b", "image": "1"}]


def spec(**fields):
    return {"spec": fields}


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        pytest.param(
            spec(containers=[{"name": "b", "image": "2"}]),
            spec(containers=[{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]),
            id="items merge by their key",
        ),
        pytest.param(
            spec(containers=[{"name": "c"}]),
            spec(containers=[*PAIR, {"name": "c"}]),
            id="a new item goes last",
        ),
        pytest.param(
            spec(containers=[{"name": "a", "$patch": "delete"}]),
            spec(containers=[{"name": "b", "image": "1"}]),
            id="an item is deleted by a directive",
        ),
        pytest.param(
            spec(containers=[{"$patch": "replace"}, {"name": "z"}]),
            spec(containers=[{"name": "z"}]),
            id="a list is replaced by a directive",
        ),
        pytest.param(
            {
                "spec": {
                    "$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                    "containers": [{"name": "a", "image": "3"}],
                }
            },
            spec(containers=[{"name": "b", "image": "1"}, {"name": "a", "image": "3"}]),
            id="the order of a merged list can be given",
        ),
        pytest.param(
            spec(tolerations=[{"key": "x"}]),
            spec(containers=PAIR, tolerations=[{"key": "x"}]),
            id="a list without a key is replaced",
        ),
        pytest.param(spec(containers=None), {"spec": {}}, id="null removes"),
        pytest.param(
            {"metadata": {"finalizers": ["b"]}},
            {"metadata": {"finalizers": ["b"]}, "spec": {"containers": PAIR}},
            id="a set of words grows",
        ),
    ],
)
def test_strategic_merge(patch, want):
    """Lists of built-in kinds merge by the key that their type names."""
    target = {"spec": {"containers": [dict(item) for item in PAIR]}}

    assert strategic_merge("core/v1.Pod", target, patch) == want


def test_strategic_merge_of_words():
    """Words of a set are added once, and taken out by a directive."""
    target = {"metadata": {"finalizers": ["a", "b"]}}
    patch = {"metadata": {"finalizers": ["c", "b"], "$deleteFromPrimitiveList/finalizers": ["a"]}}

    merged = strategic_merge("core/v1.Pod", target, patch)

    assert sorted(merged["metadata"]["finalizers"]) == ["b", "c"]


@pytest.mark.parametrize(
    ("kind", "patch", "want_code", "want_message"),
    [
        pytest.param(
            JSON_PATCH,
            [{"op": "test", "path": "/data/x", "value": "2"}],
            422,
            "the server rejected our request due to an error in our request",
            id="a test that fails",
        ),
        pytest.param(
            JSON_PATCH,
            [{"op": "remove", "path": "/data/none"}],
            422,
            "the server rejected our request due to an error in our request",
            id="a path that is not there",
        ),
        pytest.param(
            MERGE,
            [1],
            400,
            "error decoding patch: json: cannot unmarshal array into Go value of type"
            " map[string]interface {}",
            id="a merge patch is an object",
        ),
        pytest.param(
            MERGE,
            {"metadata": {"name": "d"}},
            400,
            "the name of the object (d) does not match the name on the URL (c)",
            id="names stay",
        ),
        pytest.param(
            MERGE,
            {"metadata": {"resourceVersion": "1"}},
            409,
            'Operation cannot be fulfilled on configmaps "c": the object has been modified;'
            " please apply your changes to the latest version and try again",
            id="a version is a condition",
        ),
        pytest.param(
            MERGE,
            {"metadata": {"labels": {"a b": "c"}}},
            422,
            None,
            id="labels are checked",
        ),
    ],
)
async def test_bad_patches(team, kind, patch, want_code, want_message):
    """A patch that cannot be applied changes nothing, and says why."""
    await team("POST", MAPS, {"metadata": {"name": "c"}, "data": {"x": "1"}})

    reply = await team("PATCH", f"{MAPS}/c", patch, kind=kind)

    assert reply.code == want_code
    assert want_message is None or reply.obj["message"] == want_message
    assert (await team("GET", f"{MAPS}/c")).obj["data"] == {"x": "1"}


async def test_custom_resources_take_no_strategic_patch(team):
    """What has no Go type has no patch keys: 415 with the kinds that are taken."""
    await team("POST", CRDS, definition())
    await team("POST", WIDGETS, widget())

    reply = await team("PATCH", f"{WIDGETS}/w", {"spec": {}}, kind=STRATEGIC)

    assert reply.code == 415
    assert "application/apply-patch+yaml" in reply.obj["message"]


async def test_a_strict_patch_names_the_unknown_field(team):
    """With strict validation an unknown field in a patch is the patch's fault."""
    await team("POST", MAPS, {"metadata": {"name": "c"}})
    query = "?fieldValidation=Strict"

    reply = await team("PATCH", f"{MAPS}/c{query}", {"dta": {"x": "1"}}, kind=MERGE)

    assert reply.code == 422
    assert reply.obj["details"]["causes"][0]["field"] == "patch"
    assert reply.obj["message"].endswith('strict decoding error: unknown field "dta"')


async def test_a_dry_run_stores_nothing(team):
    """A dry run answers with what would be, and nothing is stored."""
    made = await team("POST", f"{MAPS}?dryRun=All", {"metadata": {"name": "c"}})
    absent = await team("GET", f"{MAPS}/c")
    await team("POST", MAPS, {"metadata": {"name": "c"}})
    patched = await team("PATCH", f"{MAPS}/c?dryRun=All", {"data": {"x": "1"}}, kind=MERGE)
    await team("DELETE", f"{MAPS}/c?dryRun=All")
    stored = await team("GET", f"{MAPS}/c")

    assert (made.code, absent.code) == (201, 404)
    assert "resourceVersion" not in made.obj["metadata"]
    assert patched.obj["data"] == {"x": "1"}
    assert "data" not in stored.obj
