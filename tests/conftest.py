"""What tests of several packages share: a browser, and that property tests have no deadline."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes says nothing on a busy machine.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def missing_browser() -> Callable[[str], None]:
    """Skips a test for want of what a browser needs; fails it where CUTILE_SIM_REQUIRE_BROWSER is 1."""
    required = os.environ.get("CUTILE_SIM_REQUIRE_BROWSER") == "1"
    return pytest.fail if required else pytest.skip


@pytest.fixture(scope="session")
def chromium(missing_browser: Callable[[str], None]) -> Iterator[Any]:
    """A headless Chromium: one, since Playwright runs once a thread. Skips without one, as `missing_browser` says."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing_browser("playwright is not installed")
    path = next((p for p in ("/usr/bin/chromium", "/usr/bin/chromium-browser") if os.path.exists(p)), None)
    if path is None:
        missing_browser("Chromium is not installed")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
