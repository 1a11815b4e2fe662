"""A headless Chromium for the session, and in every test a page that is watched."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.browser.dashboard import Dashboard, Watch
from tests.server import Server

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    assert program, "The browser tests need Chromium: see `make test`."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
    """One for all tests: TensorBoard's own page is large, and comes from the cache then."""
    return browser.new_context(viewport={"width": 1400, "height": 1000})


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def visit(context: BrowserContext, watch: Watch) -> Iterator[Callable[[Server], Dashboard]]:
    """Visit a server. At the end nothing may have gone wrong on any page."""

    def visit(server: Server) -> Dashboard:
        watch.origins.add(urlsplit(server.url).netloc)
        page = context.new_page()
        watch.on(page)
        return Dashboard(page, server, watch)

    yield visit
    for page in context.pages:
        page.evaluate("localStorage.clear()")
        page.close()
    assert watch.complaints == []


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], tensorboard: Server) -> Dashboard:
    """A visitor of the session's TensorBoard."""
    return visit(tensorboard)
