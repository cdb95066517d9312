"""`python -m global_sched.embedded serve`: one bare API server until it is stopped."""

import argparse
import asyncio
import gc
import signal
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.apiserver.http.identity import ADMIN
from global_sched.embedded.apiserver.http.tls import loopback_tls
from global_sched.embedded.credentials import Tokens
from global_sched.shared.clock import SystemClock


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port between 0 and 65535")
    return int(text)


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = _Parser(prog="global_sched.embedded", description="Embedded control planes.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    serve = commands.add_parser("serve", help="run one bare Kubernetes API server")
    serve.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; 0 is a free one")
    serve.add_argument("--data", type=Path, help="folder that keeps the state; none is in memory")
    return parser.parse_args(arguments)


async def serve(port: int, data: Path | None) -> None:
    """Run a server until SIGTERM or SIGINT; the kubeconfig's path goes to standard output.

    The kubeconfig has an administrator's token; a request without one is anonymous and may nothing.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with tempfile.TemporaryDirectory(prefix="global-sched-") as temporary:
        tokens = Tokens(data)
        clock = SystemClock()
        server = ApiServer(
            name="embedded",
            clock=clock,
            data_dir=data,
            tokens={tokens.of("admin"): ADMIN},
            tls=loopback_tls(data or Path(temporary), clock.now()),
        )
        await server.start(port=port)
        # A full collection of a large state would hold up every request for a tenth of a second.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        try:
            tokens.save()
            path = (data or Path(temporary)).resolve() / "kubeconfig"
            server.write_kubeconfig(path)
            sys.stdout.write(f"{path}\n")
            sys.stdout.flush()
            await stop.wait()
        finally:
            await server.stop()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    given = _arguments(sys.argv[1:] if arguments is None else arguments)
    try:
        asyncio.run(serve(given.port, given.data))
    except OSError as error:
        sys.stderr.write(f"global_sched.embedded: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
