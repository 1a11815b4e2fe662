"""Our tab in a real browser, in the words of the selectors in ``frontend/README.md``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from playwright.sync_api import (
    ConsoleMessage,
    Dialog,
    Error,
    Frame,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
)

from tests.support.server import Server

WAIT_MS = 20_000
VIEWPORT: ViewportSize = {"width": 1400, "height": 1000}

ALONE = "data/plugin_entry.html?name=privateuse1"
"""What TensorBoard's page has in our frame. Alone it is there in a quarter of the time."""

WAYS = {
    "overview": ("summary", "tab-overview"), "advice": ("summary", "tab-advice"),
    "whatif": ("summary", "tab-whatif"), "timeline": ("timeline", None),
    "counters": ("timeline", "tab-counters"), "operators": ("time", "tab-operators"),
    "kernels": ("time", "tab-kernels"), "runtime": ("time", "tab-calls"),
    "modules": ("time", "tab-modules"), "flame": ("time", "as-flame"),
    "roofline": ("time", "as-roofline"), "memory": ("memory", None), "distributed": ("ranks", None),
    "history": ("compare", "tab-history"), "diff": ("compare", "tab-diff"), "sql": ("sql", None),
}  # fmt: skip
"""The entry and the tab of each page. A badge leads to that of the recording."""

_DRAWN = "() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r())))"

_CELLS = """rows => rows.map(row => [row.dataset.key, Object.fromEntries(
    [...row.querySelectorAll("td[data-column]")].map(td => [td.dataset.column, td.dataset.value]))])
"""


@dataclass
class Watch:
    """What no test may cause: a request to another origin, an error, a dialog.

    ``expected`` has patterns of console errors that a test causes on purpose: Chromium reports
    every answer with an error status there.
    """

    origins: set[str] = field(default_factory=set)
    expected: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def on(self, page: Page) -> None:
        """Start watching."""
        page.on("console", self._console)
        page.on("pageerror", self._error)
        page.on("request", self._request)
        page.on("dialog", self._dialog)

    def off(self, page: Page) -> None:
        """Stop watching."""
        page.remove_listener("console", self._console)
        page.remove_listener("pageerror", self._error)
        page.remove_listener("request", self._request)
        page.remove_listener("dialog", self._dialog)

    def _console(self, message: ConsoleMessage) -> None:
        text = f"{message.text} at {message.location['url']}"
        if message.type == "error" and not any(re.search(p, text) for p in self.expected):
            self.complaints.append(f"console: {text}")

    def _error(self, error: Error) -> None:
        self.complaints.append(f"page error: {error}")

    def _request(self, request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc not in self.origins:
            self.complaints.append(f"a request to {request.url}")

    def _dialog(self, dialog: Dialog) -> None:
        self.complaints.append(f"a dialog: {dialog.message}")
        dialog.dismiss()


@dataclass
class Dashboard:
    """A page with our dashboard: TensorBoard's with our tab (``hosted``), or our frame alone."""

    page: Page
    server: Server
    watch: Watch
    hosted: bool

    def open(self, **state: str | int) -> Dashboard:
        """Load the page with this selection: ``view``, ``run``, ``step``, …"""
        if self.page.url != "about:blank":
            self.page.goto("about:blank")  # a changed fragment alone would load nothing
        self.page.goto(self.address(**state))
        self.inside.locator(".frame").wait_for(timeout=WAIT_MS)
        return self

    def turn_to(self, view: str, **state: str | int) -> Locator:
        """Show a page of the frame that is open, without loading it again; return the page."""
        self.page.goto(self.address(view=view, **state))
        page = self.get(f"page-{view}")
        page.wait_for(timeout=WAIT_MS)
        return page

    def go_to(self, view: str) -> None:
        """Click the way to a page; one that the recording has nothing for has an address only."""
        entry, tab = WAYS.get(view, (None, None))
        if view == "recording":
            self.get("findings-badge").click()
            self.get("about-recording").click()
        elif self.get(f"rail-{entry}").count() == 0:
            self.turn_to(view, **{k: v for k, v in self.state().items() if k != "view"})
        else:
            self.get(f"rail-{entry}").click()
            if tab is not None and self.get(tab).count() > 0:
                self.get(tab).click()
            elif tab is not None:
                self.turn_to(view, **{k: v for k, v in self.state().items() if k != "view"})

    def address(self, **state: str | int) -> str:
        """Where a selection is shown."""
        parts = [f"p.privateuse1.{key}={quote(str(value))}" for key, value in state.items()]
        if self.hosted:
            return self.server.url + "#" + "&".join(["privateuse1", *parts])
        return f"{self.server.url}{ALONE}#{'&'.join(parts)}"

    @property
    def inside(self) -> Any:
        """Where our elements are."""
        if not self.hosted:
            return self.page
        return self.page.frame_locator('iframe[src*="name=privateuse1"]')

    @property
    def frame(self) -> Frame:
        """The same, to run scripts in."""
        (found,) = [f for f in self.page.frames if "name=privateuse1" in f.url]
        return found

    def get(self, testid: str) -> Locator:
        """An element by its ``data-testid``."""
        found: Locator = self.inside.get_by_test_id(testid)
        return found

    def value(self, testid: str) -> str:
        """The exact value that an element shows."""
        element = self.get(testid)
        element.wait_for(timeout=WAIT_MS)
        self.rests()
        return element.get_attribute("data-value") or ""

    def rests(self) -> None:
        """Wait until nothing is shown of what was selected before."""
        expect(self.inside.locator('[aria-busy="true"]')).to_have_count(0, timeout=WAIT_MS)

    def drawn(self) -> None:
        """Wait for two pictures: charts know their width and pages their address by then."""
        self.frame.evaluate(_DRAWN)

    def figure(self, name: str) -> float | None:
        """A key figure; None where the page shows that there is none."""
        return number(self.value(f"figure-{name}"))

    def busy_ns(self) -> float | None:
        """The device's busy time in the account; 0 without any, None without an account."""
        self.rests()
        account = self.get("account-classes")
        if not account.count():
            return None
        device = account.locator('[data-group="device"]')
        return number(device.get_attribute("data-value") or "") if device.count() else 0

    def pick(self, what: str, value: str | int) -> None:
        """Choose from the picker of ``run``, ``rank``, ``span`` or ``step``."""
        self.get(f"{what}-picker").click()
        self.get(f"{what}-picker-panel").locator(f'li[data-value="{value}"]').click()

    def rows(self, table: str) -> dict[str, dict[str, str]]:
        """The cells of the drawn rows of a table, in their order, by row and column."""
        found = self.get(f"table-{table}")
        found.locator("tbody tr[data-key]").first.wait_for(timeout=WAIT_MS)
        self.rests()
        return dict(found.locator("tbody tr[data-key]").evaluate_all(_CELLS))

    def shows(self, testid: str, **data: str | int) -> Locator:
        """Wait until an element is shown and has these ``data-`` attributes."""
        element = self.get(testid)
        expect(element).to_be_visible(timeout=WAIT_MS)
        for key, value in data.items():
            expect(element).to_have_attribute(f"data-{key}", str(value), timeout=WAIT_MS)
        return element

    def dark(self, on: bool) -> None:
        """Change the theme as TensorBoard's switch does; alone, as the system's."""
        if self.hosted:
            change = "on => document.body.classList.toggle('dark-mode', on)"
            self.page.evaluate(change, on)
        else:
            self.page.emulate_media(color_scheme="dark" if on else "light")
        page = self.inside.locator("html")
        expect(page).to_have_attribute("data-theme", "dark" if on else "light")

    def state(self) -> dict[str, str]:
        """The selection in the address bar."""
        parts = urlsplit(self.page.url).fragment.split("&")
        named = [part.partition("=") for part in parts if part.startswith("p.privateuse1.")]
        return {name.removeprefix("p.privateuse1."): unquote(value) for name, _, value in named}


def number(text: str) -> float | None:
    """A ``data-value`` as a number; None for the empty one, which stands for null."""
    return float(text) if text else None
