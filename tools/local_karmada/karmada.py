"""The arguments of Karmada's own programs, each as a user of its own."""

from pathlib import Path
from typing import Final

from tools.local_karmada.ledger import Program
from tools.local_karmada.options import Options
from tools.local_karmada.servers import CONTROL_PLANE, Site

USER: Final = "system:karmada:"
"""Karmada's programs are users with this prefix, as in its own certificates."""
_SHORT: Final = (
    "--cluster-status-update-frequency=2s",
    "--cluster-failure-threshold=4s",
    "--cluster-success-threshold=4s",
    "--cluster-monitor-period=2s",
    "--cluster-monitor-grace-period=10s",
    "--graceful-eviction-timeout=30s",
    "--enable-no-execute-taint-eviction=true",
    "--resource-eviction-rate=10",
    "--feature-gates=Failover=true,GracefulEviction=true,StatefulFailoverInjection=true",
)
"""With failover: a taint evicts (off by default, it then does nothing), and all times are short."""


def programs_of(site: Site, options: Options, members: tuple[str, ...]) -> list[Program]:
    """Everything of Karmada that runs beside the API server, in the order of starting."""
    found = [aggregated_apiserver(site), webhook(site), controller_manager(site, options)]
    if options.karmada_scheduler:
        found.append(scheduler(site))
    if options.descheduler:
        found += [scheduler_estimator(site, name) for name in members]
        found.append(descheduler(site))
    return found


def _own(site: Site, program: str) -> Path:
    return site.kubeconfig(CONTROL_PLANE, f"{USER}{program}")


def aggregated_apiserver(site: Site) -> Program:
    """Serves `cluster.karmada.io`, and the proxy to members."""
    own, shown = _own(site, "karmada-aggregated-apiserver"), site.authority.server()
    port = site.ledger.port("karmada-aggregated-apiserver")
    return site.program(
        "karmada-aggregated-apiserver",
        "karmada-aggregated-apiserver",
        f"--kubeconfig={own}",
        f"--authentication-kubeconfig={own}",
        f"--authorization-kubeconfig={own}",
        f"--etcd-servers=http://127.0.0.1:{site.ledger.port('etcd')}",
        "--etcd-prefix=/karmada-aggregated-apiserver",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={shown.cert}",
        f"--tls-private-key-file={shown.key}",
        health=f"https://127.0.0.1:{port}/readyz",
    )


def webhook(site: Site) -> Program:
    """Defaults and validates policies, bindings and Works."""
    shown = site.authority.server()
    port = site.ledger.port("karmada-webhook")
    return site.program(
        "karmada-webhook",
        "karmada-webhook",
        f"--kubeconfig={_own(site, 'karmada-webhook')}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={site.authority.folder}",
        f"--tls-cert-file-name={shown.cert.name}",
        f"--tls-private-key-file-name={shown.key.name}",
        "--metrics-bind-address=0",
        "--health-probe-bind-address=0",
        "--allow-no-execute-taint-policy=true",
        health=f"https://127.0.0.1:{port}/readyz/",
    )


def controller_manager(site: Site, options: Options) -> Program:
    """Policies to bindings to Works to members, and their status back."""
    probe = site.ledger.port("karmada-controller-manager/probe")
    return site.program(
        "karmada-controller-manager",
        "karmada-controller-manager",
        f"--kubeconfig={_own(site, 'karmada-controller-manager')}",
        "--leader-elect=false",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address=127.0.0.1:{probe}",
        "--controllers=*,deploymentReplicasSyncer",
        *(_SHORT if options.failover else ()),
        *options.controller_flags,
        health=f"http://127.0.0.1:{probe}/healthz",
    )


def scheduler(site: Site, *flags: str) -> Program:
    """karmada-scheduler, for what is `default-scheduler`'s."""
    probe = site.ledger.port("karmada-scheduler/probe")
    return site.program(
        "karmada-scheduler",
        "karmada-scheduler",
        f"--kubeconfig={_own(site, 'karmada-scheduler')}",
        "--leader-elect=false",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address=127.0.0.1:{probe}",
        *flags,
        health=f"http://127.0.0.1:{probe}/healthz",
    )


def scheduler_estimator(site: Site, member: str) -> Program:
    """Says to schedulers and the descheduler what one member can hold."""
    port = site.ledger.port(f"{member}/karmada-scheduler-estimator")
    probe = site.ledger.port(f"{member}/karmada-scheduler-estimator/probe")
    return site.program(
        f"{member}/karmada-scheduler-estimator",
        "karmada-scheduler-estimator",
        f"--kubeconfig={site.kubeconfig(member, f'{USER}karmada-scheduler-estimator')}",
        f"--cluster-name={member}",
        f"--server-port={port}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address=127.0.0.1:{probe}",
        health=f"http://127.0.0.1:{probe}/healthz",
    )


def descheduler(site: Site) -> Program:
    """Takes replicas that cannot start from a member; it looks every two seconds here."""
    probe = site.ledger.port("karmada-descheduler/probe")
    return site.program(
        "karmada-descheduler",
        "karmada-descheduler",
        f"--kubeconfig={_own(site, 'karmada-descheduler')}",
        "--leader-elect=false",
        "--descheduling-interval=2s",
        "--unschedulable-threshold=2s",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address=127.0.0.1:{probe}",
        health=f"http://127.0.0.1:{probe}/healthz",
    )
