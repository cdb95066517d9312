"""Protobuf bodies, as kubectl and Go controllers send them for built-in kinds."""

import base64

import pytest

from global_sched.embedded.apiserver.codec.protobuf import MAGIC, ProtobufError, decode_object

PROTOBUF = "application/vnd.kubernetes.protobuf"


def number(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def text(field, value):
    raw = value.encode() if isinstance(value, str) else value
    return number(field << 3 | 2) + number(len(raw)) + raw


def integer(field, value):
    return number(field << 3) + number(value % (1 << 64))


def envelope(api_version, kind, message):
    meta = text(1, api_version) + text(2, kind)
    return MAGIC + text(1, meta) + text(2, message) + text(3, "") + text(4, "")


def named(name, *more):
    return text(1, b"".join((text(1, name), *more)))


@pytest.mark.parametrize(
    ("body", "want"),
    [
        pytest.param(
            envelope("v1", "Namespace", named("a", text(11, text(1, "k") + text(2, "v")))),
            {
                "kind": "Namespace",
                "apiVersion": "v1",
                "metadata": {"name": "a", "labels": {"k": "v"}},
            },
            id="labels are a map",
        ),
        pytest.param(
            envelope(
                "v1",
                "Secret",
                named("s") + text(2, text(1, "k") + text(2, b"\x00\xff")) + text(3, "Opaque"),
            ),
            {
                "kind": "Secret",
                "apiVersion": "v1",
                "metadata": {"name": "s"},
                "data": {"k": base64.b64encode(b"\x00\xff").decode()},
                "type": "Opaque",
            },
            id="bytes become base64",
        ),
        pytest.param(
            envelope("scheduling.k8s.io/v1", "PriorityClass", named("p") + integer(2, -7)),
            {
                "kind": "PriorityClass",
                "apiVersion": "scheduling.k8s.io/v1",
                "metadata": {"name": "p"},
                "value": -7,
            },
            id="negative numbers",
        ),
        pytest.param(
            envelope(
                "coordination.k8s.io/v1",
                "Lease",
                named("l")
                + text(
                    2, text(1, "me") + integer(2, 15) + text(4, integer(1, 60) + integer(2, 5000))
                ),
            ),
            {
                "kind": "Lease",
                "apiVersion": "coordination.k8s.io/v1",
                "metadata": {"name": "l"},
                "spec": {
                    "holderIdentity": "me",
                    "leaseDurationSeconds": 15,
                    "renewTime": "1970-01-01T00:01:00.000005Z",
                },
            },
            id="times with microseconds",
        ),
        pytest.param(
            envelope(
                "v1",
                "Service",
                named("s")
                + text(2, text(1, integer(3, 80) + text(4, integer(1, 1) + text(3, "web")))),
            ),
            {
                "kind": "Service",
                "apiVersion": "v1",
                "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 80, "targetPort": "web"}]},
            },
            id="a port by number or name",
        ),
        pytest.param(
            envelope(
                "v1",
                "Pod",
                named("p")
                + text(
                    2,
                    text(1, text(1, "v") + text(2, text(2, b"")))
                    + text(
                        2, text(1, "c") + text(8, text(2, text(1, "cpu") + text(2, text(1, "2"))))
                    ),
                ),
            ),
            {
                "kind": "Pod",
                "apiVersion": "v1",
                "metadata": {"name": "p"},
                "spec": {
                    "volumes": [{"name": "v", "emptyDir": {}}],
                    "containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}],
                },
            },
            id="inlined structs and amounts",
        ),
    ],
)
def test_decoding(body, want):
    """An envelope is the object that its JSON form would be."""
    assert decode_object(body) == want


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"{}", id="no envelope"),
        pytest.param(MAGIC + b"\x0a\xff", id="cut off"),
        pytest.param(envelope("example.test/v1", "Widget", b""), id="a kind without protobuf"),
    ],
)
def test_refused(body):
    """What is no envelope of a built-in kind is refused."""
    with pytest.raises(ProtobufError):
        decode_object(body)


async def test_a_namespace_is_created_by_protobuf(http):
    """What kubectl sends for `create namespace` creates one."""
    body = envelope("v1", "Namespace", named("made"))

    reply = await http("POST", "/api/v1/namespaces", body, kind=PROTOBUF)

    assert (reply.code, reply.obj["status"]) == (201, {"phase": "Active"})


async def test_delete_options_by_protobuf(http):
    """Go clients send the options of a deletion as protobuf too."""
    maps = "/api/v1/namespaces/default/configmaps"
    await http("POST", maps, {"metadata": {"name": "c"}})
    body = envelope("v1", "DeleteOptions", text(4, "Orphan"))

    reply = await http("DELETE", f"{maps}/c", body, kind=PROTOBUF)

    assert reply.obj["metadata"]["finalizers"] == ["orphan"]
