"""An API server alone, with flags that the federation's servers do not have."""

import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.local_karmada import kubeconfigs
from tools.local_karmada.federation import Federation
from tools.local_karmada.kubeconfigs import Credential, Endpoint


@contextmanager
def api_server(
    federation: Federation, folder: Path, *flags: str, users: Mapping[str, str]
) -> Iterator[dict[str, Path]]:
    """Kubeconfigs by name of an API server with these flags: `admin`, and the users by theirs.

    It keeps what it has in the federation's etcd, below a prefix of its own.
    """
    site = federation.site
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    tokens = folder / "tokens.csv"
    lines = ['admin,admin,1,"system:masters"', *(f"{who},{user},2" for who, user in users.items())]
    tokens.write_text("\n".join(lines), encoding="utf-8")
    shown, keys = site.authority.server(), site.authority.account_keys()
    process = subprocess.Popen(
        [
            federation.tool("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{site.ledger.port('etcd')}",
            f"--etcd-prefix=/bare-{port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={shown.cert}",
            f"--tls-private-key-file={shown.key}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={tokens}",
            "--endpoint-reconciler-type=none",
            "--disable-admission-plugins=ServiceAccount",
            "--service-cluster-ip-range=10.96.0.0/12",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={keys.cert}",
            f"--service-account-signing-key-file={keys.key}",
            *flags,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    url = f"https://127.0.0.1:{port}"
    place = Endpoint(name="bare", url=url, ca=site.authority.ca.cert)
    try:
        yield {
            who: kubeconfigs.write(
                folder / f"{who}.yaml", {"bare": (place, Credential(user=who, token=who))}
            )
            for who in ("admin", *users)
        }
    finally:
        process.terminate()
        process.wait(timeout=30)
