"""A dashboard on a control plane of this process: two tenants, three jobs, and requests to it."""

from contextlib import asynccontextmanager
from html.parser import HTMLParser

from aiohttp.test_utils import TestClient, TestServer

from global_sched.cli.apply import apply_manifest
from global_sched.embedded.federation import Federation, running
from global_sched.embedded.in_process import InProcessTransport
from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Access, Connection, FixedSource
from global_sched.web.entry import Entry
from global_sched.web.pages import Pages
from global_sched.web.server import application
from global_sched.web.viewers import Viewers
from tests.wire import stripped, vcjob

PAGES = ("/waiting", "/waiting?state=all", "/federation", "/queues", "/whatif")
QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "default"},
    "spec": {"weight": 1},
}


def tenant_objects(namespace, *names):
    """A namespace, its policy, and jobs in it."""
    selector = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    spec = {"schedulerName": "global-sched", "resourceSelectors": [selector], "placement": {}}
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    yield {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "jobs", "namespace": namespace},
        "spec": spec,
    }
    for name in names:
        yield stripped(vcjob(name, namespace=namespace))


class Site:
    """The dashboard, and what a test asks of it."""

    def __init__(self, federation, clock, entry, viewers, client):
        self.federation = federation
        self.clock = clock
        self.entry = entry
        self.viewers = viewers
        self.client = client
        self.admin = federation.client()

    def bearer(self, who):
        """The header that a proxy would set for a user of the control plane."""
        return {"Authorization": f"Bearer {self.federation._tokens.of(who)}"}

    async def get(self, path, who="admin", **headers):
        """Status and text of a page, as the proxy asks for it."""
        given = self.bearer(who) | headers
        async with self.client.get(path, headers=given, allow_redirects=False) as answer:
            return answer.status, await answer.text()

    async def apply(self, *objects):
        """As `kubectl apply` does it."""
        for one in objects:
            await apply_manifest(self.admin, one)


@asynccontextmanager
async def site(*, behind_proxy=True, jobs=True, clock=None, viewers_type=Viewers):
    """The dashboard of a federation with tenants team-a and team-b; in virtual time by default."""
    clock = clock or LoopClock()
    federation = Federation([], clock=clock, tenants=["team-a", "team-b"], ports=None)
    async with running(federation):
        servers = {federation.control.url: federation.control}

        async def opener(authorization):
            given = authorization or f"Bearer {federation._tokens.of('admin')}"
            access = Access(server=federation.control.url, authorization=given)
            connection = Connection(FixedSource(access), clock=clock)
            return Client(InProcessTransport(connection, servers), clock=clock)

        viewers = viewers_type(opener, clock)
        entry = Entry(hosts=set(), behind_proxy=behind_proxy)
        server = TestServer(application(entry, Pages(viewers)))
        async with viewers.running(), TestClient(server) as client:
            entry.hosts = {f"{server.host}:{server.port}"}
            found = Site(federation, clock, entry, viewers, client)
            if jobs:
                await found.apply(
                    QUEUE,
                    *tenant_objects("team-a", "train", "only-team-a"),
                    *tenant_objects("team-b", "only-team-b"),
                )
                while len((await found.admin.list(RESOURCE_BINDINGS)).items) < 3:
                    await clock.sleep(0.1)
            yield found


class Parts(HTMLParser):
    """Tags with their attributes, and the text, of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data
