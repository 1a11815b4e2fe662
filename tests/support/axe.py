"""axe-core in our frame: what it finds that those who cannot see or use a mouse stumble over."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Frame, Page, expect

from tests.support.dashboard import WAIT_MS, Dashboard

_SCRIPT = Path(__file__).parents[2] / "frontend" / "node_modules" / "axe-core" / "axe.min.js"
_UNREADY = ", ".join(
    ('[data-testid="loading"]', '[data-testid="progress"]', '[aria-busy="true"]', ".frame:empty")
)
_COLORS = ["color-contrast", "link-in-text-block"]
"""The rules whose answer depends on the theme."""

_RUN = """async (rules) => {
    const options = { resultTypes: ["violations"], ...(rules && { runOnly: rules }) };
    const { violations } = await axe.run(document, options);
    return violations.flatMap((v) => v.nodes.map((n) =>
        `${v.impact} ${v.id}: ${n.target.join(" ")}: ${n.failureSummary.replace(/\\s+/g, " ")}`));
}"""


def settled(dashboard: Dashboard) -> Dashboard:
    """Wait until nothing of the page is on its way."""
    expect(dashboard.inside.locator(_UNREADY)).to_have_count(0, timeout=3 * WAIT_MS)
    return dashboard


def violations(dashboard: Dashboard) -> list[str]:
    """What axe objects to, of any severity, by light and by dark.

    The theme changes once: it is the other one afterwards.
    """
    themes = ("light", "dark")
    shown = settled(dashboard).inside.locator("html").get_attribute("data-theme")
    found = [f"{shown}: {line}" for line in violations_of(dashboard.frame)]
    other = themes[shown == "light"]
    dashboard.dark(other == "dark")
    return found + [f"{other}: {line}" for line in violations_of(dashboard.frame, _COLORS)]


def violations_of(frame: Frame | Page, rules: list[str] | None = None) -> list[str]:
    """What axe objects to in a frame as it is, by all rules or by some."""
    if not frame.evaluate("typeof axe === 'object'"):
        assert _SCRIPT.exists(), "axe-core is not installed: npm ci in frontend/"
        frame.evaluate(_SCRIPT.read_text())
    found: list[str] = frame.evaluate(_RUN, rules)
    return found
