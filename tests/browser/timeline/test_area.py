"""The tabs of a selected interval: figures of the server, each row a link."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.timeline_canvas import canvas, result


@pytest.fixture
def window(dashboard: Dashboard) -> tuple[int, int]:
    """A part of the recording with work of host and device."""
    end = result(dashboard, "timeline?run=ddp&width=1&tracks=")["end_ns"]
    return end // 4, 3 * end // 4


def opened(dashboard: Dashboard, window: tuple[int, int], tab: str, **state: str) -> None:
    canvas(dashboard, run="ddp", area="{}..{}".format(*window), group=tab, **state)


def times(dashboard: Dashboard, window: tuple[int, int]) -> Any:
    return result(dashboard, "area_times?run=ddp&start_ns={}&stop_ns={}".format(*window))


def test_own_time_by_operator(dashboard: Dashboard, window: tuple[int, int]) -> None:
    canvas(dashboard, run="ddp", area="{}..{}".format(*window))
    dashboard.get("group-operators").click()
    expect(dashboard.get("table-area-operators")).to_be_visible(timeout=WAIT_MS)
    assert dashboard.state()["group"] == "operators"
    rows = dashboard.rows("area-operators")
    expected = times(dashboard, window)
    for one in expected["operators"][:3]:
        key = ("annotation " if one["annotation"] else "operator ") + (one["name"] or "")
        assert rows[key]["self_ns"] == str(one["self_ns"])
        assert rows[key]["device_ns"] == str(one["device_ns"])
    named = next(one for one in expected["operators"] if one["name"] and not one["annotation"])
    dashboard.get("table-area-operators").locator(
        f'tr[data-key="operator {named["name"]}"]'
    ).click()
    dashboard.page.wait_for_function("location.hash.includes('privateuse1.find=')")
    assert dashboard.state()["find"] == named["name"]


def test_a_stream_narrows_the_selection_to_its_track(
    dashboard: Dashboard, window: tuple[int, int]
) -> None:
    opened(dashboard, window, "streams")
    stream = times(dashboard, window)["streams"][0]
    rows = dashboard.rows("area-streams")
    key = f"{stream['device']} {stream['stream']} {stream['track']}"
    assert rows[key]["busy_ns"] == str(stream["busy_ns"])
    dashboard.get("table-area-streams").locator(f'tr[data-key="{key}"]').click()
    expect(dashboard.get("area-place")).to_have_value(str(stream["track"]))


def test_the_longest_runtime_call_is_a_link(dashboard: Dashboard, window: tuple[int, int]) -> None:
    opened(dashboard, window, "calls")
    call = times(dashboard, window)["calls"][0]
    row = dashboard.get("table-area-calls").locator(f'tr[data-key="{call["name"]}"]')
    expect(row).to_be_visible(timeout=WAIT_MS)
    row.locator("a").click()
    expect(dashboard.get("details-name")).to_have_text(call["name"], timeout=WAIT_MS)
    assert dashboard.state()["item"] == f"launches:{call['longest']}"


def test_classes_of_the_selection_sum_to_it(dashboard: Dashboard, window: tuple[int, int]) -> None:
    opened(dashboard, window, "idle")
    rows = dashboard.rows("area-idle")
    assert sum(int(row["ns"]) for row in rows.values()) == window[1] - window[0]
    before = dashboard.state().get("range")
    longest = dashboard.get("table-area-idle").locator("tr[data-key] a").first
    longest.click()
    dashboard.page.wait_for_function(
        "before => !location.hash.includes(`range=${before}&`) && location.hash.includes('range=')",
        arg=before or "none",
    )
    assert dashboard.state()["area"] == "{}..{}".format(*window)


def test_flame_graph_and_callers_are_of_the_selection(
    dashboard: Dashboard, window: tuple[int, int]
) -> None:
    opened(dashboard, window, "flame")
    expect(dashboard.get("flamegraph")).to_be_visible(timeout=WAIT_MS)
    device_ns = times(dashboard, window)["device_ns"]
    expect(dashboard.get("area-flame-under")).to_have_attribute("data-value", str(device_ns))
    dashboard.get("flamegraph").focus()
    dashboard.page.keyboard.press("ArrowDown")
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.get("area-zoom-out")).to_be_visible()
    dashboard.get("area-zoom-out").click()
    expect(dashboard.get("area-zoom-out")).to_have_count(0)
    dashboard.get("group-callers").click()
    rows = dashboard.rows("area-callers")
    outermost = [row for key, row in rows.items() if ";" not in key]
    assert 0 < sum(int(row["total_ns"]) for row in outermost) <= device_ns
