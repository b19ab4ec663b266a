"""A browser without a window, for tests of pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from serving import PATIENCE


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium, driven by Selenium; skips where they are not installed."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("chromium and its driver are not installed")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    switches = "headless=new no-sandbox disable-gpu disable-dev-shm-usage hide-scrollbars"
    for each in switches.split():
        options.add_argument(f"--{each}")
    options.add_argument("--window-size=1280,1000")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    made = webdriver.Chrome(service=Service(driver), options=options)
    try:
        made.set_page_load_timeout(PATIENCE)
        made.set_script_timeout(PATIENCE)
        yield made
    finally:
        made.quit()


def texts(page: Any, selector: str) -> list[str]:
    """The texts of the elements that a selector finds."""
    script = "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent)"
    return list(page.execute_script(script, selector))
