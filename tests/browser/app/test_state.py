"""The address is the state: pickers, reload, Back, dark mode, and pages opened alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.support.axe import settled
from tests.support.dashboard import ALONE, WAIT_MS, Dashboard
from tests.support.server import Server, serve


@pytest.fixture
def hosted() -> bool:
    """The address, the theme and other tabs are TensorBoard's."""
    return True


def test_every_picker_writes_the_address(dashboard: Dashboard) -> None:
    dashboard.open()
    dashboard.shows("run-picker", value="ddp")
    dashboard.pick("rank", 1)
    dashboard.shows("rank-picker", value=1)
    assert dashboard.state() == {"rank": "1"}
    dashboard.pick("step", 2)
    dashboard.shows("step-picker", value=2)
    assert dashboard.state() == {"rank": "1", "step": "2"}
    dashboard.pick("rank", 0)
    dashboard.shows("rank-picker", value=0)
    assert dashboard.state() == {"rank": "0", "step": "2"}
    dashboard.pick("run", "mlp")
    dashboard.shows("run-picker", value="mlp")
    assert dashboard.state() == {"run": "mlp"}  # another run has other ranks and steps
    dashboard.shows("span-picker", value=2)
    dashboard.pick("span", 1)
    dashboard.shows("span-picker", value=1)
    dashboard.shows("account")
    expect(dashboard.get("steps")).to_have_count(0)  # one step compares nothing
    assert dashboard.state() == {"run": "mlp", "span": "1"}


def test_the_run_picker_searches(dashboard: Dashboard) -> None:
    dashboard.open()
    dashboard.get("run-picker").click()
    options = dashboard.get("run-picker-panel").locator("li")
    expect(options).to_have_count(4)
    dashboard.get("run-picker-search").fill("ml")
    expect(options).to_have_count(1)
    dashboard.get("run-picker-search").press("Enter")
    dashboard.shows("run-picker", value="mlp")
    expect(dashboard.get("run-picker-panel")).to_have_count(0)


def test_reload_keeps_everything(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="operators", span=2, step=11, sort="-calls", filter="mm")
    before = dashboard.rows("operators")
    state = dashboard.state()
    dashboard.page.reload()
    assert dashboard.rows("operators") == before
    assert dashboard.state() == state
    dashboard.shows("step-picker", value=11)
    expect(dashboard.get("filter")).to_have_value("mm")


def test_back_and_forward(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="operators")
    dashboard.get("tab-kernels").click()
    dashboard.shows("page-kernels")
    dashboard.pick("rank", 1)
    dashboard.shows("rank-picker", value=1)
    dashboard.page.go_back()
    dashboard.shows("rank-picker", value=0)
    dashboard.shows("page-kernels")
    dashboard.page.go_back()
    dashboard.shows("page-operators")
    dashboard.page.go_forward()
    dashboard.shows("page-kernels")


_HELD = """() => {
    // What the page puts off comes at the worst moment: right after Back.
    const held = new Map(), set = window.setTimeout, clear = window.clearTimeout;
    window.setTimeout = (run, ms, ...rest) => {
        if (ms !== 250 && ms !== 300) return set(run, ms, ...rest);
        const id = -1 - held.size;
        held.set(id, run);
        return id;
    };
    window.clearTimeout = (id) => held.delete(id) || clear(id);
    window.parent.addEventListener("popstate", () => {
        set(() => { window.due = held.size; held.forEach((run) => run()); }, 0);
    });
    window.held = held;
}"""


@pytest.mark.parametrize(("view", "late"), [("timeline", "d"), ("kernels", "/")])
def test_what_settles_late_is_not_written_where_back_leads(
    dashboard: Dashboard, view: str, late: str
) -> None:
    dashboard.open(run="mlp", view="operators", filter="mm")
    dashboard.rows("operators")
    dashboard.go_to(view)
    dashboard.shows(f"page-{view}")
    dashboard.shows("timeline-canvas") if view == "timeline" else dashboard.rows(view)
    dashboard.frame.evaluate(_HELD)
    dashboard.page.keyboard.press(late)
    if view == "kernels":
        dashboard.page.keyboard.type("gemm")
    dashboard.frame.wait_for_function("() => window.held.size > 0")
    dashboard.page.go_back()
    dashboard.shows("page-operators")
    dashboard.frame.wait_for_function("() => window.due !== undefined")
    assert dashboard.state() == {"run": "mlp", "view": "operators", "filter": "mm"}
    expect(dashboard.get("filter")).to_have_value("mm")


def test_another_tab_and_back(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", view="kernels")
    dashboard.rows("kernels")
    state = dashboard.state()
    dashboard.page.evaluate("location.hash = '#timeseries'")
    expect(dashboard.get("page-kernels")).not_to_be_in_viewport()
    dashboard.page.go_back()
    dashboard.shows("page-kernels")
    dashboard.shows("run-picker", value="mlp")
    assert dashboard.state() == state


def test_keys(dashboard: Dashboard) -> None:
    """From the first moment: until a click, the focus is on TensorBoard's own page."""
    dashboard.open(run="ddp")
    dashboard.shows("page-overview")
    dashboard.page.keyboard.press("g")
    dashboard.page.keyboard.press("k")
    dashboard.shows("page-kernels")
    dashboard.rows("kernels")
    dashboard.page.keyboard.press("/")
    expect(dashboard.get("filter")).to_be_focused()
    dashboard.page.keyboard.type("gemm_1")
    expect(dashboard.get("table-kernels")).to_have_attribute("data-shown", "1")
    dashboard.page.keyboard.press("Escape")
    dashboard.page.keyboard.press("Escape")
    dashboard.page.set_viewport_size({"width": 1400, "height": 500})
    dashboard.page.keyboard.press("?")
    expect(dashboard.get("help")).to_be_visible()
    top = "e => [e.scrollHeight > e.clientHeight, e.scrollTop]"
    assert dashboard.get("help").evaluate(top) == [True, 0]
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("help")).to_have_count(0)


def test_dark_mode_follows_the_host_at_once(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp")
    dashboard.shows("figure-utilization")
    page = dashboard.inside.locator("html")

    def background() -> str:
        color: str = dashboard.frame.evaluate("getComputedStyle(document.body).backgroundColor")
        return color

    expect(page).to_have_attribute("data-theme", "light")
    light = background()
    dashboard.dark(True)
    assert background() != light
    dashboard.dark(False)
    assert background() == light


@pytest.mark.parametrize(
    ("view", "more", "canvas"),
    [
        ("timeline", {}, ".timeview canvas"),
        ("flame", {}, ".flame canvas"),
        ("distributed", {"run": "ddp"}, ".heatmap canvas"),
    ],
)
def test_a_canvas_is_drawn_again_in_the_dark(
    dashboard: Dashboard, view: str, more: dict[str, str], canvas: str
) -> None:
    settled(dashboard.open(**{"run": "mlp", "view": view, **more}))
    dashboard.inside.locator(canvas).first.wait_for()
    picture = f"document.querySelector('{canvas}').toDataURL()"
    light = dashboard.frame.evaluate(picture)
    for dark in (True, False):
        dashboard.dark(dark)
        dashboard.frame.wait_for_function(
            f"([light, same]) => ({picture} === light) === same", arg=[light, not dark]
        )


@pytest.mark.parametrize(
    ("place", "code", "says"),
    [
        ({"run": "gone"}, "unknown_run", "There is no run gone"),
        ({"run": "ddp", "rank": 9}, "unknown_rank", "There is no rank 9"),
        ({"run": "mlp", "span": 9}, "unknown_span", "There is no span 9"),
    ],
)
def test_a_link_to_what_is_gone(
    dashboard: Dashboard, place: dict[str, str | int], code: str, says: str
) -> None:
    dashboard.watch.expected.append("status of 404")
    dashboard.open(**place)
    expect(dashboard.shows("error", code=code, status=404)).to_contain_text(says)
    dashboard.get("default-trace").click()
    dashboard.shows("figure-utilization")
    assert dashboard.state() == {}


@pytest.fixture(scope="module")
def prefixed(logdir: Path) -> Iterator[Server]:
    with serve("--logdir", logdir, "--path_prefix", "/some/where") as server:
        yield server


def test_below_a_path_prefix(visit: Callable[[Server], Dashboard], prefixed: Server) -> None:
    dashboard = visit(prefixed)
    dashboard.watch.expected.append("404 .*/font-roboto/")  # TensorBoard's own
    dashboard.open(run="mlp", view="operators", step=10)
    assert dashboard.rows("operators")
    now = prefixed.plugin("operators?run=mlp&step=10").json
    assert len(dashboard.rows("operators")) == len(now["rows"])
    dashboard.go_to("overview")
    account = prefixed.plugin("overview?run=mlp&step=10").json["account"]
    assert dashboard.busy_ns() == account["window_ns"] - account["idle_ns"]


def test_opened_alone(visit: Callable[[Server], Dashboard], prefixed: Server) -> None:
    """Without TensorBoard's frame: the address is the page's own."""
    dashboard = visit(prefixed)
    dashboard.watch.expected.append("404 .*/favicon.ico")
    page = dashboard.page
    alone = prefixed.url + ALONE
    page.goto(f"{alone}#p.privateuse1.run=mlp")
    picker = page.get_by_test_id("run-picker")
    expect(picker).to_have_attribute("data-value", "mlp", timeout=WAIT_MS)
    page.get_by_test_id("rail-time").click()
    page.get_by_test_id("tab-kernels").click()
    expect(page.get_by_test_id("table-kernels")).to_be_visible(timeout=WAIT_MS)
    assert "p.privateuse1.view=kernels" in page.url
    page.locator("[data-filter]").fill("gemm")
    page.wait_for_url("**&p.privateuse1.filter=gemm")
    assert page.url.startswith(f"{alone}#")
    page.reload()
    expect(page.locator("[data-filter]")).to_have_value("gemm", timeout=WAIT_MS)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="dark", media="print")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.emulate_media(color_scheme="dark", media="null")


def answer_runs(page: Page, **first: Any) -> list[Route]:
    """Change the first answer of which runs there are; the second waits in the list returned."""
    waiting: list[Route] = []
    asked = False

    def answer(route: Route) -> None:
        nonlocal asked
        if asked:
            waiting.append(route)
            return
        asked = True
        response = route.fetch()
        route.fulfill(response=response, json={**response.json(), **first})

    page.route("**/plugin/privateuse1/runs*", answer)
    return waiting


def test_a_trace_is_shown_once_it_is_listed(dashboard: Dashboard) -> None:
    """Before, nobody knows its latest span."""
    waiting = answer_runs(dashboard.page, runs=[], scanning=True)
    dashboard.open(run="mlp", view="kernels")
    dashboard.shows("scanning")
    while not waiting:
        dashboard.page.wait_for_timeout(50)
    waiting.pop().continue_()
    dashboard.shows("span-picker", value=2)
    dashboard.shows("table-kernels")


def test_what_is_typed_stays_when_the_trace_is_listed_anew(dashboard: Dashboard) -> None:
    """Its device times were found beside it, or it was written again."""
    runs = dashboard.server.plugin("runs").json["runs"]
    earlier = json.loads(json.dumps(runs).replace('"bytes": ', '"bytes": 1'))
    assert earlier != runs
    waiting = answer_runs(dashboard.page, runs=earlier, scanning=True)
    dashboard.open(run="mlp", view="kernels")
    field = dashboard.inside.locator("[data-filter]")
    field.fill("gemm")
    field.evaluate("field => { field.dataset.same = 'yes'; }")
    while not waiting:
        dashboard.page.wait_for_timeout(50)
    with dashboard.page.expect_response(lambda answer: "/kernels?" in answer.url):
        waiting.pop().continue_()
    dashboard.rests()
    expect(field).to_have_attribute("data-same", "yes")
    expect(field).to_have_value("gemm")
    dashboard.page.wait_for_url("**filter=gemm*")


def test_a_letter_alone_leads_nowhere_on_a_page_that_was_just_loaded(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp").shows("page-overview")
    dashboard.frame.evaluate("() => { performance.now = () => 200; }")  # ms since it was loaded
    dashboard.get("account").click()
    dashboard.page.keyboard.press("d")
    dashboard.page.keyboard.press("k")
    dashboard.page.wait_for_timeout(300)
    dashboard.shows("page-overview")
    dashboard.page.keyboard.press("g")
    dashboard.page.keyboard.press("k")
    dashboard.shows("page-kernels")
