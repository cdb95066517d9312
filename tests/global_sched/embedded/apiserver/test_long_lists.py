"""Long lists are not validated item by item again and again, and nothing slips through."""

import pytest

from global_sched.embedded.apiserver.validation.schemas import compile_schema
from global_sched.embedded.apiserver.validation.structural_schema import validate

ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "count": {"type": "integer", "maximum": 9}},
}
SCHEMA = {"type": "object", "properties": {"items": {"type": "array", "items": ITEM}}}
MANY = 40


def obj(**changed):
    """Forty sound items, some of them changed."""
    items = [{"name": f"item-{i}", "count": i % 10} for i in range(MANY)]
    for at, item in changed.items():
        items[int(at.removeprefix("at"))] = item
    return {"items": items}


def told(schema, value):
    return [(cause.field, cause.message) for cause in validate(schema, value)]


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        pytest.param(obj(), [], id="nothing is wrong"),
        pytest.param(
            obj(at7={"name": "x", "count": 10}), ["items[7].count"], id="one is too large"
        ),
        pytest.param(obj(at0={}, at39={"name": 1}), ["items[0].name", "items[39].name"], id="two"),
        pytest.param(obj(at5=None), ["items[5]"], id="one is no object"),
    ],
)
def test_what_was_seen_before_changes_no_answer(value, fields):
    """A schema that has accepted such items answers as a new one, also the second time."""
    used = compile_schema(SCHEMA)
    assert told(used, obj()) == []
    first, second = told(used, value), told(used, value)

    assert [field for field, _ in first] == fields
    assert first == second == told(compile_schema(SCHEMA), value)


def test_a_stricter_schema_starts_anew():
    """What the old definition accepted is judged by the new one."""
    strict = {**SCHEMA, "properties": {"items": {"type": "array", "items": {
        **ITEM, "properties": {**ITEM["properties"], "count": {"type": "integer", "maximum": 3}}
    }}}}  # fmt: skip
    assert told(compile_schema(SCHEMA), obj()) == []

    assert len(told(compile_schema(strict), obj())) == MANY // 10 * 6


def test_only_so_many_are_remembered():
    """A stream of ever new items does not fill the memory."""
    schema = compile_schema(SCHEMA)
    for start in range(0, 20_000, 20):
        value = {"items": [{"name": f"n{start + i}"} for i in range(20)]}
        assert told(schema, value) == []

    items = schema.properties["items"].items
    assert 0 < len(items.accepted) <= 4096
