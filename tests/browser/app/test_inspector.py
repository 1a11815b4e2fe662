"""The inspector: where it is docked, its size, its place in the address, what it begins with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import FloatRect, Locator, expect

from tests.support import make
from tests.support.axe import settled
from tests.support.dashboard import WAIT_MS, Dashboard, number
from tests.support.server import Server, serve

OPEN = {
    "instances": {"view": "kernels", "selected": "8"},
    "timeline-details": {"view": "timeline", "item": "kernels:8"},
    "record": {"view": "overview", "event": "kernels/8"},
}
"""The inspector of each kind, and where it is open."""


def box(element: Locator) -> FloatRect:
    found = element.bounding_box()
    assert found
    return found


def window(dashboard: Dashboard, width: int, height: int = 900) -> None:
    dashboard.page.set_viewport_size({"width": width, "height": height})


def longest(dashboard: Dashboard) -> str:
    """The row of the kernel table that is open in ``OPEN``."""
    rows = dashboard.server.plugin("kernels?run=ddp").json["rows"]
    return str(rows[0]["longest_row"])


def opened(dashboard: Dashboard, panel: str, **more: str) -> Locator:
    where = {**OPEN[panel], **more}
    if panel == "instances":
        where["selected"] = longest(dashboard)
    settled(dashboard.open(run="ddp", **where))
    found = dashboard.shows(panel)
    settled(dashboard).drawn()  # what it loads makes it higher
    return found


@pytest.mark.parametrize("panel", OPEN)
def test_it_stands_beside_the_page_and_in_narrow_windows_below(
    dashboard: Dashboard, panel: str
) -> None:
    window(dashboard, 1440)
    found = opened(dashboard, panel)
    main = dashboard.inside.locator("main")
    if panel == "timeline-details":  # so that the time scale stays
        assert box(found)["y"] == pytest.approx(box(main)["y"] + box(main)["height"], abs=1)
    else:
        assert box(found)["x"] == pytest.approx(box(main)["x"] + box(main)["width"], abs=1)
        assert box(found)["x"] + box(found)["width"] == 1440
        assert box(found)["height"] == box(main)["height"]
    window(dashboard, 800)
    expect(dashboard.get("panel-edge")).to_have_attribute("aria-orientation", "horizontal")
    settled(dashboard).drawn()
    assert box(found)["y"] == pytest.approx(box(main)["y"] + box(main)["height"], abs=1)
    assert (box(found)["x"], box(found)["width"]) == (0, 800)
    found.get_by_test_id(f"{panel}-close").click()
    expect(found).to_have_count(0)
    assert box(main)["y"] + box(main)["height"] == 900


def test_its_width_is_dragged_and_stays_on_all_pages(dashboard: Dashboard) -> None:
    window(dashboard, 1440)
    found = opened(dashboard, "instances")
    usual = box(found)["width"]
    edge = box(dashboard.get("panel-edge"))
    mouse = dashboard.page.mouse
    x, y = edge["x"] + edge["width"] / 2, edge["y"] + 300
    mouse.move(x, y)
    mouse.down()
    mouse.move(x - 40, y, steps=3)
    mouse.move(x - 90, y, steps=3)
    mouse.up()
    expect(found).to_have_css("width", f"{usual + 90:g}px")
    assert dashboard.frame.evaluate("getSelection().toString()") == ""
    for panel in ("record",):
        other = opened(dashboard, panel)
        expect(other).to_have_css("width", f"{usual + 90:g}px")
    dashboard.get("panel-edge").dblclick()
    expect(dashboard.get("record")).to_have_css("width", f"{usual:g}px")


@pytest.mark.parametrize(
    ("width", "side", "larger", "smaller"),
    [(1440, "width", "ArrowLeft", "ArrowRight"), (700, "height", "ArrowUp", "ArrowDown")],
)
def test_its_edge_is_a_separator_for_the_keyboard(
    dashboard: Dashboard, width: int, side: str, larger: str, smaller: str
) -> None:
    window(dashboard, width)
    found = opened(dashboard, "instances")
    size = box(found)[side]  # type: ignore[literal-required]
    edge = dashboard.inside.get_by_role("separator")
    expect(edge).to_have_attribute("aria-valuenow", f"{size:g}")
    edge.press(larger)
    expect(found).to_have_css(side, f"{size + 24:g}px")
    expect(edge).to_have_attribute("aria-valuenow", f"{size + 24:g}")
    for _ in range(40):
        edge.press(smaller)
    least = int(edge.get_attribute("aria-valuemin") or 0)
    expect(found).to_have_css(side, f"{least}px")


@pytest.mark.parametrize("panel", OPEN)
def test_escape_closes_it_from_anywhere_and_back_opens_it(dashboard: Dashboard, panel: str) -> None:
    found = opened(dashboard, panel)
    dashboard.page.keyboard.press("Escape")
    expect(found).to_have_count(0)
    assert not {"event", "item", "selected"} & dashboard.state().keys()
    dashboard.page.go_back()
    expect(found).to_be_visible(timeout=WAIT_MS)


def test_a_text_field_keeps_its_escape(dashboard: Dashboard) -> None:
    found = opened(dashboard, "instances")
    dashboard.get("table-kernels").get_by_test_id("filter").press("Escape")
    expect(found).to_be_visible()


def test_the_typical_call_is_the_first_and_selected(dashboard: Dashboard) -> None:
    opened(dashboard, "instances")
    asked = f"kernel_instances?run=ddp&index={longest(dashboard)}&order=typical"
    now = dashboard.server.plugin(asked).json
    took = sorted(i["end_ns"] - i["start_ns"] for i in now["items"])
    first = dashboard.get("table-instances").locator("tbody tr[data-key]").first
    expect(first).to_have_attribute("data-key", str(now["typical"]["index"]))
    expect(first).to_have_attribute("aria-selected", "true")
    duration = first.locator('td[data-column="duration_ns"]').get_attribute("data-value") or ""
    assert number(duration) == took[len(took) // 2]
    dashboard.shows("typical", value=now["typical"]["index"])
    dashboard.shows("histogram-mark")
    assert "instance" not in dashboard.state()


def test_another_call_is_in_the_address(dashboard: Dashboard) -> None:
    opened(dashboard, "instances")
    rows = dashboard.rows("instances")
    other = list(rows)[-1]
    row = dashboard.get("table-instances").locator(f'tr[data-key="{other}"]')
    row.locator('td[data-column="duration_ns"]').click()
    chosen = dashboard.shows("chosen", value=other)
    links: Any = dashboard.server.plugin(f"links?run=ddp&table=kernels&index={other}").json
    expect(chosen.get_by_test_id("to-operator")).to_have_text(links["operator"]["name"])
    assert dashboard.state()["instance"] == other
    dashboard.page.reload()
    dashboard.shows("chosen", value=other)
    dashboard.get("to-typical").click()
    dashboard.shows("typical")
    dashboard.page.go_back()
    dashboard.shows("chosen", value=other)
    dashboard.get("group-duration").click()
    taken = [number(cells["duration_ns"]) for cells in dashboard.rows("instances").values()]
    assert taken == sorted(taken, key=lambda ns: -(ns or 0))


def test_from_a_kernel_to_its_launch_and_back_without_leaving_the_page(
    dashboard: Dashboard,
) -> None:
    found = opened(dashboard, "instances")
    typical = dashboard.value("typical")
    found.get_by_test_id("to-launch").click()
    record = dashboard.shows("record")
    expect(found).to_be_hidden()
    dashboard.shows("page-kernels")
    record.get_by_test_id("to-kernel").first.click()
    dashboard.shows("record", event=f"kernels/{typical}")
    for _ in range(2):
        dashboard.page.go_back()
    expect(record).to_have_count(0)
    expect(found).to_be_visible()
    assert dashboard.state()["selected"] == longest(dashboard)


def test_an_event_says_where_it_lies_among_its_namesakes(dashboard: Dashboard) -> None:
    opened(dashboard, "record")
    now = dashboard.server.plugin("namesakes?run=ddp&table=kernels&index=8").json
    dashboard.shows("namesakes", value=now["calls"])
    dashboard.shows("histogram-durations", value=now["calls"])
    dashboard.get("to-typical").click()
    dashboard.shows("record", event=f"kernels/{now['typical']['index']}")


def test_what_is_folded_stays_folded(dashboard: Dashboard) -> None:
    opened(dashboard, "record")
    part = dashboard.get("part-linked")
    expect(part.get_by_test_id("to-operator")).to_be_visible()
    part.locator("summary").click()
    expect(part.get_by_test_id("to-operator")).to_have_count(0)
    dashboard.get("part-record").locator("summary").click()
    expect(dashboard.get("part-record").locator("pre")).to_be_visible()
    opened(dashboard, "timeline-details")
    expect(dashboard.get("part-record").locator("pre")).to_be_visible()
    expect(dashboard.get("part-linked").get_by_test_id("to-operator")).to_have_count(0)


def test_a_call_of_the_runtime_leads_to_its_kernels(dashboard: Dashboard) -> None:
    links = dashboard.server.plugin("links?run=ddp&table=kernels&index=8").json
    opened(dashboard, "record", event=f"launches/{links['launch']['index']}")
    expect(dashboard.get("record-name")).to_have_text(links["launch"]["name"])
    dashboard.get("to-kernel").first.click()
    dashboard.shows("record", event="kernels/8")
    dashboard.get("show-on-timeline").click()
    dashboard.shows("page-timeline")
    expect(dashboard.get("details-name")).to_have_text(links["item"]["name"])


@pytest.fixture(scope="module")
def shaped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Products of two lines, with their shapes."""
    events = [make.step(1, 0, 400)]
    for at, line, took in ((0, 3, 30), (100, 3, 40), (200, 9, 20)):
        n = at // 100
        events += [
            make.frame(f"train.py({line}): step{line}", at, at + 90),
            make.op("aten::mm", at + 5, at + 15, **MATRICES),
            make.launch(at + 6, at + 8, n + 1),
            make.kernel("gemm", at + 20, at + 20 + took, n + 1),
        ]
    path = tmp_path_factory.mktemp("shaped") / "run" / "one.1700000000000.pt.trace.json"
    path.parent.mkdir()
    path.write_text(json.dumps(make.document(*events)))
    with serve("--logdir", path.parent.parent) as server:
        yield server


MATRICES: dict[str, Any] = {
    "Input Dims": [[256, 256], [256, 256]],
    "Input type": ["float", "float"],
}


def test_rates_and_the_lines_that_call(
    visit: Callable[[Server], Dashboard], shaped: Server
) -> None:
    row = shaped.plugin("kernels?run=run").json["rows"][0]
    dashboard = visit(shaped).open(run="run", view="kernels", selected=row["longest_row"])
    typical = dashboard.shows("typical").get_attribute("data-value")
    settled(dashboard)
    sites = dashboard.shows("part-sites").locator("tr")
    expect(sites).to_have_count(2)
    expect(sites.first).to_have_attribute("data-site", "step3 (train.py:3)")
    expect(sites.first).to_have_attribute("data-value", "70000")
    expect(dashboard.get("row-facts").locator('[data-key="flops"]')).to_be_visible()
    work = shaped.plugin(f"work?run=run&index={typical}").json
    rate = dashboard.get("work-facts").locator('[data-key="tflop_per_s"]')
    expect(rate).to_contain_text(f"{work['tflop_per_s']:.3g} TFLOP/s")
