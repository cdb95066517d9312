"""The arguments of what Kubernetes brings: etcd, API servers, controller managers, schedulers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.local_karmada.certs import Authority
from tools.local_karmada.kubeconfigs import Endpoint
from tools.local_karmada.ledger import Ledger, Program

CONTROL_PLANE: Final = "control-plane"
_CONTROL_PLANE_CONTROLLERS: Final = (
    "namespace-controller",
    "garbage-collector-controller",
    "serviceaccount-token-controller",
    "clusterrole-aggregation-controller",
    "validatingadmissionpolicy-status-controller",
    "ttl-after-finished-controller",
)
_MEMBER_CONTROLLERS: Final = (
    *_CONTROL_PLANE_CONTROLLERS,
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "job-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourcequota-controller",
    "statefulset-controller",
    "taint-eviction-controller",
)
"""No node lifecycle: kwok says what nodes are, and renews no Lease for each of 847 of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where everything of one federation is."""

    ledger: Ledger
    authority: Authority
    programs: Mapping[str, Path]

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.ledger.state

    def endpoint(self, server: str) -> Endpoint:
        """An API server by name: `control-plane`, or a member's."""
        port = self.ledger.port(f"{server}/kube-apiserver")
        url = f"https://127.0.0.1:{port}"
        return Endpoint(name=server, url=url, ca=self.authority.ca.cert)

    def kubeconfig(self, server: str, user: str) -> Path:
        """The kubeconfig of a user of a server, written by `identities`."""
        file = f"{server}-{user}".replace("/", "_").replace(":", "_")
        return self.state / "kubeconfigs" / f"{file}.yaml"

    def audit(self, server: str) -> Path:
        """The requests of a server, one JSON object a line."""
        return self.state / "audit" / f"{server}.log"

    def program(
        self, name: str, tool: str, *flags: str, health: str = "", before: tuple[str, ...] = ()
    ) -> Program:
        """A program of this site, ready to be started."""
        argv = (*before, str(self.programs[tool]), *flags)
        return Program(name=name, argv=argv, log=self.ledger.log(name), health=health)


def etcd(site: Site) -> Program:
    """The one store of all servers; it need not survive a power cut."""
    port, peers = site.ledger.port("etcd"), site.ledger.port("etcd/peers")
    url = f"http://127.0.0.1:{port}"
    return site.program(
        "etcd",
        "etcd",
        f"--data-dir={site.state / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}",
        "--unsafe-no-fsync",
        "--auto-compaction-retention=5m",
        "--quota-backend-bytes=4294967296",
        "--log-level=warn",
        health=f"{url}/health",
    )


def kube_apiserver(site: Site, server: str) -> Program:
    """An API server with RBAC, client certificates and account tokens."""
    authority = site.authority
    port = site.ledger.port(f"{server}/kube-apiserver")
    shown, accounts = authority.server(), authority.account_keys()
    front = authority.client("front-proxy-client")
    disabled = ["ServiceAccount", "TaintNodesByCondition"]
    if server == CONTROL_PLANE:
        disabled.append("StorageObjectInUseProtection")
    return site.program(
        f"{server}/kube-apiserver",
        "kube-apiserver",
        f"--etcd-servers=http://127.0.0.1:{site.ledger.port('etcd')}",
        f"--etcd-prefix=/{server}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={shown.cert}",
        f"--tls-private-key-file={shown.key}",
        f"--client-ca-file={authority.ca.cert}",
        "--authorization-mode=Node,RBAC",
        "--endpoint-reconciler-type=none",
        f"--disable-admission-plugins={','.join(disabled)}",
        "--service-cluster-ip-range=10.96.0.0/12",
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
        f"--service-account-key-file={accounts.cert}",
        f"--service-account-signing-key-file={accounts.key}",
        f"--proxy-client-cert-file={front.cert}",
        f"--proxy-client-key-file={front.key}",
        f"--requestheader-client-ca-file={authority.ca.cert}",
        "--requestheader-allowed-names=front-proxy-client",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--audit-policy-file={Path(__file__).parent / 'manifests' / 'audit-policy.yaml'}",
        f"--audit-log-path={site.audit(server)}",
        health=f"https://127.0.0.1:{port}/readyz",
    )


def kube_controller_manager(site: Site, server: str) -> Program:
    """The controllers that a control plane or a member needs, each as an account of its own."""
    port = site.ledger.port(f"{server}/kube-controller-manager")
    own = site.kubeconfig(server, "system:kube-controller-manager")
    wanted = _CONTROL_PLANE_CONTROLLERS if server == CONTROL_PLANE else _MEMBER_CONTROLLERS
    return site.program(
        f"{server}/kube-controller-manager",
        "kube-controller-manager",
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={site.authority.server().cert}",
        f"--tls-private-key-file={site.authority.server().key}",
        f"--controllers={','.join(wanted)}",
        "--leader-elect=false",
        "--use-service-account-credentials",
        f"--root-ca-file={site.authority.ca.cert}",
        f"--service-account-private-key-file={site.authority.account_keys().key}",
        "--kube-api-qps=100",
        "--kube-api-burst=200",
        health=f"https://127.0.0.1:{port}/healthz",
    )


def kube_scheduler(site: Site, server: str) -> Program:
    """Kubernetes' own scheduler, for pods of `default-scheduler`."""
    port = site.ledger.port(f"{server}/kube-scheduler")
    own = site.kubeconfig(server, "system:kube-scheduler")
    return site.program(
        f"{server}/kube-scheduler",
        "kube-scheduler",
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={site.authority.server().cert}",
        f"--tls-private-key-file={site.authority.server().key}",
        "--leader-elect=false",
        health=f"https://127.0.0.1:{port}/healthz",
    )
