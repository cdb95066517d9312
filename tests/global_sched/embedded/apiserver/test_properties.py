"""JSON patches refused and applied; schemas against jsonschema-rs, sets of fields."""

import json

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.embedded.apiserver.codec.shape import ANY
from global_sched.embedded.apiserver.patch.field_sets import (
    compare,
    difference,
    intersection,
    merge,
    of_value,
    paths,
)
from global_sched.embedded.apiserver.patch.json_patch import PatchError, json_patch
from global_sched.embedded.apiserver.validation.schemas import compile_schema
from global_sched.embedded.apiserver.validation.structural_schema import validate
from global_sched.shared.json_values import copied, merge_patch
from tests.deep import examples

keys = st.sampled_from(["a", "b", "c", "x/y", "t~n"])
leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "s", "t"])
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(keys, values, max_size=4)


def pointers(value, prefix=""):
    """Every path in a value, and some beside it."""
    found = [prefix]
    if isinstance(value, dict):
        for key, part in value.items():
            escaped = key.replace("~", "~0").replace("/", "~1")
            found += pointers(part, f"{prefix}/{escaped}")
        found.append(f"{prefix}/new")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            found += pointers(part, f"{prefix}/{index}")
        found += [f"{prefix}/{len(value)}", f"{prefix}/-"]
    return found


@st.composite
def patched(draw):
    """A document and a patch of it whose paths are mostly there."""
    document = draw(objects)
    operations = []
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(pointers(document)))
        name = draw(st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]))
        operation = {"op": name, "path": path}
        if name in {"add", "replace", "test"}:
            operation["value"] = draw(values)
        if name in {"move", "copy"}:
            operation["from"] = draw(st.sampled_from(pointers(document)))
        operations.append(operation)
    return document, operations


@settings(max_examples=examples(80), deadline=None)
@given(patched())
def test_a_json_patch_applies_or_is_refused_with_its_operation(case):
    """Nothing but PatchError comes out, and no value of the patch becomes part of the object."""
    document, operations = case
    before = json.dumps(operations)
    try:
        result = json_patch(copied(document), operations)
    except PatchError:
        return

    _spoil(result)
    assert json.dumps(operations) == before


def _spoil(value):
    """Change every container in a value."""
    if isinstance(value, dict):
        for part in value.values():
            _spoil(part)
        value["spoiled"] = True
    elif isinstance(value, list):
        for part in value:
            _spoil(part)
        value.append("spoiled")


@pytest.mark.parametrize(
    "operations",
    [
        pytest.param({"op": "remove", "path": "/a"}, id="an operation that is no list"),
        pytest.param([1], id="an operation that is no object"),
        pytest.param([{"op": "spin", "path": "/a"}], id="an operation that does not exist"),
        pytest.param([{"op": "add", "path": "/a"}], id="no value"),
        pytest.param([{"op": "remove"}], id="no path"),
        pytest.param([{"op": "remove", "path": "a"}], id="a path without a slash"),
        pytest.param([{"op": "remove", "path": ""}], id="the whole object removed"),
        pytest.param([{"op": "move", "from": "/b", "path": "/b/c"}], id="into its own child"),
        pytest.param([{"op": "add", "path": "/l/3", "value": 1}], id="beyond the end of a list"),
        pytest.param([{"op": "add", "path": "/l/01", "value": 1}], id="an index with a zero"),
        pytest.param([{"op": "test", "path": "/a", "value": True}], id="1 is not true"),
    ],
)
def test_a_json_patch_that_cannot_be_applied_is_refused(operations):
    """What RFC 6902 does not allow, or the object does not have."""
    with pytest.raises(PatchError):
        json_patch({"a": 1, "b": {}, "l": [1, 2]}, operations)


@settings(max_examples=examples(80), deadline=None)
@given(objects, objects)
def test_merge_patch_leaves_its_target(target, patch):
    """A merge patch is the recursive rule of RFC 7396, and changes neither operand."""
    before = json.dumps([target, patch])

    result = merge_patch(target, patch)

    assert json.dumps([target, patch]) == before
    assert result == _merged(target, patch)


def _merged(target, patch):
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = _merged(out.get(key), value)
    return out


texts = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(1, 3),
        "enum": st.lists(st.sampled_from(["", "s", "t"]), min_size=1, unique=True),
        "pattern": st.sampled_from(["^s", "t$"]),
    },
)
numbers = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={
        "minimum": st.integers(-2, 2),
        "maximum": st.integers(-2, 2),
        "multipleOf": st.integers(1, 3),
    },
)
scalars = texts | numbers | st.just({"type": "boolean"})
schemas = st.recursive(
    scalars,
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(keys, inner, max_size=3)},
            optional={
                "required": st.lists(keys, max_size=2, unique=True),
                "maxProperties": st.integers(0, 3),
            },
        )
        | st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"minItems": st.integers(0, 2), "maxItems": st.integers(0, 3)},
        )
        | st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner})
    ),
    max_leaves=6,
)


@settings(max_examples=examples(120), deadline=None)
@given(schemas, values)
def test_structural_validation_agrees_with_the_oracle(schema, value):
    """A value is valid here exactly when it is valid JSON Schema."""
    wanted = jsonschema_rs.is_valid(schema, value)

    causes = validate(compile_schema(schema), value, "spec", top=False)

    assert (causes == []) is wanted


@settings(max_examples=examples(80), deadline=None)
@given(objects, objects)
def test_a_change_is_what_was_added_and_removed(old, new):
    """Old fields without the removed ones, with the changed ones, are the new fields."""
    changed, removed = {}, {}
    compare(ANY, old, new, changed, removed)
    before, after = of_value(ANY, old), of_value(ANY, new)
    before.pop(".", None)
    after.pop(".", None)

    left = merge(difference(difference(before, removed), changed), changed)

    kept = {path for path in paths(before) if path not in set(paths(removed))}
    assert set(paths(after)) - kept <= set(paths(changed))
    assert set(paths(changed)) <= set(paths(after))
    assert set(paths(after)) <= set(paths(left))


@settings(max_examples=examples(80), deadline=None)
@given(objects, objects)
def test_sets_of_fields_behave_like_sets(one, two):
    """Union, intersection and difference agree with sets of paths."""
    left, right = of_value(ANY, one), of_value(ANY, two)
    left.pop(".", None)
    right.pop(".", None)
    one_paths, two_paths = set(paths(left)), set(paths(right))

    assert set(paths(merge(left, right))) == one_paths | two_paths
    assert set(paths(intersection(left, right))) == one_paths & two_paths
    assert set(paths(difference(left, right))) == one_paths - two_paths
