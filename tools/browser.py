"""A headless Chromium of the system, for tests of pages and for screenshots; nothing is downloaded.

Debian's packages `chromium` and `chromium-driver` have the two programs.
"""

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

PROGRAMS: Final = ("chromium", "chromedriver")
PHONE: Final = 360
DESK: Final = 1280


def missing() -> str:
    """Why there is no browser here, with the remedy; empty where there is one."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if not absent:
        return ""
    return f"{' and '.join(absent)} not found: apt-get install chromium chromium-driver"


@contextmanager
def browser() -> Iterator[Any]:
    """A driver, ended with the block."""
    from selenium import webdriver  # noqa: PLC0415 - half a second, and only where it is used
    from selenium.webdriver.chrome.service import Service  # noqa: PLC0415

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which(PROGRAMS[0]))
    for one in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage"):
        options.add_argument(f"--{one}")
    driver = webdriver.Chrome(options=options, service=Service(shutil.which(PROGRAMS[1])))
    try:
        yield driver
    finally:
        driver.quit()


def view_as(driver: Any, *, width: int = DESK, height: int = 800, dark: bool = False) -> None:
    """The size of the window and the reader's colour scheme."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < DESK}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def save(driver: Any, path: Path, *, whole: bool = False) -> None:
    """A PNG of the window, or of the `whole` page."""
    asked = {"format": "png", "captureBeyondViewport": whole}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", asked)
    path.write_bytes(base64.b64decode(found["data"]))
