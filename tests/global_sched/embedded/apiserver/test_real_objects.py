"""Objects of a real cluster: read here they stay what they are, applied here they become it."""

import copy
from pathlib import Path

import pytest
import yaml

from global_sched.embedded.apiserver.codec.normalizing import normalize
from global_sched.embedded.apiserver.resources.builtin_kinds import builtin_resources
from global_sched.embedded.apiserver.strategy.by_kind import rules_of

DATA = Path(__file__).parents[3] / "data" / "karmada-1.18.2"
SERVED = {(served.api_version, served.kind): served for served in builtin_resources()}


def documents(path):
    """The objects in a file, lists unfolded."""
    found = []
    for document in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader):
        if document:
            found += document["items"] if document["kind"] == "List" else [document]
    return found


def builtin_objects():
    """Every built-in object of the recording, once per state."""
    for path in sorted(DATA.glob("*/*.yaml")):
        for obj in documents(path):
            if (obj["apiVersion"], obj["kind"]) in SERVED:
                name = f"{path.parent.name} {path.stem} {obj['kind']} {obj['metadata']['name']}"
                yield pytest.param(obj, id=name)


@pytest.mark.parametrize("obj", list(builtin_objects()))
def test_a_real_object_is_a_fixpoint(obj):
    """Decoding and defaulting add nothing to, and take nothing from, what a real server wrote."""
    served = SERVED[obj["apiVersion"], obj["kind"]]

    read, unknown = normalize(served.struct, copy.deepcopy(obj))
    rules_of(served.collection).defaults(read)

    assert unknown == []
    assert {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **read} == obj


def applied():
    """What the user of the recording applied, of the built-in kinds."""
    claimed = {
        (obj["kind"], obj["metadata"]["name"]): obj
        for obj in documents(DATA / "1-claimed" / "karmada-templates.yaml")
    }
    for obj in documents(DATA / "0-applied.yaml"):
        want = claimed.get((obj["kind"], obj["metadata"]["name"]))
        if want is not None and (obj["apiVersion"], obj["kind"]) in SERVED:
            yield pytest.param(obj, want, id=f"{obj['kind']} {obj['metadata']['name']}")


@pytest.mark.parametrize(("obj", "want"), list(applied()))
async def test_an_applied_object_becomes_the_real_one(http, obj, want):
    """Spec and status after a create are those of the recording, but for the uid."""
    await http("POST", "/api/v1/namespaces", {"metadata": {"name": "team-a"}})
    served = SERVED[obj["apiVersion"], obj["kind"]]
    path = f"/apis/{obj['apiVersion']}/namespaces/team-a/{served.plural}"

    made = await http("POST", path, obj)

    uid, real = made.obj["metadata"]["uid"], want["metadata"]["uid"]
    spec = yaml.safe_load(yaml.safe_dump(want["spec"]).replace(real, uid))
    assert made.code == 201
    assert made.obj["spec"] == spec
    assert made.obj["status"] == want["status"]
