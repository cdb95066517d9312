"""The pages in a headless Chromium: their looks on the demo's world, and what changes while open.

One browser and one dashboard for all of them; the dashboard runs in a thread of its own, in real
time, on an API server of this process.
"""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest

from global_sched.core import queue_views, run_cycle
from global_sched.scenario import parse
from global_sched.scenario.run import start
from global_sched.shared.api.resource import LEASES, RESOURCE_BINDINGS
from global_sched.shared.assets import asset
from global_sched.shared.clock import SystemClock
from global_sched.view.look import View
from global_sched.web.viewers import Look, Viewer, Viewers
from tests.global_sched.web.site import site, tenant_objects
from tests.wire import binding, stripped, vcjob
from tools.browser import DESK, PHONE, browser, view_as

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = "<img src=x onerror=document.title='taken'>"
PAGES = (
    "/waiting",
    "/waiting?state=all",
    "/federation",
    "/federation?job=vision/too-wide-job&colour=tenant",
    "/queues",
    "/whatif",
    "/jobs/vision/too-wide-job",
    "/jobs/language/pretrain-job",
)
CONTRAST = """
const rgb = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
const light = (c) => c.slice(0, 3).map((v) => v / 255)
  .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
const ground = (one) => {
  for (; one; one = one.parentElement) {
    const found = rgb(getComputedStyle(one).backgroundColor);
    if (found.length === 3 || found[3] === 1) return found;
  }
  return [255, 255, 255];
};
const bad = [];
for (const one of document.querySelectorAll("body *:not(svg *)")) {
  const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !one.getClientRects().length || one.matches(".skip, option")) continue;
  const [a, b] = [light(rgb(getComputedStyle(one).color)), light(ground(one))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) bad.push(`${one.tagName} ${one.className} ${ratio.toFixed(2)}`);
}
return [...new Set(bad)];
"""


class DemoViewers(Viewers):
    """Viewers of which one, `demo`, sees the demo's world at rest; all others are real."""

    demo: Viewer

    async def of(self, identity, authorization):
        """The demo's viewer for its token."""
        if authorization == "Bearer demo":
            return self.demo
        return await super().of(identity, authorization)


def demo_look():
    """The demo's world when nothing starts any more, as a look at it."""
    folder = asset("examples")
    scenario = parse((folder / "demo.yaml").read_text(encoding="utf-8"), "demo.yaml")
    play = start(scenario.world, lambda name: (folder / name).read_text(encoding="utf-8"))
    play.settle()
    play.report()
    snapshot = play.snapshot()
    view = View(
        state=play.state,
        snapshot=snapshot,
        policy=play.policy,
        policy_note="policy 0123456789ab",
        now=play.now,
        plan=run_cycle(snapshot, play.policy, play.now),
    )
    return Look.at(view, queue_views(snapshot))


@asynccontextmanager
async def demo_site():
    """The dashboard in real time, with the demo's viewer beside real ones."""
    async with site(clock=SystemClock(), viewers_type=DemoViewers) as world:
        still = Viewer(world.federation.client(), world.clock, leader_namespace="karmada-system")
        still._look, still.number, still._answered = demo_look(), 1, world.clock.monotonic() + 1e6
        world.viewers.demo = still
        yield world


class Open:
    """A dashboard that runs, a browser, and steps in the dashboard's own loop."""

    def __init__(self, loop, world, driver):
        self.loop = loop
        self.world = world
        self.driver = driver
        self.base = str(world.client.make_url("/")).rstrip("/")

    def do(self, step):
        """Run a coroutine of the world to its end."""
        return asyncio.run_coroutine_threadsafe(step, self.loop).result(60)

    def sign_in(self, token):
        """What the proxy would add to each request."""
        headers = {"Authorization": f"Bearer {token}"}
        self.driver.execute_cdp_cmd("Network.enable", {})
        self.driver.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": headers})

    def token(self, who):
        """The token of a user of the control plane."""
        return self.world.federation._tokens.of(who)

    def get(self, path):
        """Open a page; its text."""
        self.driver.get(self.base + path)
        return self.text()

    def text(self):
        """What stands on the page now."""
        return self.driver.execute_script("return document.body.innerText")

    def until(self, said):
        """Wait until the page says this by itself; the seconds that took."""
        script = """
        const [said, done] = arguments, from = performance.now();
        const look = () => document.body.innerText.includes(said)
          ? done((performance.now() - from) / 1000) : setTimeout(look, 20);
        look();
        """
        return self.driver.execute_async_script(script, said)


@pytest.fixture(scope="module")
def opened():
    """One of each for all tests of the file."""
    ready, over, found = threading.Event(), {}, {}

    def run():
        async def serve():
            over["event"] = asyncio.Event()
            async with demo_site() as world:
                found.update(loop=asyncio.get_running_loop(), world=world)
                ready.set()
                await over["event"].wait()

        try:
            asyncio.run(serve())
        finally:
            ready.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(60)
    try:
        with browser() as driver:
            driver.set_script_timeout(30)
            yield Open(found["loop"], found["world"], driver)
    finally:
        found["loop"].call_soon_threadsafe(over["event"].set)
        thread.join(30)


def test_every_page_of_the_demo_fits_and_can_be_read(opened):
    """At 360 and 1280 pixels, light and dark: nothing sticks out, and text has AA contrast."""
    opened.sign_in("demo")
    opened.driver.get_log("browser")  # what other tests left
    wrong = []
    for path in PAGES:
        opened.get(path)
        for width in (DESK, PHONE):
            for dark in (False, True):
                view_as(opened.driver, width=width, dark=dark)
                out = opened.driver.execute_script("return document.body.scrollWidth") - width
                faint = opened.driver.execute_script(CONTRAST)
                if out > 0 or faint:
                    wrong.append((path, width, dark, out, faint))
    logged = [one["message"] for one in opened.driver.get_log("browser")]

    assert wrong == []
    assert logged == []


def test_by_keyboard(opened):
    """The first Tab offers to skip the navigation, and every control shows the focus."""
    from selenium.webdriver.common.keys import Keys  # noqa: PLC0415 - not where none is

    opened.sign_in("demo")
    opened.get("/waiting")
    seen = []
    for _ in range(12):
        opened.driver.switch_to.active_element.send_keys(Keys.TAB)
        script = (
            "const one = document.activeElement;"
            "return [one.innerText || one.name, getComputedStyle(one).outlineStyle]"
        )
        seen.append(tuple(opened.driver.execute_script(script)))
    names = [name.strip() for name, _ in seen]

    assert names[:6] == [
        "To the content",
        "global-sched",
        "Waiting",
        "Federation",
        "Queues",
        "What-if",
    ]
    assert names[-1] == "vision/too-wide"
    assert {style for _, style in seen} == {"solid"}


def test_filters_a_live_change_and_a_hostile_name(opened):
    """A choice is followed at once, a change comes by itself, and markup stays text."""
    opened.sign_in(opened.token("admin"))
    assert "team-b/only-team-b" in opened.get("/waiting")
    opened.driver.execute_script(
        "const one = document.querySelector('select[name=tenant]');"
        "one.value = 'ns/team-a'; one.dispatchEvent(new Event('change'))"
    )
    opened.until("2 jobs")
    filtered = opened.text()

    opened.do(opened.world.apply(*tenant_objects("team-a", "newcomer")))
    took = opened.until("team-a/newcomer")
    trap = binding(vcjob("trap", namespace="team-a"))
    trap["spec"]["resource"]["name"] = HOSTILE
    where = {"namespace": "team-a"}
    opened.do(opened.world.admin.create(RESOURCE_BINDINGS, stripped(trap), **where))
    while "No such job" in opened.get("/jobs/team-a/trap-job"):
        pass

    assert "only-team-b" not in filtered
    assert took < 10
    assert HOSTILE in opened.text()
    assert opened.driver.title != "taken"


def test_a_tenant_and_a_leader_that_is_away(opened):
    """A tenant's page has its own jobs; the platform's says that no leader decides."""
    opened.sign_in(opened.token("tenant/team-b"))
    own = opened.get("/waiting?namespace=team-b")
    refused = opened.get("/federation?namespace=team-b")
    spec = {"holderIdentity": "", "renewTime": "2026-01-01T00:00:00.000000Z"}
    body = {"metadata": {"name": "global-sched", "namespace": "karmada-system"}, "spec": spec}
    opened.sign_in(opened.token("admin"))
    opened.get("/queues")
    opened.do(opened.world.admin.create(LEASES, body, namespace="karmada-system"))
    opened.until("Leader away.")

    assert "only-team-b" in own
    assert "only-team-a" not in own
    assert "Only for the platform" in refused
    assert "since 2026-01-01 00:00:00 UTC" in opened.text()


def test_credentials_that_run_out_while_a_page_is_open(opened):
    """The page says so by itself, and its jobs are gone from it."""
    token = opened.token("tenant/team-a")
    opened.sign_in(token)
    before = opened.get("/waiting?namespace=team-a")
    del opened.world.federation.control._authenticator._static[token]
    opened.until("sign-in has expired")
    after = opened.text()

    assert "only-team-a" in before
    assert "only-team-a" not in after
