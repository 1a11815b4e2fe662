"""The timeline: what is drawn, picked, searched, and kept in the URL."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.timeline_canvas import (
    canvas,
    drag,
    drag_along_a_heading,
    middle,
    result,
    tables,
    wait_for_state,
    window,
)


def test_everything_is_drawn(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp")
    now = result(dashboard, "timeline?run=mlp")
    expect(dashboard.get("track")).to_have_count(len(now["tracks"]))
    assert int(found.get_attribute("data-drawn") or "") == len(now["rectangles"]["row"])


def test_keys_move_and_the_url_follows(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp")
    start, stop = window(found)
    found.click(position={"x": 200, "y": 5})
    press = dashboard.page.keyboard.press
    press("w")
    expect(found).not_to_have_attribute("data-start", str(start))
    closer = window(found)
    assert closer[1] - closer[0] < stop - start
    press("d")
    expect(found).not_to_have_attribute("data-start", str(closer[0]))
    moved = window(found)
    assert moved[0] > closer[0]
    assert abs((moved[1] - moved[0]) - (closer[1] - closer[0])) <= 2
    # Once the camera rests: the URL may have had the range before it moved.
    dashboard.page.wait_for_function(
        """([start, stop]) => {
            const found = /p\\.privateuse1\\.range=(-?\\d+)\\.\\.(-?\\d+)/.exec(location.hash);
            return found && Math.abs(found[1] - start) <= 2 && Math.abs(found[2] - stop) <= 2;
        }""",
        arg=list(moved),
    )
    dashboard.get("fit-all").click()
    expect(found).to_have_attribute("data-start", str(start))


def test_from_a_kernel_to_its_operator_and_back(dashboard: Dashboard) -> None:
    canvas(dashboard, run="ddp", item="kernels:0")
    links = result(dashboard, "links?run=ddp&table=kernels&index=0")
    name = dashboard.get("details-name")
    expect(name).to_have_text(links["item"]["name"], timeout=WAIT_MS)
    dashboard.get("to-operator").click()
    expect(name).to_have_text(links["operator"]["name"])
    assert dashboard.state()["item"] == f"ops:{links['operator']['index']}"
    dashboard.get("to-kernel").first.click()
    expect(name).to_have_text(links["item"]["name"])
    dashboard.page.go_back()
    expect(name).to_have_text(links["operator"]["name"])
    keys = dashboard.page.keyboard
    keys.press("]")
    expect(name).to_have_text(links["item"]["name"])
    keys.press("]")  # a kernel leads no further
    keys.press("[")
    expect(name).to_have_text(links["operator"]["name"])
    record = dashboard.get("part-record")
    record.locator("summary").click()
    expect(record.locator("pre")).to_contain_text(f'"name": "{links["operator"]["name"]}"')


def test_from_a_runtime_call_to_its_kernel_and_back(dashboard: Dashboard) -> None:
    kernel = result(dashboard, "links?run=ddp&table=kernels&index=0")
    launch = kernel["launch"]
    canvas(dashboard, run="ddp", item=f"launches:{launch['index']}")
    name = dashboard.get("details-name")
    expect(name).to_have_text(launch["name"], timeout=WAIT_MS)
    dashboard.get("to-kernel").first.click()
    expect(name).to_have_text(kernel["item"]["name"])
    dashboard.page.go_back()
    expect(name).to_have_text(launch["name"])
    dashboard.page.keyboard.press("]")
    expect(name).to_have_text(kernel["item"]["name"])
    assert dashboard.state()["item"] == "kernels:0"


def test_search_finds_what_is_not_on_the_screen(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp", range="0..40")
    hits = result(dashboard, "search?run=mlp&text=mm")
    assert hits["matches"] > 0
    box = dashboard.get("timeline-search")
    box.fill("mm")
    expect(dashboard.get("timeline-hits")).to_have_attribute("data-value", str(hits["matches"]))
    box.press("Enter")
    first = hits["items"][0]
    expect(dashboard.get("details-name")).to_have_text(first["name"])
    start, stop = window(found)
    assert start <= first["start_ns"] <= stop
    assert dashboard.state()["find"] == "mm"
    box.fill("no such name")
    expect(dashboard.get("timeline-hits")).to_have_attribute("data-value", "0")


def test_a_drag_sums_up_the_tracks_it_goes_over(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    drag_along_a_heading(dashboard)
    everywhere = dashboard.rows("area")
    assert tables(dashboard) == {"ops", "kernels"}
    expect(dashboard.get("choose-track")).to_have_count(0)
    tracks = result(dashboard, "timeline?run=mlp&width=1")["tracks"]
    stream = next(one for one in tracks if one["kind"] == "device")
    host = next(one for one in tracks if one["kind"] == "operators")
    dashboard.get("area-place").select_option(str(stream["id"]))
    wait_for_state(dashboard, f"@{stream['id']}")
    assert tables(dashboard) == {"kernels"}
    whole = dashboard.state()["area"]
    dashboard.page.reload()
    expect(dashboard.get("area-place")).to_have_value(str(stream["id"]), timeout=WAIT_MS)
    dashboard.inside.locator(
        f'[data-testid="track"][data-id="{host["id"]}"] [data-testid="choose-track"]'
    ).check()
    wait_for_state(dashboard, f"{whole.partition('@')[0]}@{min(stream['id'], host['id'])},")
    assert dashboard.rows("area").keys() == everywhere.keys()
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("area-summary")).to_have_count(0)
    assert "area" not in dashboard.state()
    dashboard.page.go_back()
    expect(dashboard.get("area-summary")).to_have_count(1)


def test_the_edges_of_a_selection_can_be_dragged(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp")
    start, stop = window(found)
    width = (found.bounding_box() or {"width": 0})["width"]
    device = dashboard.inside.locator('[data-testid="track"][data-kind="device"]')
    track, heading = middle(dashboard, device), middle(dashboard, dashboard.get("group-head").first)

    def selected(since: str) -> tuple[list[float], str]:
        """In pixels, and on which tracks, once it is another one."""
        dashboard.page.wait_for_function(
            """since => location.hash.includes("privateuse1.area=")
                && !decodeURIComponent(location.hash).includes(`area=${since}@`)""",
            arg=since,
        )
        times, _, tracks = dashboard.state()["area"].partition("@")
        return [(int(at) - start) / (stop - start) * width for at in times.split("..")], tracks

    seen = ""
    for begin, end, y, edges in (
        (100, 300, track, [100, 300]),
        (301, 401, heading, [100, 400]),  # its tracks stay what they are
        (100, 500, track, [400, 500]),  # past the other edge
    ):
        drag(dashboard, (begin, y), (end, y))
        pixels, tracks = selected(seen)
        assert pixels == pytest.approx(edges, abs=1.5)
        assert tracks == device.get_attribute("data-id")
        seen = dashboard.state()["area"].partition("@")[0]


def test_tracks_fold_and_links_keep_it(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    track = dashboard.inside.locator('[data-testid="track"][data-kind="operators"]').first
    number = track.get_attribute("data-id")
    track.get_by_role("button", name=re.compile("^Fold")).click()
    expect(track).to_have_attribute("data-folded", "true")
    assert dashboard.state()["lanes"] == number
    dashboard.page.reload()
    expect(track).to_have_attribute("data-folded", "true", timeout=WAIT_MS)


def test_only_some_tracks_are_shown_until_one_of_the_others_is_asked_for(
    dashboard: Dashboard,
) -> None:
    canvas(dashboard, run="ddp")
    tracks = dashboard.get("track")
    everything = tracks.count()
    only = dashboard.get("only-tracks")
    only.fill("stream")
    streams = dashboard.inside.locator('[data-testid="track"]:not([data-kind="steps"])')
    expect(streams.first).to_have_attribute("data-kind", "device")
    expect(dashboard.inside.locator('[data-testid="track"][data-kind="operators"]')).to_have_count(
        0
    )
    assert dashboard.state()["lanes"] == "wstream"
    dashboard.page.reload()
    expect(only).to_have_value("stream", timeout=WAIT_MS)
    box = dashboard.get("timeline-search")
    box.fill("aten::mm")
    hits = dashboard.get("timeline-hits")
    expect(hits).to_have_attribute("data-value", re.compile("[1-9]"), timeout=WAIT_MS)
    box.press("Enter")
    expect(tracks).to_have_count(everything)
    only.fill("nowhere")
    expect(only).to_have_attribute("aria-invalid", "true")
    only.press("Escape")
    expect(tracks).to_have_count(everything)


def test_counters_tell_their_value_and_fold(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="ddp")
    told = result(dashboard, "timeline?run=ddp")["counters"]
    heads = dashboard.get("counter")
    expect(heads).to_have_count(0)
    dashboard.get("counters").click()
    expect(heads).to_have_count(len(told))
    assert {"utilization", "waiting", "rate"} <= {counter["what"] for counter in told}
    expect(heads.first).to_have_attribute("data-what", "utilization")
    use = heads.first.bounding_box()
    box = found.bounding_box()
    assert use
    assert box
    found.hover(position={"x": 300, "y": use["y"] - box["y"] + 10})
    tip = dashboard.get("timeline-tooltip")
    expect(tip).to_contain_text("Utilization of device 0")
    expect(tip).to_contain_text("%")
    wait_for_state(dashboard, "p.privateuse1.lanes=g/Counters")
    dashboard.page.reload()
    expect(dashboard.get("counters")).to_have_attribute("aria-expanded", "true", timeout=WAIT_MS)
    expect(heads).to_have_count(len(told))
    dashboard.get("counters").click()
    expect(heads).to_have_count(0)


def test_colors_tell_the_module_and_the_url_keeps_it(dashboard: Dashboard) -> None:
    found = canvas(dashboard, run="mlp")
    told = dashboard.get("colors")
    expect(told).to_have_attribute("data-value", "kind")
    told.click()
    dashboard.get("group-name").click()
    expect(told).to_have_attribute("data-value", "name")
    dashboard.page.keyboard.press("Escape")
    assert dashboard.state()["colors"] == "name"
    has_modules = result(dashboard, "timeline?run=mlp&width=1")["has_modules"]
    told.click()
    expect(dashboard.get("group-module")).to_be_enabled(enabled=has_modules)
    root = dashboard.inside.locator("html")
    dashboard.get("color-safe").check()
    expect(root).to_have_attribute("data-palette", "safe")
    dashboard.page.reload()
    expect(found).to_have_attribute("data-drawn", re.compile("[1-9]"), timeout=WAIT_MS)
    expect(told).to_have_attribute("data-value", "name")
    expect(root).to_have_attribute("data-palette", "safe")
