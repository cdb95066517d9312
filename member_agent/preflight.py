"""Are the two API servers ones that the agent can work with? Asked once, at the start."""

from functools import partial
from typing import Final

from global_sched.shared.api.resource import CAPACITY_REPORTS, DIRECTIVES, LEASES, NODES, PODS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, ConfigError
from global_sched.shared.kube.preflight import StartupWait, require
from member_agent.jobs.volcano import volcano_controller_lease
from member_agent.settings import Settings

MEMBER: Final = "member's API server"


async def check_servers(member: Client, control: Client, settings: Settings, clock: Clock) -> None:
    """Return when both serve what the agent needs, and nothing else runs what it is to run.

    A server that is not ready is waited for as long as `start_patience_seconds` says.

    Raises:  ConfigError with one line and the way out.
    """
    patience = StartupWait(clock=clock, seconds=settings.start_patience_seconds)
    await require(
        member,
        (NODES, PODS, LEASES),
        server=MEMBER,
        remedy="check that the kubeconfig names a Kubernetes cluster",
        patience=patience,
    )
    await require(
        control,
        (CAPACITY_REPORTS, DIRECTIVES),
        server="control plane",
        remedy="apply the manifests in crds/ to it",
        patience=patience,
    )
    if settings.run_volcano_jobs:
        await _nobody_runs_jobs(member, clock, patience)


async def _nobody_runs_jobs(member: Client, clock: Clock, patience: StartupWait) -> None:
    """Two controllers of one Volcano Job would fight."""
    try:
        running = await patience.ask(
            partial(volcano_controller_lease, member, clock=clock), client=member, server=MEMBER
        )
    except ApiError as error:
        raise ConfigError(
            f"whether Volcano's controllers run here is unknown: {error}; allow the agent to get "
            "Leases there (the RBAC of deploy/), or start without --run-volcano-jobs"
        ) from error
    if running is not None:
        raise ConfigError(running)
