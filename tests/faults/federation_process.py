"""An embedded federation as a process of its own, for tests that kill and cut off real programs.

    python -m tests.faults.federation_process FOLDER

Started again on the same folder it goes on from its data, at the same addresses.
Members: east (2 racks of 4), west (1 rack of 4), north (2 racks of 3), 8 GPUs a node. Every state
that the checker looks at is a line of FOLDER/history.jsonl as soon as it is stored. It prints the
servers' addresses as one line of JSON when it is ready; on standard input it takes
`silence MEMBER`, `answer MEMBER` and `quit`.
"""

import asyncio
import json
import sys
from pathlib import Path

from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.federation import FREE_PORTS, Federation, MemberSpec
from global_sched.embedded.members.racks import rack_plan
from global_sched.shared.clock import SystemClock
from global_sched.shared.telemetry.logs import configure
from tests.checker import PLURALS

MEMBERS = {"east": (2, 4), "west": (1, 4), "north": (2, 3)}


async def main(folder: Path) -> None:
    """Run until stopped."""
    configure(level="warning")
    clock = SystemClock()
    specs = [
        MemberSpec(name=name, nodes=rack_plan(name, racks=racks, nodes=nodes))
        for name, (racks, nodes) in MEMBERS.items()
    ]
    ports = folder / "ports.json"
    federation = Federation(
        specs,
        clock=clock,
        state=folder,
        persist=True,
        tenants=["team-a"],
        ports=json.loads(ports.read_text()) if ports.exists() else FREE_PORTS,
    )
    servers = {one.name: one for one in (federation.control, *federation.members.values())}
    with (folder / "history.jsonl").open("a", buffering=1, encoding="utf-8") as history:
        for server in servers.values():
            server.on_commit(_writer(history, server.name, clock))
        await federation.start()
        await federation.ready()
        addresses = {name: int(server.url.rpartition(":")[2]) for name, server in servers.items()}
        ports.write_text(json.dumps(addresses))
        _say(json.dumps({name: server.url for name, server in servers.items()}))
        async for words in _commands():
            if words[0] == "quit":
                break
            await (_silence if words[0] == "silence" else _answer)(servers[words[1]])
            _say("done")
        await federation.stop()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _writer(history, server, clock):
    nodes = set()

    def write(served: ResourceInfo, record: Record, gone: bool) -> None:
        if served.plural not in PLURALS or served.group == "batch":
            return
        if served.plural == "nodes":
            if record.key in nodes:
                return
            nodes.add(record.key)
        line = [clock.monotonic(), server, served.plural, record.load(), gone]
        history.write(f"{json.dumps(line)}\n")

    return write


async def _commands():
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        yield line.decode().split()


async def _silence(server: ApiServer) -> None:
    """It does not answer any more; its controllers and pods go on."""
    await server.close()


async def _answer(server: ApiServer) -> None:
    await server.open()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
