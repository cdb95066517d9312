"""From a state folder to Ready members, in the order in which things need each other.

Every step may be repeated: what is there already stays, what has ended is started again.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from global_sched.shared.api.resource import CLUSTERS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import ApiError
from tools.local_karmada import (
    access,
    identities,
    joining,
    karmada,
    karmada_objects,
    kwok,
    objects,
    servers,
    volcano,
)
from tools.local_karmada.build import module_folder
from tools.local_karmada.health import CEILING, until_healthy
from tools.local_karmada.ledger import Program
from tools.local_karmada.nodes import MemberPlan, plans
from tools.local_karmada.options import Options
from tools.local_karmada.servers import CONTROL_PLANE, Site
from tools.local_karmada.tools import KWOK
from tools.local_karmada.tools import karmada as karmada_upstream

Say = Callable[[str], None]
_OPERATORS: Final = "global_sched.embedded.members"


async def bring_up(site: Site, options: Options, *, clock: Clock, say: Say) -> None:
    """Start everything that does not run, and wait until every member is Ready.

    Raises:  LocalError with what does not work and where its log is.
    """
    start = clock.monotonic()
    found = volcano.find()
    members = plans(options)
    names = [one.name for one in members]
    (site.state / "audit").mkdir(parents=True, exist_ok=True)
    identities.write_users(site, names)
    await _run(site, clock, servers.etcd(site))
    await _run(site, clock, *(servers.kube_apiserver(site, one) for one in (CONTROL_PLANE, *names)))
    say(f"{len(names) + 1} API servers are up after {clock.monotonic() - start:.0f} s")
    module = module_folder(karmada_upstream(options.karmada))
    kwok.write_config(site, module_folder(KWOK))
    # One after the other would take twice as long: each waits for its own server.
    async with asyncio.TaskGroup() as group:
        group.create_task(_control_plane(site, options, module, names, clock))
        for plan in members:
            group.create_task(_member(site, plan, found, clock))
    say(f"Karmada {options.karmada} is up after {clock.monotonic() - start:.0f} s")
    for plan in members:
        await joining.register(site, plan, clock)
    await access.grant_control_plane(site, names)
    await access.write_kubeconfigs(site, names, clock)
    await joining.until_ready(site, names, clock)
    said = ", ".join(names)
    say(f"members {said} are Ready after {clock.monotonic() - start:.0f} s")


async def _run(site: Site, clock: Clock, *programs: Program) -> None:
    for program in programs:
        site.ledger.start(program)
    await until_healthy(site.ledger, *(one.name for one in programs), clock=clock)


async def _control_plane(
    site: Site, options: Options, module: Path, members: list[str], clock: Clock
) -> None:
    await karmada_objects.install(site, module)
    aggregated, webhook, *others = karmada.programs_of(site, options, tuple(members))
    site.ledger.start(servers.kube_controller_manager(site, CONTROL_PLANE))
    await _run(site, clock, aggregated, webhook)
    await objects.apply(site, CONTROL_PLANE, karmada_objects.webhooks(site, module))
    if options.descheduler:
        await objects.apply(site, CONTROL_PLANE, karmada_objects.estimators(site, members))
    # Its controllers give up when they are started before the kind Cluster is served.
    await _until_clusters_served(site, clock)
    await _run(site, clock, *(one for one in others if not one.name.endswith("-estimator")))
    beside = volcano.global_program(site, volcano.find())
    if beside is not None:
        await _run(site, clock, beside)
    await until_healthy(site.ledger, f"{CONTROL_PLANE}/kube-controller-manager", clock=clock)
    estimators = [one for one in others if one.name.endswith("-estimator")]
    await _run(site, clock, *estimators)


async def _until_clusters_served(site: Site, clock: Clock) -> None:
    control = await identities.client(site, CONTROL_PLANE, clock)
    end = clock.monotonic() + CEILING
    try:
        while clock.monotonic() < end:
            with suppress(ApiError):
                await control.list(CLUSTERS)
                return
            await clock.sleep(0.1)
        await control.list(CLUSTERS)
    finally:
        await control.close()


async def _member(site: Site, plan: MemberPlan, found: volcano.Volcano, clock: Clock) -> None:
    name = plan.name
    await joining.prepare(site, plan, clock)
    if found.definitions is not None:
        await volcano.define(site, name, found)
    await access.grant_member(site, name, jobs=not found.runs_jobs)
    await _run(
        site,
        clock,
        servers.kube_controller_manager(site, name),
        servers.kube_scheduler(site, name),
        kwok.kwok(site, name),
        _operators(site, name),
        *volcano.programs_of(site, name, found),
    )


def _operators(site: Site, member: str) -> Program:
    """The controllers of kinds whose operators cannot be had as packages here."""
    own = site.kubeconfig(member, identities.OPERATORS)
    argv = (sys.executable, "-m", _OPERATORS, "--kubeconfig", str(own))
    name = f"{member}/operators"
    return Program(name=name, argv=argv, log=site.ledger.log(name))
