"""What a page of another site reaches in Chromium: nothing, whether it asks across sites or rebinds
its name to this machine (DNS rebinding)."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, Playwright

from tests.support.chromium import launch
from tests.support.server import Server

HOST = "rebound.example"
ROUTES = "data/plugin/privateuse1"
SQL = f"{ROUTES}/sql?run=measured&query={quote('select name from ops limit 1')}"


@pytest.fixture(scope="module")
def stranger(playwright: Playwright, tensorboard: Server) -> Iterator[Page]:
    """A page whose host name leads to this machine, without our server's consent."""
    browser = launch(playwright, f"--host-resolver-rules=MAP {HOST} 127.0.0.1")
    page = browser.new_page()
    page.goto(_url(tensorboard, HOST, f"{ROUTES}/extras"))
    yield page
    browser.close()


def _url(tensorboard: Server, host: str, path: str) -> str:
    return f"http://{host}:{urlsplit(tensorboard.url).port}/{path}"


def _status(page: Page, url: str, **options: str) -> int:
    """Return the status that the server answered, which the page itself may not be shown."""
    with page.expect_response(lambda response: response.url == url) as answer:
        page.evaluate(
            "([url, options]) => fetch(url, options).then(() => 0, () => 0)", [url, options]
        )
    return answer.value.status


@pytest.mark.parametrize(
    ("path", "method"), [(SQL, "GET"), (f"{ROUTES}/runs", "GET"), (f"{ROUTES}/cancel", "POST")]
)
def test_a_rebound_name_gets_nothing(
    stranger: Page, tensorboard: Server, path: str, method: str
) -> None:
    assert _status(stranger, _url(tensorboard, HOST, path), method=method) == 403


@pytest.mark.parametrize(("path", "method"), [(SQL, "GET"), (f"{ROUTES}/cancel", "POST")])
def test_another_site_gets_nothing(
    stranger: Page, tensorboard: Server, path: str, method: str
) -> None:
    ours = _url(tensorboard, "127.0.0.1", path)
    assert _status(stranger, ours, method=method, mode="no-cors") == 403


def test_our_own_page_gets_an_answer(context: BrowserContext, tensorboard: Server) -> None:
    page = context.new_page()
    page.goto(_url(tensorboard, "127.0.0.1", f"{ROUTES}/extras"))
    assert _status(page, _url(tensorboard, "127.0.0.1", f"{ROUTES}/runs")) == 200
    page.close()
