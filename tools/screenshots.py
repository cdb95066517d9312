"""The pictures of the dashboard in the README, from the demo's world: `make screenshots`.

Starts `gsched demo --keep` and `gsched dashboard`, looks at three pages in Chromium, ends both.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from PIL import Image

from tools.browser import browser, missing, save, view_as
from tools.generate import ROOT

FOLDER = ROOT / "docs/images"
PAGES = {
    "dashboard-waiting": "/waiting",
    "dashboard-federation": "/federation?job=vision/too-wide-job",
    "dashboard-job": "/jobs/vision/too-wide-job",
}
HEIGHT = 680
COLOURS = 96
GSCHED = (sys.executable, "-m", "global_sched.cli.main")


@contextmanager
def started(*command: str, until: str, **variables: str) -> Iterator[str]:
    """A program of ours that goes on inside of the block; the line that has `until`."""
    process = subprocess.Popen(
        [*GSCHED, *command], stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env=os.environ | {"PYTHONUNBUFFERED": "1"} | variables,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        line = next((line for line in process.stdout if until in line), "")
        if not line:
            raise click.ClickException(f"gsched {command[0]} ended before it said {until!r}")
        yield line
    finally:
        process.terminate()
        process.communicate()


def few_colours(path: Path) -> None:
    """The same picture in a palette: a third of the size, and no difference to the eye."""
    with Image.open(path) as found:
        small = found.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(path, optimize=True)


def main() -> None:
    """Write the pictures."""
    if without := missing():
        raise click.ClickException(without)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as state:
        demo = started("demo", "--keep", "--state", state, until="stays up until")
        kubeconfig = {"KUBECONFIG": str(Path(state) / "kubeconfig")}
        with demo, started("dashboard", "--port", "0", until="token=", **kubeconfig) as line:
            address = next(word for word in line.split() if word.startswith("http"))
            with browser() as driver:
                driver.get(address)
                for name, path in PAGES.items():
                    view_as(driver, height=HEIGHT)
                    driver.get(address.partition("/?")[0] + path)
                    save(driver, FOLDER / f"{name}.png")
                    few_colours(FOLDER / f"{name}.png")
                    click.echo(f"{FOLDER.relative_to(ROOT)}/{name}.png")


if __name__ == "__main__":
    try:
        main()
    except click.ClickException as error:
        error.show()
        sys.exit(1)
