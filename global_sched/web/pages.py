"""The pages: each asks the viewer's last look, and fills one template."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

import click
from aiohttp import web
from jinja2 import Environment, PackageLoader, StrictUndefined

from global_sched.cache import State
from global_sched.core import explain_workload, run_cycle
from global_sched.scenario import ScenarioError
from global_sched.scenario.run import documents
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from global_sched.shared.kube.errors import ApiError, ConfigError, Unauthorized
from global_sched.shared.model.explanation import Explanation
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.printable import printable
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload
from global_sched.view import clusters, nodes
from global_sched.view.changes import changes
from global_sched.view.ends import ends_of
from global_sched.view.explain import evidence, screen_of
from global_sched.view.look import View, look
from global_sched.view.losses import loss_rows
from global_sched.view.own import own_job, own_rows, own_screen
from global_sched.view.text import Row, duration, percent
from global_sched.view.trial import displaced, planned, read_trial, try_live
from global_sched.web import bars, heatmap
from global_sched.web.entry import AUTHORIZATION, HEADERS, IDENTITY
from global_sched.web.timeline import moments
from global_sched.web.viewers import (
    ExpiredError,
    Look,
    TooManyError,
    Viewer,
    Viewers,
    refusal,
)
from global_sched.web.waiting import CHOICES, Filter, jobs_of

MOST_MANIFEST: Final = 256 * 1024
"""Bytes of manifests that What-if reads."""
OFFERED: Final = 50
"""Waiting gangs that the heat map offers to compare with."""
MOST_ASKED: Final = 20
"""Members on a page whose reports are read for their nodes in trouble; with more, choose one."""
POLL: Final = 2.0
"""Seconds between two readings of what is a tenant's own, while a page of it is open."""
ALIVE: Final = 20.0
"""Seconds after which a silent stream says that it is still there."""
SOURCE: Final = "the manifest"


@dataclass(frozen=True, slots=True)
class Seen:
    """The viewer of a request and what it sees: `look` None is a tenant's world."""

    viewer: Viewer
    look: Look | None
    namespace: str


class RefusedError(Exception):
    """A page cannot be shown: status, title and sentence of the page in its place."""

    def __init__(self, status: int, title: str, text: str, *, asks: bool = False) -> None:
        """asks: whether the page asks for a namespace."""
        super().__init__(text)
        self.status = status
        self.title = title
        self.asks = asks


class Pages:
    """All pages over one set of viewers."""

    def __init__(self, viewers: Viewers, *, namespace: str = "") -> None:
        """namespace: the one that the kubeconfig's context names, which a tenant sees first."""
        self._viewers = viewers
        self._namespace = namespace
        self._env = Environment(
            loader=PackageLoader("global_sched.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._env.filters |= {"duration": duration, "percent": percent, "printable": printable}

    def routes(self) -> list[web.RouteDef]:
        """Every address."""
        return [
            web.get("/", self._home),
            web.get("/waiting", self._page(self._waiting)),
            web.get("/jobs/{namespace}/{binding}", self._page(self._job)),
            web.get("/federation", self._page(self._federation)),
            web.get("/queues", self._page(self._queues)),
            web.get("/whatif", self._page(self._whatif)),
            web.post("/whatif", self._page(self._whatif)),
            web.get("/events", self._events),
        ]

    # --- what every page does -----------------------------------------------------------------

    async def _home(self, _request: web.Request) -> web.StreamResponse:
        return web.Response(status=303, headers={"Location": "/waiting"})

    def _page(
        self, make: Callable[[web.Request, Seen], Awaitable[tuple[str, dict[str, Any]]]]
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def handler(request: web.Request) -> web.StreamResponse:
            seen: Seen | None = None
            try:
                seen = await self._see(request)
                template, values = await make(request, seen)
            except RefusedError as refused:
                values = {"title": refused.title, "text": str(refused), "asks": refused.asks}
                return self._render("message.html", request, seen, values, refused.status)
            except click.ClickException as error:
                values = {"title": "Not found", "text": error.message, "asks": False}
                return self._render("message.html", request, seen, values, 404)
            except (ConfigError, ApiError, ExpiredError) as error:
                return await self._away(request, refusal(error))
            return self._render(template, request, seen, values, 200)

        return handler

    async def _away(self, request: web.Request, error: Exception) -> web.Response:
        """What is shown where the control plane does not answer this viewer."""
        text = " ".join(str(error).split())
        if isinstance(error, ExpiredError):
            await self._viewers.refused(request[IDENTITY])
            text = f"The control plane does not accept your credentials: {text}. Sign in again."
            values = {"title": "Your sign-in has expired", "text": text}
            return self._render("message.html", request, None, values, 401)
        values = {"title": "The control plane does not answer", "text": text}
        return self._render("message.html", request, None, values, 502)

    async def _viewer(self, request: web.Request) -> Viewer:
        """Raises RefusedError where all places are taken."""
        try:
            return await self._viewers.of(request[IDENTITY], request[AUTHORIZATION])
        except TooManyError:
            text = "All 50 places are taken. One is free again five minutes after its last use."
            raise RefusedError(503, "Too many viewers", text) from None

    async def _see(self, request: web.Request) -> Seen:
        """Raises RefusedError; ExpiredError; ConfigError, ApiError: the control plane is away."""
        viewer = await self._viewer(request)
        found = await viewer.look()
        return Seen(viewer, found, request.query.get("namespace", self._namespace))

    def _render(
        self,
        template: str,
        request: web.Request,
        seen: Seen | None,
        values: Mapping[str, Any],
        status: int,
    ) -> web.Response:
        found = seen.look if seen is not None else None
        stale = seen.viewer.stale() if seen is not None else 0.0
        of_path = "" if found is not None else request.match_info.get("namespace", "")
        common = {
            "path": request.path,
            "number": found.number if found is not None else 0,
            "as_of": format_instant(found.view.now) if found is not None else "",
            "problem": found.problem if found is not None else "",
            "stale": duration(stale) if stale else "",
            "namespace": request.query.get("namespace") or of_path,
            "asks": False,
        }
        text = self._env.get_template(template).render(common | dict(values))
        return web.Response(status=status, text=text, content_type="text/html")

    # --- waiting ------------------------------------------------------------------------------

    async def _waiting(self, request: web.Request, seen: Seen) -> tuple[str, dict[str, Any]]:
        asked = Filter.of(request.query)
        if seen.look is not None:
            rows, view, denied = seen.look.rows, seen.look.view, ""
        else:
            rows, view, denied = await self._own(seen), None, _denied(seen)
        jobs = jobs_of(rows, asked, view)
        base = {"state": asked.state, "queue": asked.queue, "tenant": asked.tenant}
        base |= {"text": asked.text, "namespace": request.query.get("namespace", "")}
        pages = {
            at: _address("/waiting", base | {"page": str(at)}) for at in _near(asked, jobs.pages)
        }
        return "waiting.html", {
            "asked": asked,
            "jobs": jobs,
            "choices": CHOICES,
            "pages": pages,
            "denied": denied,
            "own_namespace": seen.namespace,
        }

    async def _own(self, seen: Seen) -> list[Row]:
        """A tenant's rows. Raises RefusedError where no namespace is named."""
        if not seen.namespace:
            text = f"{_denied(seen)}; the jobs of a namespace of yours you may."
            raise RefusedError(403, "Name your namespace", text, asks=True)
        viewer = seen.viewer
        return await own_rows(viewer.client, namespace=seen.namespace, now=viewer.clock.now())

    # --- job ----------------------------------------------------------------------------------

    async def _job(self, request: web.Request, seen: Seen) -> tuple[str, dict[str, Any]]:
        namespace, binding = request.match_info["namespace"], request.match_info["binding"]
        namespace = "" if namespace == "-" else namespace
        if seen.look is None:
            own = await own_job(seen.viewer.client, job=binding, namespace=namespace)
            values = {"screen": own_screen(own), "moments": [], "pods": [], "clusters": []}
            return "job.html", values | {"domains": [], "evidence": [], "losses": [], "key": ""}
        key = WorkloadKey(f"{namespace}/{binding}")
        view = seen.look.view
        workload = view.state.workload(key)
        if workload is None:
            text = (
                f"No job {key.lstrip('/')} is scheduled by global-sched. It may have been deleted."
            )
            raise RefusedError(404, "No such job", text)
        found = await _explained(view, workload)
        end = await _end(seen.viewer, workload)
        return "job.html", {
            "screen": screen_of(workload, found, view),
            "moments": moments(workload, view.state.conditions(key), end),
            "pods": _pods(view, workload),
            "clusters": found.outcome.clusters if found is not None else (),
            "domains": found.domains if found is not None else (),
            "evidence": list(evidence(found)) if found is not None else [],
            "losses": loss_rows(workload),
            "key": key.lstrip("/"),
        }

    # --- federation ---------------------------------------------------------------------------

    async def _federation(self, request: web.Request, seen: Seen) -> tuple[str, dict[str, Any]]:
        view = _whole(seen).view
        mode = request.query.get("colour", "queue")
        mode = mode if mode in heatmap.MODES else "queue"
        jobs = {one.binding_id: one for one in view.state.workloads() if one.admitted()}
        legend = heatmap.legend_of(view.snapshot.clusters, jobs, heatmap.owner_of(mode))
        asked = request.query.get("job", "")
        workload = view.state.workload(WorkloadKey(asked)) if asked else None
        found = None if workload is None else await _explained(view, workload)
        only = request.query.get("cluster", "")
        shown = [one for one in view.snapshot.clusters if only in ("", one.name)]
        single = heatmap.few(shown)
        names = [one.name for one in shown] if len(shown) <= MOST_ASKED else []
        troubled = await asyncio.gather(*(_troubled(seen.viewer, name) for name in names))
        return "federation.html", {
            "mode": mode,
            "modes": heatmap.MODES,
            "legend": legend.styles,
            "members": [
                (row, heatmap.blocks_of(one, jobs, mode, legend, found, single=single))
                for row, one in zip(clusters.rows_of(view), view.snapshot.clusters, strict=True)
                if one in shown
            ],
            "names": [str(one.name) for one in view.snapshot.clusters],
            "only": only,
            "troubled": [row for rows in troubled for row in rows],
            "asked_nodes": len(shown) <= MOST_ASKED,
            "waiting": _gangs(view),
            "asked": asked if workload is not None else "",
            "gang": None if workload is None else workload.demand.gang,
            "waits": workload is not None and not workload.targets,
            "cell": heatmap.CELL,
        }

    # --- queues -------------------------------------------------------------------------------

    async def _queues(self, request: web.Request, seen: Seen) -> tuple[str, dict[str, Any]]:
        found = _whole(seen).queues
        names = bars.resources_of(found.views)
        resource = request.query.get("resource", "")
        resource = resource if resource in names else (names[0] if names else "cpu")
        return "queues.html", {
            "rows": list(zip(found.rows, bars.bars_of(found.views, resource), strict=True)),
            "missing": found.missing,
            "tenants": found.tenants,
            "resource": resource,
            "resources": names,
            "width": bars.WIDTH,
        }

    # --- what-if ------------------------------------------------------------------------------

    async def _whatif(self, request: web.Request, seen: Seen) -> tuple[str, dict[str, Any]]:
        _whole(seen)
        values: dict[str, Any] = {"manifest": "", "error": "", "result": None}
        if request.method == "POST":
            form = await request.post()
            text = str(form.get("manifest", ""))
            values["manifest"] = text
            try:
                values["result"] = await self._tried(seen.viewer, text)
            except ScenarioError as error:
                values["error"] = str(error)
        return "whatif.html", values

    async def _tried(self, viewer: Viewer, text: str) -> dict[str, Any]:
        """The trial on a state of its own: the viewer's goes on as it is.

        Raises:  ScenarioError naming what cannot be read.
        """
        if len(text.encode()) > MOST_MANIFEST:
            raise ScenarioError(f"{SOURCE} is longer than {MOST_MANIFEST // 1024} KiB")
        trial = read_trial(documents(text, SOURCE))
        view = await look(viewer.client, viewer.clock, leader_namespace=viewer.leader_namespace)
        keys = await try_live(viewer.client, view, trial)
        if not keys and not trial.shares:
            raise ScenarioError(
                f"{SOURCE} has no Queue, Tenant, PriorityClass or Policy, and no job that a"
                " PropagationPolicy with schedulerName global-sched selects"
            )
        policy = view.policy if trial.policy is None else trial.policy
        snapshot = view.state.snapshot()
        plan = await asyncio.to_thread(run_cycle, snapshot, policy, view.now)
        screens = []
        for _, key in sorted(keys.items()):
            found = await asyncio.to_thread(explain_workload, snapshot, policy, view.now, key)
            workload = view.state.workload(key)
            waits = found is not None and found.outcome.verdict.code != Code.FIT
            if workload is not None and waits:
                screens.append(screen_of(workload, found, view))
        own = frozenset(keys.values())
        return {
            "jobs": [planned(view, key, plan) for _, key in sorted(keys.items())],
            "screens": screens,
            "changes": changes(view.plan, plan, view.state.workloads(), own),
            "displaced": displaced(view.plan, plan, own),
        }

    # --- events -------------------------------------------------------------------------------

    async def _events(self, request: web.Request) -> web.StreamResponse:
        """A stream that says that there is a new look, and nothing of what is in it."""
        try:
            viewer = await self._viewer(request)
        except RefusedError as refused:
            return web.Response(status=refused.status, text=f"{refused}\n")
        stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"} | HEADERS)
        await stream.prepare(request)
        given = request.query.get("from", "")
        number = int(given) if given.isdecimal() and len(given) < 10 else 0
        namespace = request.query.get("namespace", self._namespace)
        before = ""
        while viewer.failed is None:
            viewer.used = viewer.clock.monotonic()
            if viewer.denied is not None:
                await viewer.clock.sleep(POLL)
                try:
                    now = await _own_digest(viewer, namespace)
                except Unauthorized:
                    break
                if before not in ("", now):
                    await stream.write(b"event: look\ndata: own\n\n")
                before = now
                continue
            try:
                async with asyncio.timeout(ALIVE):
                    await viewer.changed(number)
            except TimeoutError:
                await stream.write(b": still here\n\n")
                continue
            if viewer.number != number:
                number = viewer.number
                await stream.write(f"event: look\ndata: {number}\n\n".encode())
        await stream.write(b"event: over\ndata: over\n\n")
        return stream


async def _own_digest(viewer: Viewer, namespace: str) -> str:
    """The tenant's rows without their waits, to see a change; empty where they cannot be read.

    Raises:  Unauthorized: the credentials ran out.
    """
    if not namespace:
        return ""
    try:
        rows = await own_rows(viewer.client, namespace=namespace, now=viewer.clock.now())
    except Unauthorized:
        raise
    except (ApiError, click.ClickException):
        return ""
    return json.dumps([row | {"wait_seconds": 0} for row in rows], sort_keys=True)


def _denied(seen: Seen) -> str:
    why = seen.viewer.denied
    return f"You may not read the whole federation ({why.message})" if why is not None else ""


def _whole(seen: Seen) -> Look:
    """The look of a viewer who may read the federation. Raises RefusedError for others."""
    if seen.look is None:
        text = f"{_denied(seen)}. Your own jobs are under Waiting."
        raise RefusedError(403, "Only for the platform", text)
    return seen.look


async def _explained(view: View, workload: Workload) -> Explanation | None:
    """In a thread, on the frozen snapshot; None for a job that is over."""
    if workload.finished:
        return None
    explain = partial(explain_workload, view.snapshot, view.policy, view.now, workload.key)
    return await asyncio.to_thread(explain)


async def _end(viewer: Viewer, workload: Workload) -> Any:
    """When a finished job ended, as its binding's status says; None where that is not known."""
    if not workload.finished:
        return None
    namespace, _, name = workload.key.rpartition("/")
    resource = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
    try:
        binding = await viewer.client.get(
            resource, name, namespace=namespace or None, type=ResourceBinding
        )
    except ApiError:
        return None
    return ends_of([binding]).get(workload.key)


def _pods(view: View, workload: Workload) -> list[Row]:
    """Where its pods sit, by cluster, domain and pod set, as the members report it."""
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for cluster in view.snapshot.clusters:
        for leaf in cluster.capacity.topology.leaves if cluster.capacity else ():
            for one in leaf.occupants:
                if one.binding == workload.binding_id:
                    at = (str(cluster.name), str(leaf.domain or "-"), str(one.pod_set))
                    pods, hosts = found.get(at, (0, 0))
                    found[at] = pods + one.pods * leaf.count, hosts + leaf.count
    return [
        {"cluster": at[0], "domain": at[1], "pod_set": at[2], "pods": pods, "nodes": hosts}
        for at, (pods, hosts) in sorted(found.items())
    ]


async def _troubled(viewer: Viewer, cluster: str) -> list[Row]:
    """Its nodes in trouble and on probation; none where no agent reports."""
    try:
        spec = await nodes.first_slice(viewer.client, cluster)
    except (click.ClickException, ApiError):
        return []
    return [row | {"cluster": cluster} for row in nodes.rows_of(spec)]


def _gangs(view: View) -> list[Workload]:
    """Gangs that wait, in the order of the plan."""
    state: State = view.state
    found = (
        state.workload(one.workload) for one in view.plan.outcomes if one.verdict.code != Code.FIT
    )
    waits = (one for one in found if one is not None and not one.targets and one.demand.gang)
    return [one for _, one in zip(range(OFFERED), waits, strict=False)]


def _near(asked: Filter, pages: int) -> list[int]:
    """The pages that links lead to: the first, those around this one, the last."""
    near = {1, pages, *range(asked.page - 2, asked.page + 3)}
    return sorted(at for at in near if 1 <= at <= pages)


def _address(path: str, query: Mapping[str, str]) -> str:
    return f"{path}?{urlencode({k: v for k, v in query.items() if v})}"
