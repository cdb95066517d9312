"""The dashboard's pages in Chromium on 5,000 nodes and 10,000 waiting jobs."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.harness import ROOT, Figure, at_most, shown
from bench.traces import TraceMissingError, rows
from tools.browser import browser, missing

GROUP = "dashboard"
JOBS, CLUSTERS, NODES = 10_000, 5, 1_000
PAGES = ("/waiting", "/federation", "/queues")
_CONTENT = """
const done = arguments[0];
const look = () => {
  const found = performance.getEntriesByName("first-contentful-paint")[0];
  if (found) done(found.startTime / 1000); else setTimeout(look, 20);
};
look();
"""
_KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def _measured(folder: Path) -> dict[str, float]:
    """Seconds to first content: `first` of a new viewer, and of each page of a warm one."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.flow.memory_server", *map(str, (JOBS, CLUSTERS, NODES))],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    assert server.stdout is not None
    kubeconfig = folder / "kubeconfig"
    kubeconfig.write_text(_KUBECONFIG.format(port=server.stdout.readline().strip()))
    dashboard = subprocess.Popen(
        [sys.executable, "-m", "global_sched.cli.main", "dashboard", "--port", "0"],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env=os.environ | {"KUBECONFIG": str(kubeconfig), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert dashboard.stdout is not None
    try:
        address = next(word for word in dashboard.stdout.readline().split() if "token=" in word)
        with browser() as driver:
            driver.set_page_load_timeout(120)
            driver.set_script_timeout(30)
            driver.get(address)
            found = {"first": float(driver.execute_async_script(_CONTENT))}
            for page in PAGES:
                driver.get(address.partition("/?")[0] + page)
                found[page] = float(driver.execute_async_script(_CONTENT))
        return found
    finally:
        for one in (dashboard, server):
            one.kill()
            one.communicate()


def figures() -> list[Figure]:
    """First content of the first page, and of each page of a viewer that is there."""
    title = f"first content for a warm viewer, {CLUSTERS * NODES:,} nodes and {JOBS:,} jobs"
    try:
        rows("philly/philly.csv.gz")
    except TraceMissingError as error:
        return [shown(GROUP, title, None, "s", str(error))]
    if without := missing():
        return [shown(GROUP, title, None, "s", without)]
    with tempfile.TemporaryDirectory() as folder:
        found = _measured(Path(folder))
    note = "lists, one cycle over all jobs, and the page"
    return [
        shown(GROUP, "first content of a new viewer's first page", found["first"], "s", note),
        *(at_most(GROUP, f"{title}: {page}", found[page], "s", 1.0) for page in PAGES),
    ]
