"""Every page of every format shows something, or says what the format lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.support import every_format
from tests.support.axe import violations
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.page_states import PAGES, each_page
from tests.support.repeats import sampled
from tests.support.server import Server, serve

FORMATS = (
    "ascend_database", "ascend_folder", "nsight", "rocprof", "rocprof_json", "snapshot",
    "snapshot_beside", "execution_trace", "perfetto", "memory_timeline", "flight_recorder",
    "flight_recorder_beside",
)  # fmt: skip
_OF_MEMORY = ("timeline", "memory", "counters", "distributed", "diff", "history", "recording",
              "sql")  # fmt: skip
PARTIAL = {
    "snapshot": _OF_MEMORY,
    "memory_timeline": _OF_MEMORY,
    "flight_recorder": ("timeline", "distributed", "diff", "history", "recording", "sql"),
}
"""The pages that show something of a recording without a trace; the others say what it lacks."""
SHOWN = ", ".join(f"{tag}:visible" for tag in ("h2", "p", "table", "canvas", "svg", "textarea"))


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    logs = every_format.write(tmp_path_factory.mktemp("formats"))
    with serve("--logdir", logs) as server:
        yield server


@pytest.mark.long
@pytest.mark.parametrize("run", sampled(FORMATS))
def test_every_page_opens(visit: Callable[[Server], Dashboard], formats: Server, run: str) -> None:
    dashboard = visit(formats)
    for page in each_page(dashboard, run, base=run):
        expect(dashboard.get("error")).to_have_count(0)
        expect(dashboard.get(f"page-{page}").locator(SHOWN).first).to_be_visible(timeout=WAIT_MS)
        if page not in PARTIAL.get(run, PAGES):
            dashboard.shows("partial-recording")


@pytest.mark.parametrize("run", PARTIAL)
def test_a_recording_without_a_trace_advises_no_other_capture(
    visit: Callable[[Server], Dashboard], formats: Server, run: str
) -> None:
    dashboard = visit(formats).open(run=run, view="recording")
    hint = dashboard.shows("refused").get_by_role("listitem")
    expect(hint).to_have_count(1)
    assert (hint.get_attribute("data-code") or "").endswith("_alone")
    for absent in ("advice", "no-advice", "recording"):
        expect(dashboard.get(absent)).to_have_count(0)
    assert violations(dashboard) == []


def test_a_hang_names_the_rank_that_did_not_join(
    visit: Callable[[Server], Dashboard], formats: Server
) -> None:
    dashboard = visit(formats).open(run="flight_recorder")
    dashboard.shows("partial-recording").get_by_role("link").click()
    page = dashboard.shows("page-distributed")
    expect(page).to_contain_text("Rank 1 did not join")
    assert violations(dashboard) == []


def test_a_snapshot_leads_to_its_memory_by_line(
    visit: Callable[[Server], Dashboard], formats: Server
) -> None:
    dashboard = visit(formats).open(run="snapshot")
    link = dashboard.shows("partial-recording").get_by_role("link")
    assert violations(dashboard) == []
    link.click()
    rows = dashboard.rows("alive-functions")
    assert violations(dashboard) == []
    assert any("model0.py" in row["function"] for row in rows.values())
    dashboard.get("page-memory").get_by_role("button", name="Not freed").click()
    assert any("model0.py" in row["name"] for row in dashboard.rows("memory-remaining").values())
