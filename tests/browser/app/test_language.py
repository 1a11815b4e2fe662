"""The pages in Chinese: for a browser that asks for it, and for who chooses it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from tb_privateuse1.analysis.kernel_names import display_name
from tests.support.dashboard import VIEWPORT, Dashboard
from tests.support.page_states import each_page, each_state

_SENTENCES = """root => {
    const found = new Set();
    const skip = new Set(["CODE", "PRE", "SCRIPT", "STYLE", "OPTION"]);
    const walk = (node) => {
        if (node.nodeType === Node.TEXT_NODE) return void found.add(node.data.trim());
        if (node.nodeType !== Node.ELEMENT_NODE || skip.has(node.tagName)) return;
        for (const name of ["title", "aria-label", "placeholder"])
            if (node.hasAttribute(name)) found.add(node.getAttribute(name).trim());
        node.childNodes.forEach(walk);
    };
    walk(root);
    return [...found];
}"""
"""All that is shown or read out, but code."""

ENGLISH = re.compile(r"\b[A-Za-z]{2,}[,:;.]? [a-z]{2,}\b")
IDS = {"External id", "Python id", "Python module id", "correlation id"}
"""What torch calls them in every trace."""
KERNELS = {display_name("ncclAllReduce")}
"""Names of kernels are the same in all languages."""
CHINESE = re.compile(r"[\u4e00-\u9fff]")


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One that prefers Chinese, as a browser in China does."""
    context = browser.new_context(viewport=VIEWPORT, locale="zh-CN")
    yield context
    context.close()


def english(dashboard: Dashboard) -> list[str]:
    """What stands there in English: two words in a row, and nothing Chinese beside them."""
    told = dashboard.inside.locator("body").evaluate(_SENTENCES)
    found = {text for text in told if ENGLISH.search(text) and not CHINESE.search(text)}
    # A long name keeps both of its ends: a cell has it in two parts.
    return sorted(text for text in found - IDS if not any(k.endswith(text) for k in KERNELS))


@pytest.mark.long
@pytest.mark.parametrize("run", ["ddp", "mlp", "host"])
def test_no_page_speaks_english(dashboard: Dashboard, run: str) -> None:
    pages = each_page(dashboard, run, base="mlp" if run == "ddp" else "ddp")
    assert {name: said for name in pages if (said := english(dashboard))} == {}
    expect(dashboard.inside.locator("html")).to_have_attribute("lang", "zh")


@pytest.mark.long
@pytest.mark.exhaustive
def test_nothing_that_opens_speaks_english(dashboard: Dashboard) -> None:
    states = each_state(dashboard)
    assert {name: said for name in states if (said := english(dashboard))} == {}


def test_a_language_is_chosen_and_stays(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="advice", sort="name")
    expect(dashboard.get("rail-summary")).to_have_text("总览")
    dashboard.get("language").select_option("en")
    expect(dashboard.get("rail-summary")).to_have_text("Summary")
    dashboard.page.reload()
    expect(dashboard.get("rail-summary")).to_have_text("Summary")
    expect(dashboard.get("language")).to_have_value("en")
    dashboard.get("language").select_option("zh")
    expect(dashboard.get("rail-summary")).to_have_text("总览")
    assert "view=advice" in dashboard.page.url
    expect(dashboard.get("finding").first).to_contain_text(CHINESE)


def test_what_goes_wrong_is_told_in_chinese(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("status of 404")
    dashboard.open(run="mlp", rank=7)
    expect(dashboard.get("error")).to_contain_text(CHINESE)
    assert english(dashboard) == []
