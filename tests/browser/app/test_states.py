"""What stands where a result is not: empty, unreadable, on its way, out of reach. And markup."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import logdir as made
from tests.support import make
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.held_server import waiting_for
from tests.support.server import Server, serve

ROOT = Path(__file__).parents[3]
MARKUP = "<img src=x onerror=alert(1)>"
OPERATORS = 10
CUT_OFF = "ERR_(CONNECTION_(REFUSED|RESET)|EMPTY_RESPONSE|CONTENT_LENGTH_MISMATCH)"
"""What the page still asks for when the server ends is cut off in one way or another."""


def test_an_unreadable_trace_says_why(dashboard: Dashboard) -> None:
    dashboard.watch.expected.append("status of 422")
    told = dashboard.server.plugin("overview?run=unreadable").json["error"]
    dashboard.open(run="unreadable")
    error = dashboard.shows("error", code=told["code"], status=422)
    expect(error).to_contain_text(told["message"])
    expect(error).to_contain_text(told["hint"])
    dashboard.get("retry").click()
    dashboard.shows("error", code=told["code"])
    dashboard.pick("run", "ddp")  # the others are not affected
    dashboard.shows("figure-utilization")


@pytest.fixture(scope="module")
def growing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server, as of all modules, outlives the pages: what they still ask for is answered."""
    logs = tmp_path_factory.mktemp("growing")
    with serve("--logdir", logs, "--reload_interval", "1") as server:
        yield server, logs


def test_an_empty_logdir_explains_itself_until_there_is_a_trace(
    visit: Callable[[Server], Dashboard], growing: tuple[Server, Path]
) -> None:
    server, logs = growing
    dashboard = visit(server).open()
    empty = dashboard.shows("empty")
    expect(empty).to_contain_text(f"No traces in {logs} yet")
    expect(empty).to_contain_text("capture.tensorboard_trace_handler")
    made.write(logs)
    dashboard.shows("figure-utilization")
    dashboard.shows("run-picker", value="ddp")


def test_a_timeline_without_tracks_does_not_blame_its_filter(
    visit: Callable[[Server], Dashboard], tmp_path: Path
) -> None:
    (tmp_path / "nothing_1.1.pt.trace.json").write_text('{"traceEvents": []}')
    with serve("--logdir", tmp_path) as server:
        dashboard = visit(server).open(view="timeline")
        only = dashboard.get("only-tracks")
        expect(only).to_have_attribute("aria-invalid", "false", timeout=WAIT_MS)
        dashboard.watch.expected.append(CUT_OFF)


def test_a_server_that_went_away(visit: Callable[[Server], Dashboard], logdir: Path) -> None:
    with serve("--logdir", logdir) as server:
        dashboard = visit(server).open(run="ddp")
        dashboard.shows("figure-utilization")
        dashboard.watch.expected.append(CUT_OFF)
    dashboard.go_to("kernels")
    expect(dashboard.shows("error", code="network")).to_contain_text("cannot be reached")
    expect(dashboard.get("retry")).to_be_visible()


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server, and a folder with a file for each run whose reading waits."""
    folder, held = tmp_path_factory.mktemp("slow"), tmp_path_factory.mktemp("held")
    operators = [make.op("aten::mm", 2 * i, 2 * i + 1) for i in range(OPERATORS)]
    for name in ("slow", "slower", "slowest"):
        (held / name).touch()
        (folder / name).mkdir()
        trace = make.document(*operators, made_for=name)
        # Not as torch names it: torch-tb-profiler, if it is there, would read it too.
        (folder / name / "trace.json").write_text(json.dumps(trace))
    with serve("--logdir", folder, before=waiting_for(held), cwd=ROOT) as server:
        yield server, held


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A trace whose every name is markup."""
    folder = tmp_path_factory.mktemp("odd")
    events = [
        make.annotation(f"ProfilerStep#7{MARKUP}", 0, 100),
        make.op(MARKUP, 0, 50, id=1, **{"Input Dims": [[MARKUP]]}),
        make.launch(5, 10, 1),
        make.kernel(MARKUP, 20, 60, 1),
    ]
    about = {"name": MARKUP, "id": 0}
    trace = make.document(*events, deviceProperties=[about], hostname=MARKUP)
    name = MARKUP.replace("/", "")
    (folder / name).mkdir()
    (folder / name / f"{name}.1700000000000.pt.trace.json").write_text(json.dumps(trace))
    (folder / f"cut {name}").mkdir()
    (folder / f"cut {name}" / f"{name}.pt.trace.json").write_text('{"traceEvents": [')
    with serve("--logdir", folder) as server:
        yield server


def test_names_are_text_never_markup(visit: Callable[[Server], Dashboard], odd: Server) -> None:
    dashboard = visit(odd)
    dashboard.watch.expected.append("status of 422")
    dashboard.open(run=MARKUP)
    for view in ("overview", "operators", "kernels", "recording"):
        dashboard.go_to(view)
        page = dashboard.shows(f"page-{view}")
        expect(page.get_by_text(MARKUP).first).to_be_visible(timeout=WAIT_MS)
        assert dashboard.inside.locator("img").count() == 0
    dashboard.get("run-picker").click()
    expect(dashboard.get("run-picker-panel").get_by_text(MARKUP).first).to_be_visible()
    dashboard.page.keyboard.press("Escape")
    dashboard.pick("run", f"cut {MARKUP}")
    expect(dashboard.shows("error")).to_contain_text(MARKUP)
    assert dashboard.inside.locator("img").count() == 0


def test_progress_while_a_trace_is_read(
    visit: Callable[[Server], Dashboard], slow: tuple[Server, Path]
) -> None:
    server, held = slow
    dashboard = visit(server).open(run="slow")
    dashboard.shows("progress", phase="reading")
    expect(dashboard.get("progress")).to_contain_text("MiB of")
    (held / "slow").unlink()
    dashboard.shows("figure-duration_ns")
    expect(dashboard.get("progress")).to_have_count(0)
    assert dashboard.figure("duration_ns") == (2 * OPERATORS - 1) * 1000


def test_reading_can_be_canceled_and_begun_again(
    timed: Callable[[Server], Dashboard], slow: tuple[Server, Path]
) -> None:
    server, held = slow
    dashboard = timed(server)
    dashboard.watch.expected.append("status of 409")
    dashboard.open(run="slower", view="operators")
    dashboard.shows("progress", phase="reading")
    dashboard.get("cancel").focus()
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.shows("canceled")).to_contain_text("Reading was canceled")
    expect(dashboard.get("progress")).to_have_count(0)
    asked: list[str] = []
    dashboard.page.on("request", lambda request: asked.append(request.url))
    dashboard.page.clock.run_for(10_000)
    assert dashboard.get("canceled").count() == 1
    assert [url for url in asked if "/operators?" in url] == []  # the page does not ask again
    dashboard.go_to("kernels")
    dashboard.shows("canceled")
    dashboard.go_to("operators")
    (held / "slower").unlink()
    dashboard.get("retry").click()
    dashboard.shows("table-operators")
    assert [url for url in asked if "/operators?" in url]
    dashboard.go_to("overview")
    dashboard.shows("figure-duration_ns")


def test_others_hear_that_it_was_canceled(
    visit: Callable[[Server], Dashboard], slow: tuple[Server, Path]
) -> None:
    server, _ = slow
    dashboard = visit(server)
    dashboard.watch.expected.append("status of 409")
    dashboard.open(run="slowest")
    dashboard.shows("progress", phase="reading")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.plugin, "overview?run=slowest")
        answer = server.plugin("cancel?run=slowest", method="POST")
        assert (answer.status, answer.json) == (200, {"canceled": True})
        while not asked.done():  # it may have come after that
            server.plugin("cancel?run=slowest", method="POST")
        heard = asked.result()
        assert (heard.status, heard.json["error"]["code"]) == (409, "canceled")
