"""The recording page, findings beside the figures they affect, and an event's record as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support import make
from tests.support.axe import settled
from tests.support.dashboard import Dashboard, number
from tests.support.quality import sound
from tests.support.server import Server, serve

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def doubtful(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A sound trace, and one with an activity of no launch and a name that is markup."""
    folder = tmp_path_factory.mktemp("doubtful")
    odd = [make.kernel(MARKUP, 50, 90, note=MARKUP), make.step(2, 95, 200)]
    for name, events in (("odd", [*sound(), *odd]), ("sound", sound())):
        path = folder / name / f"{name}.1700000000000.pt.trace.json"
        path.parent.mkdir()
        path.write_text(json.dumps(make.document(*events, token="s3cret")))
    with serve("--logdir", folder) as server:
        yield server


def test_findings_are_ranked_with_examples(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful).open(run="odd", view="recording")
    now = doubtful.plugin("quality?run=odd").json
    for name in ("errors", "warnings", "notes", "linked_share", "unlinked_ns", "events"):
        assert dashboard.figure(name) == now[name], name
    rows = dashboard.shows("table-findings", rows=len(now["rows"])).locator("tbody tr")
    codes = rows.evaluate_all("rows => rows.map(r => [r.dataset.code, r.dataset.severity])")
    assert codes == [[row["code"], row["severity"]] for row in now["rows"]]
    assert codes[0] == ["unlinked_activities", "warning"]
    assert number(rows.first.get_attribute("data-value") or "") == 1
    categories = dashboard.get("categories").locator("tr[data-key]")
    found = categories.evaluate_all("rows => rows.map(r => [r.dataset.key, +r.dataset.value])")
    assert found == [[c["name"], c["events"]] for c in now["categories"]]
    expect(dashboard.get("findings-badge")).to_contain_text("warnings")
    expect(dashboard.get("findings-badge")).to_have_attribute("data-severity", "warning")


def test_sections_are_links_and_what_is_empty_is_not_there(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful).open(run="odd", view="recording")
    dashboard.page.set_viewport_size({"width": 1024, "height": 500})
    dashboard.shows("categories")
    links = dashboard.get("sections").get_by_role("link")
    expect(links).to_have_text(["What was recorded", "Quality", "About this trace"])
    expect(dashboard.get("files")).not_to_be_in_viewport()
    dashboard.get("section-about").click()
    expect(dashboard.get("files")).to_be_in_viewport()
    expect(dashboard.get("section-about")).to_have_attribute("aria-current", "location")
    assert dashboard.state()["section"] == "about"
    dashboard.get("figure-errors").scroll_into_view_if_needed()
    dashboard.get("section-about").click()
    expect(dashboard.get("files")).to_be_in_viewport()
    expect(dashboard.get("device-facts")).to_have_count(1)
    dashboard.open(run="sound", view="recording").shows("nothing-found")
    expect(dashboard.get("table-findings")).to_have_count(0)


@pytest.mark.parametrize(
    ("view", "testid"),
    [("quality", "table-findings"), ("about", "files"), ("method", "device-times")],
)
def test_an_old_link_opens_its_section(
    visit: Callable[[Server], Dashboard], doubtful: Server, view: str, testid: str
) -> None:
    dashboard = visit(doubtful).open(run="odd", view=view)
    dashboard.shows("page-recording")
    expect(dashboard.shows(testid)).to_be_in_viewport()
    dashboard.go_to("kernels")
    dashboard.shows("page-kernels")
    assert "section" not in dashboard.state()


def test_doubts_stand_beside_the_figures_and_lead_to_their_finding(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful).open(run="odd")
    dashboard.shows("doubts-steps", code="unlinked_activities", severity="warning")
    assert settled(dashboard).get("doubts-totals").count() == 0
    for view in ("operators", "kernels"):
        dashboard.go_to(view)
        doubts = dashboard.shows(f"doubts-{view}", code="unlinked_activities")
        expect(doubts).to_contain_text("1 of 3 device activities")
    doubts.get_by_role("link").press("Enter")
    chosen = dashboard.shows("page-recording").locator("tr.selected")
    expect(chosen).to_have_attribute("data-code", "unlinked_activities")
    assert dashboard.state()["filter"] == "unlinked_activities"
    dashboard.pick("run", "sound")
    dashboard.shows("nothing-found")
    for view in ("overview", "operators", "kernels", "memory"):
        dashboard.go_to(view)
        dashboard.shows(f"page-{view}")
        assert settled(dashboard).inside.locator(".doubts").count() == 0


def test_an_example_opens_its_record(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful).open(run="odd", view="recording")
    example = dashboard.get("example").first
    expect(example).to_have_text(MARKUP)
    example.press("Enter")
    record = dashboard.shows("record", event="kernels/2")
    expect(dashboard.get("record-name")).to_contain_text(MARKUP)
    record.get_by_test_id("part-record").locator("summary").click()
    expect(record.locator("pre")).to_contain_text(f'"note": "{MARKUP}"')
    expect(record).not_to_contain_text("s3cret")
    assert dashboard.inside.locator("img").count() == 0
    assert dashboard.state()["event"] == "kernels/2"
    dashboard.page.keyboard.press("Escape")
    expect(record).to_have_count(0)
    assert "event" not in dashboard.state()
    dashboard.page.go_back()
    expect(record).to_have_count(1)


def test_a_row_opens_its_calls_and_links_go_on(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful).open(run="odd", view="kernels")
    table = dashboard.get("table-kernels")
    table.locator('tr[data-key="kernel gemm aten::mm"] td[data-column="total_ns"]').click()
    typical = dashboard.shows("typical", value=0)
    typical.get_by_test_id("part-record").locator("summary").click()
    expect(typical.locator("pre")).to_be_visible()
    shown = json.loads(typical.locator("pre").inner_text())
    assert shown == make.kernel("gemm", 5, 30, 7)
    typical.get_by_test_id("to-operator").click()
    expect(dashboard.get("record-name")).to_contain_text("aten::mm")
    record = dashboard.shows("record", event="ops/1")
    dashboard.get("record-close").click()
    expect(record).to_have_count(0)
    grid = table.get_by_role("grid")
    grid.focus()
    grid.press("ArrowDown")
    grid.press("Enter")
    dashboard.shows("typical", value=2)


def test_a_record_that_is_not_there_says_so(
    visit: Callable[[Server], Dashboard], doubtful: Server
) -> None:
    dashboard = visit(doubtful)
    dashboard.watch.expected.append("status of 40[04]")
    dashboard.open(run="odd", event="kernels/99")
    expect(dashboard.shows("record").get_by_test_id("error")).to_contain_text("no row 99")
    dashboard.open(run="odd", event="meta")
    expect(dashboard.shows("record").get_by_test_id("error")).to_contain_text("table must be")


def test_an_inferred_activity_names_its_operator(dashboard: Dashboard) -> None:
    dashboard.open(run="mlp", event="kernels/0")
    dashboard.get("part-record").locator("summary").click()
    told = dashboard.shows("no-record")
    expect(told).to_contain_text("inferred, so no file has a record of it")
    told.get_by_role("link").click()
    expect(dashboard.get("record").locator("pre")).to_contain_text('"cat": "cpu_op"')
