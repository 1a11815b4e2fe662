"""A headless Chromium for the session, and in every test a page that is watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, sync_playwright

from tests.support.chromium import launch
from tests.support.dashboard import VIEWPORT, Dashboard, Watch
from tests.support.server import Server


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    browser = launch(playwright)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> BrowserContext:
    """One for all tests: TensorBoard's own page is large, and comes from the cache then."""
    return browser.new_context(viewport=VIEWPORT)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def hosted() -> bool:
    """Whether pages are TensorBoard's with our tab, or our frame alone; modules may say."""
    return False


@pytest.fixture
def visit(
    context: BrowserContext, watch: Watch, hosted: bool
) -> Iterator[Callable[[Server], Dashboard]]:
    """Visit a server. At the end nothing may have gone wrong on any page.

    The first page is that of the test before: a new one takes longer than what is shown on it.
    """
    free = context.pages[:1]
    if not hosted:  # TensorBoard's page names one that is there
        watch.expected.append("404 .*/favicon.ico")

    def visit(server: Server) -> Dashboard:
        watch.origins.add(urlsplit(server.url).netloc)
        page = free.pop() if free else context.new_page()
        watch.on(page)
        return Dashboard(page, server, watch, hosted)

    yield visit
    for page in context.pages:
        page.evaluate("localStorage.clear(); sessionStorage.clear()")
        if page is context.pages[0]:
            _as_new(page)
            watch.off(page)
        else:
            page.close()
    assert watch.complaints == []


@pytest.fixture
def timed(browser: Browser, watch: Watch) -> Iterator[Callable[[Server], Dashboard]]:
    """Visit a server on a page whose clock a test can move: ``page.clock.run_for``.

    A clock stays with its context, so this one is not shared.
    """
    context = browser.new_context(viewport=VIEWPORT)
    page = context.new_page()
    page.clock.install()
    watch.expected.append("404 .*/favicon.ico")

    def visit(server: Server) -> Dashboard:
        watch.origins.add(urlsplit(server.url).netloc)
        watch.on(page)
        return Dashboard(page, server, watch, hosted=False)

    yield visit
    context.close()
    assert watch.complaints == []


def _as_new(page: Page) -> None:
    page.goto("about:blank")
    page.mouse.move(0, 0)
    page.unroute_all()
    page.emulate_media(color_scheme="null")
    page.set_viewport_size(VIEWPORT)


@pytest.fixture
def dashboard(visit: Callable[[Server], Dashboard], tensorboard: Server) -> Dashboard:
    """A visitor of the session's TensorBoard."""
    return visit(tensorboard)
