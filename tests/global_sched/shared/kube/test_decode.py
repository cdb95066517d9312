"""Lists and events with poisonous objects in them."""

import json

import pytest

from global_sched.shared.api.base import KubeObject
from global_sched.shared.kube.decode import EventType, Lines, codec
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.kube.salvage import SalvageError, elements, members, metadata_of

DEEP = b'{"metadata":{"name":"x","namespace":"ns","uid":"u","resourceVersion":"3"},"spec":{"a":' + (
    b"[" * 5000 + b"]" * 5000 + b"}}"
)
GOOD = b'{"metadata":{"name":"good","namespace":"ns","uid":"g","resourceVersion":"2"}}'


class Spec(KubeObject, frozen=True):
    """A type with a part that is looked into."""

    spec: dict[str, object] | None = None


def bad(spec: str) -> bytes:
    meta = '{"name":"x","namespace":"ns","uid":"u","resourceVersion":"3"}'
    return f'{{"metadata":{meta},"spec":{spec}}}'.encode()


POISON = [
    pytest.param(DEEP, "nested too deep", id="nested 5,000 deep"),
    pytest.param(bad('{"a":NaN}'), "JSON is malformed", id="a bare NaN"),
    pytest.param(bad('"text"'), "Expected `object | null`, got `str`", id="a wrong type"),
    pytest.param(bad('{"a":"\\ud800"}'), "truncated", id="half a surrogate pair"),
    pytest.param(bad('{"a":-Infinity}'), "JSON is malformed", id="a bare infinity"),
]


@pytest.mark.parametrize(("poison", "want"), POISON)
def test_one_object_never_hides_a_list(poison, want):
    """The other objects of a page are read, and the bad one is named with its reason."""
    body = b'{"kind":"L","metadata":{"resourceVersion":"9","continue":"c"},"items":[%s,%s,%s]}'

    page = codec(Spec).page(body % (GOOD, poison, GOOD))

    assert [item.metadata.name for item in page.items] == ["good", "good"]
    assert [(m.key, m.uid, m.resource_version) for m in page.malformed] == [
        (ObjectKey("ns", "x"), "u", "3")
    ]
    assert want in page.malformed[0].error
    assert (page.resource_version, page.next) == ("9", "c")


@pytest.mark.parametrize(("poison", "want"), POISON)
def test_a_poisonous_event_is_an_event(poison, want):
    """An event whose object cannot be read still says which object changed."""
    found = codec(Spec).event(b'{"type":"MODIFIED","object":%s}' % poison)

    assert found.type is EventType.MODIFIED
    assert found.identity.key == ObjectKey("ns", "x")
    assert isinstance(found.object, Malformed)
    assert want in found.object.error


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"<html></html>", id="a web page"),
        pytest.param(b'{"items":[{"a":1}', id="cut off"),
        pytest.param(b"[1,2]", id="another shape"),
        pytest.param(b'{"metadata":{"resourceVersion":7},"items":[]}', id="a version that is none"),
    ],
)
def test_what_is_no_list_is_refused(body):
    """Without a readable version and brackets that match, nothing is believed."""
    with pytest.raises(SalvageError):
        codec(KubeObject).page(body)


def test_null_items_are_no_items():
    """Servers write null for an empty list."""
    page = codec(KubeObject).page(
        b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":null}'
    )

    assert (page.items, page.resource_version) == ([], "1")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="empty"),
        pytest.param({"a": [1, {"b": "}],{"}], "c": 'quote " and \\ '}, id="brackets in texts"),
        pytest.param({"metadata": {"name": "n"}, "x": {"metadata": 1}}, id="names at every depth"),
    ],
)
def test_members_cut_as_json_does(value):
    """The flat scan finds the members that a JSON parser finds."""
    text = json.dumps(value, indent=1).encode()

    assert {key.decode(): json.loads(raw) for key, raw in members(text)} == value
    assert [json.loads(raw) for raw in elements(b"[%s, 7 ,%s]" % (text, text))] == [value, 7, value]


def test_unreadable_metadata_is_read_field_by_field():
    """A bad annotation or a name that is no text hides only itself."""
    meta = metadata_of(b'{"metadata":{"uid":"u","name":7,"annotations":{"a":NaN}}}')

    assert (meta.uid, meta.name) == ("u", "")


def test_lines_do_not_depend_on_chunks():
    """However the bytes are cut, the same lines come out."""
    text = b"first\n\nsecond\nthird"
    for size in range(1, len(text) + 1):
        lines = Lines()
        found = [
            line
            for start in range(0, len(text), size)
            for line in lines.feed(text[start : start + size])
        ]
        assert found == [b"first", b"", b"second"]
        assert lines.pending == len(b"third")


def test_an_endless_line_is_refused():
    """A stream without line ends does not fill the memory."""
    lines = Lines(limit=10)
    lines.feed(b"12345")
    with pytest.raises(SalvageError, match="larger than 10 bytes"):
        lines.feed(b"678901")


def test_types_need_metadata():
    """A type without metadata cannot be listed: its objects have no key."""
    with pytest.raises(TypeError, match="no field `metadata`"):
        codec(int)
