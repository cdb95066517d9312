"""From a kubeconfig or the pod's service account to a transport.

Which credentials: the given file; else `in_cluster`; else $KUBECONFIG, ~/.kube/config, and the
pod's service account, in kubectl's order. The official package reads them (`credentials`), and
is imported only here, when needed: it costs half a second and 20 MB.
"""

import os
from pathlib import Path

from global_sched.shared.clock import Clock
from global_sched.shared.kube.connection import Connection, CredentialSource, Warn, log_warning
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.kube.transport import AiohttpTransport

_WAY_OUT = "pass --kubeconfig FILE, set KUBECONFIG, or run in a pod with a service account"


async def connect(
    *,
    kubeconfig: Path | None = None,
    context: str | None = None,
    in_cluster: bool = False,
    clock: Clock,
    warn: Warn = log_warning,
) -> AiohttpTransport:
    """A transport to the API server that the credentials name; they have been loaded once.

    warn:    gets one line when that server need not prove who it is.
    Raises:  ConfigError with one line: what is wrong, and what would help.
    """
    source = find_source(kubeconfig=kubeconfig, context=context, in_cluster=in_cluster, clock=clock)
    return AiohttpTransport(await open_connection(source, clock=clock, warn=warn))


async def open_connection(
    source: CredentialSource, *, clock: Clock, warn: Warn = log_warning
) -> Connection:
    """A connection whose credentials have been loaded once. Raises ConfigError."""
    connection = Connection(source, clock=clock, warn=warn)
    await connection.access()
    return connection


def find_source(
    *, kubeconfig: Path | None, context: str | None, in_cluster: bool, clock: Clock
) -> CredentialSource:
    """The credentials source that kubectl would choose.

    Raises:  ConfigError when there is none.
    """
    from global_sched.shared.kube.credentials import (  # noqa: PLC0415 - heavy, see above
        InClusterSource,
        KubeconfigSource,
    )

    if kubeconfig is not None and in_cluster:
        raise ConfigError("a kubeconfig and in-cluster credentials exclude each other: give one")
    if in_cluster:
        return InClusterSource()
    if kubeconfig is not None:
        return KubeconfigSource((kubeconfig.expanduser(),), context, clock=clock)
    listed = [
        Path(part).expanduser() for part in os.environ.get("KUBECONFIG", "").split(":") if part
    ]
    if listed:
        existing = tuple(path for path in listed if path.exists())
        if not existing:
            names = ", ".join(map(str, listed))
            raise ConfigError(f"KUBECONFIG names {names}, which does not exist: {_WAY_OUT}")
        return KubeconfigSource(existing, context, clock=clock)
    default = Path("~/.kube/config").expanduser()
    if default.exists():
        return KubeconfigSource((default,), context, clock=clock)
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return InClusterSource()
    raise ConfigError(f"no credentials for an API server found: {_WAY_OUT}")
