"""The state folder: what it remembers, and what it says when something is in the way."""

import socket
from pathlib import Path

import pytest

from tools.local_karmada.errors import LocalError
from tools.local_karmada.ledger import Ledger, check_free
from tools.local_karmada.options import Options


def test_ports_stay(tmp_path):
    """A server has the same port for as long as its folder lives; no two have the same."""
    ledger = Ledger(tmp_path)
    first, second = ledger.port("a"), ledger.port("b")
    assert first != second
    assert Ledger(tmp_path).port("a") == first


def test_no_outgoing_connection_takes_a_port(tmp_path):
    """A server that is started again finds its port free, however many try to connect to it."""
    path = Path("/proc/sys/net/ipv4/ip_local_port_range")
    if not path.is_file():
        pytest.skip("this machine does not say which ports it gives to outgoing connections")
    first, last = map(int, path.read_text().split())
    ledger = Ledger(tmp_path)
    ports = [ledger.port(f"server {at}") for at in range(50)]
    assert len(set(ports)) == 50
    assert not [one for one in ports if first <= one <= last]


def test_configured_ports_are_counted_from_the_first(tmp_path):
    """`PORT=` gives every server the next one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        base = probe.getsockname()[1]
    ledger = Ledger(tmp_path)
    ledger.options = Options(first_port=base)
    assert ledger.port("etcd") == base


def test_a_port_in_use_is_named():
    """The message says which port, what for, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=rf"port {port} for etcd is in use .*PORT="):
            check_free("etcd", port)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="an empty file"),
        pytest.param('{"options": {', id="half a file"),
        pytest.param('{"options": null, "ports": 3, "programs": []}', id="another shape"),
        pytest.param("[]", id="no object"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, content):
    """It is said in one line, with the way out."""
    (tmp_path / "federation.json").write_text(content)
    with pytest.raises(LocalError, match=r"federation.json is damaged .*karmada-down"):
        Ledger(tmp_path)


def test_one_change_at_a_time(tmp_path):
    """A second process learns which one changes the federation now."""
    with (
        Ledger(tmp_path).changing(),
        pytest.raises(LocalError, match=r"is being changed by process \d+"),
        Ledger(tmp_path).changing(),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"members": 0}, "MEMBERS=0: use 1 to 20", id="no member"),
        pytest.param({"karmada": "1.19.0"}, "KARMADA=1.19.0: use 1.18.2 or", id="no such version"),
        pytest.param({"first_port": 80}, "first port 80: use 1024", id="a port of the system"),
        pytest.param({"scenario": "/no/such.yaml"}, "/no/such.yaml is not there", id="no scenario"),
    ],
)
def test_options_that_cannot_be(options, message):
    """Each is refused with what would do."""
    with pytest.raises(LocalError, match=message):
        Options(**options)


def test_options_survive_json():
    """What is asked for is what is found again."""
    asked = Options(members=2, failover=True, controller_flags=("--v=4",))
    assert Options.read(asked.plain()) == asked
    assert Options.read(asked.plain() | {"unknown": 1}) == asked
