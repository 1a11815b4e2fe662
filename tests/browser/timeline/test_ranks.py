"""Several ranks below each other on the timeline: which, on what clock, and asked for no more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Request, expect

from tests.support import make, trace_files
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server, serve

TALK = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 1000,
        "Out msg nelems": 1000, "Group size": 40, "Process Group Name": "0"}  # fmt: skip
RANKS, SLOW, LONELY, EARLY_US = 40, 17, 5, 300


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """40 ranks: 17 comes last to every collective, 5 takes part in none, 2 starts earlier."""
    folder = tmp_path_factory.mktemp("ranks")
    for rank in range(RANKS):
        events: list[make.Event] = [make.op("early", 0, 5)] if rank == 2 else []
        late = EARLY_US if rank == 2 else 0
        for i in range(3):
            at = 1000.0 * i + late
            ready = at + 200 + 150 * (rank == SLOW)
            events += [
                make.step(i, at, at + 900), make.op("aten::mm", at + 10, at + 30, 2 * i + 1),
                make.frame("/workspace/net/model.py(12): forward", at + 5, at + 35),
                make.launch(at + 11, at + 12, 2 * i + 1),
                make.kernel("gemm", at + 40, ready, 2 * i + 1),
            ]  # fmt: skip
            if rank != LONELY:
                talk = make.kernel("ncclDevKernel_AllReduce", ready, at + 400, stream=20, **TALK)
                events.append(talk)
        told = {"backend": "nccl", "rank": rank, "world_size": RANKS}
        path = (
            folder / "r" / f"prof_{rank}.json"
        )  # torch-tb-profiler, if it is there, leaves it alone
        trace_files.write(path, make.document(*events, distributedInfo=told))
    return folder


@pytest.fixture(scope="module")
def many(log: Path) -> Iterator[Server]:
    with serve("--logdir", log) as server:
        yield server


def canvas(dashboard: Dashboard, **state: str | int) -> Locator:
    dashboard.open(view="timeline", **state)
    found = dashboard.get("timeline-canvas")
    expect(found).to_have_attribute("data-drawn", re.compile("[1-9]"), timeout=WAIT_MS)
    return found


def heads(dashboard: Dashboard) -> dict[str, str]:
    return dict(
        dashboard.get("rank-head").evaluate_all(
            "heads => heads.map(h => [h.dataset.rank, h.querySelector('span').textContent])"
        )
    )


def test_two_ranks_and_their_clocks(dashboard: Dashboard) -> None:
    canvas(dashboard, run="ddp", ranks="1")
    expect(dashboard.get("rank-head")).to_have_count(2, timeout=WAIT_MS)
    (row,) = dashboard.server.plugin("clock?run=ddp&only=0,1").json["rows"][1:]
    said = heads(dashboard)["1"]
    assert ("aligned" in said) == (row["shift_ns"] is not None)
    both = dashboard.inside.locator('[data-testid="track"][data-kind="device"]')
    one = dashboard.server.plugin("timeline?run=ddp&rank=1&width=1").json["tracks"]
    other = dashboard.server.plugin("timeline?run=ddp&rank=0&width=1").json["tracks"]
    expect(both).to_have_count(sum(t["kind"] == "device" for t in (*one, *other)))


def test_ranks_are_chosen_and_left(visit: Callable[[Server], Dashboard], many: Server) -> None:
    dashboard = visit(many)
    asked: set[str] = set()

    def note(request: Request) -> None:
        url = urlsplit(request.url)
        if url.path.endswith("/timeline"):
            asked.update(parse_qs(url.query)["rank"])

    dashboard.page.on("request", note)
    found = canvas(dashboard)
    assert asked == {"0"}
    expect(dashboard.get("rank-head")).to_have_count(0)
    dashboard.get("timeline-ranks").click()
    dashboard.get("find-ranks").fill("2")
    dashboard.get("choose-rank").check()
    expect(dashboard.get("rank-head")).to_have_count(2, timeout=WAIT_MS)
    assert dashboard.state()["ranks"] == "2"
    assert heads(dashboard)["2"].startswith("Rank 2: aligned")
    # The picture begins where its recording did.
    expect(found).to_have_attribute("data-start", re.compile(r"^-3[0-9]{5}$"))
    dashboard.get("find-ranks").fill("5")
    dashboard.get("choose-rank").check()
    expect(dashboard.get("rank-head")).to_have_count(3, timeout=WAIT_MS)
    assert "not aligned" in heads(dashboard)["5"]
    assert asked == {"0", "2", "5"}
    dashboard.page.keyboard.press("Escape")
    dashboard.page.reload()
    expect(dashboard.get("rank-head")).to_have_count(3, timeout=WAIT_MS)
    dashboard.get("rank-head").last.get_by_role("button").click()
    expect(dashboard.get("rank-head")).to_have_count(2)
    assert dashboard.state()["ranks"] == "2"


def test_the_slowest_are_found(visit: Callable[[Server], Dashboard], many: Server) -> None:
    dashboard = visit(many)
    canvas(dashboard)
    dashboard.get("timeline-ranks").click()
    dashboard.get("add-slowest").click()
    expect(dashboard.get("rank-head").nth(1)).to_have_attribute(
        "data-rank", str(SLOW), timeout=WAIT_MS
    )


def test_a_range_of_another_rank(visit: Callable[[Server], Dashboard], many: Server) -> None:
    dashboard = visit(many)
    canvas(dashboard, ranks="17", item="kernels:2@17")
    name = dashboard.get("details-name")
    links = many.plugin("links?rank=17&table=kernels&index=2").json
    expect(name).to_have_text(links["item"]["name"], timeout=WAIT_MS)
    expect(dashboard.get("timeline-details")).to_contain_text("rank 17")
    dashboard.get("to-operator").click()
    expect(name).to_have_text(links["operator"]["name"])
    assert dashboard.state()["item"] == f"ops:{links['operator']['index']}@17"
    # Its process was folded, as usual for further ranks.
    group = dashboard.inside.locator('[data-testid="group-head"][data-key="17/Process 1"]')
    expect(group).to_have_attribute("data-folded", "false")


def test_a_rank_that_is_not_there(visit: Callable[[Server], Dashboard], many: Server) -> None:
    dashboard = visit(many)
    dashboard.watch.expected.append("404")
    canvas(dashboard, ranks="77")
    expect(dashboard.get("rank-failed")).to_contain_text("77", timeout=WAIT_MS)
    expect(dashboard.get("rank-head")).to_have_count(0)
    canvas(dashboard, ranks="17,77")
    expect(dashboard.get("timeline-ranks")).to_have_attribute("data-value", "2")
    expect(dashboard.get("rank-head")).to_have_count(2, timeout=WAIT_MS)


def test_source_opens_in_the_chosen_editor(
    visit: Callable[[Server], Dashboard], many: Server
) -> None:
    dashboard = visit(many)
    links = many.plugin("links?table=kernels&index=0").json
    assert (links["where"]["file"], links["where"]["near_line"]) == ("/workspace/net/model.py", 12)
    canvas(dashboard, item="kernels:0")
    link = dashboard.get("open-in-editor")
    first = "vscode://file/workspace/net/model.py:12"
    expect(link).to_have_attribute("href", first, timeout=WAIT_MS)
    dashboard.get("editor-settings").click()
    dashboard.get("editor-template").fill("javascript:{path}")
    expect(dashboard.get("editor-save")).to_be_disabled()
    dashboard.get("editor-name").select_option("PyCharm")
    dashboard.get("editor-paths").fill("/workspace => /home/me")
    expect(dashboard.get("editor-example")).to_contain_text("/home/me/net/model.py")
    dashboard.get("editor-save").click()
    chosen = "pycharm://open?file=/home/me/net/model.py&line=12"
    expect(link).to_have_attribute("href", chosen)
    dashboard.page.reload()
    expect(link).to_have_attribute("href", chosen, timeout=WAIT_MS)


def test_a_heading_leaves_the_canvas_to_the_pointer(
    visit: Callable[[Server], Dashboard], many: Server
) -> None:
    dashboard = visit(many)
    found = canvas(dashboard, ranks="17")
    expect(dashboard.get("rank-head")).to_have_count(2, timeout=WAIT_MS)
    heading, picture = dashboard.get("rank-head").last.bounding_box(), found.bounding_box()
    assert heading
    assert picture
    assert heading["x"] + heading["width"] > picture["x"] + 300
    y = heading["y"] + heading["height"] / 2
    over = "([x, y]) => document.elementFromPoint(x, y).closest('[data-testid]').dataset.testid"
    told = [dashboard.frame.evaluate(over, [x, y]) for x in (heading["x"] + 20, picture["x"] + 20)]
    assert told == ["rank-head", "timeline-canvas"]
    mouse = dashboard.page.mouse
    mouse.move(picture["x"] + 40, y)
    mouse.down()
    mouse.move(picture["x"] + 240, y, steps=4)
    mouse.up()
    expect(dashboard.get("area-summary")).to_have_count(1)
