"""Keys work from the first moment: TensorBoard's page has the focus until a click."""

from __future__ import annotations

import pytest

from tests.support.axe import settled
from tests.support.dashboard import Dashboard


@pytest.fixture
def hosted() -> bool:
    """In TensorBoard's page."""
    return True


def test_shortcuts_need_no_click(dashboard: Dashboard) -> None:
    settled(dashboard.open(run="ddp"))
    assert dashboard.page.evaluate("document.activeElement.tagName") != "IFRAME"
    dashboard.page.keyboard.press("g")
    dashboard.page.keyboard.press("k")
    dashboard.shows("page-kernels")
    dashboard.page.keyboard.press("?")
    assert dashboard.shows("help").evaluate("e => e.scrollTop") == 0
