"""Record now: a running job is asked for a recording, which is opened."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.support import fake_job
from tests.support import logdir as made
from tests.support.axe import violations
from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.server import Server, serve

RANKS = 2


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server that may ask jobs, and a job of two ranks in its logdir."""
    logs = made.write(tmp_path_factory.mktemp("running"))
    source = tmp_path_factory.mktemp("source") / "trace.json"
    (first,) = (logs / "ddp").glob("host_0.*")
    # Each rank's trace names its rank by its file.
    trace = {k: v for k, v in json.loads(first.read_text()).items() if k != "distributedInfo"}
    source.write_text(json.dumps(trace))
    arguments = ("--logdir", logs, "--reload_interval", "1")
    allowed = {"TB_PRIVATEUSE1_RECORD": "on"}
    with fake_job.serving(logs / "job", source), serve(*arguments, variables=allowed) as server:
        yield server, logs


def test_a_recording_is_asked_for_and_opened(
    visit: Callable[[Server], Dashboard], running: tuple[Server, Path]
) -> None:
    dashboard = visit(running[0]).open(run="ddp", view="kernels")
    dashboard.shows("record-now")
    dashboard.get("record-now").focus()
    dashboard.page.keyboard.press("Enter")
    expect(dashboard.shows("record-about")).to_contain_text(f"job: {RANKS} processes")
    expect(dashboard.get("record-processes").locator("tbody tr")).to_have_count(RANKS)
    assert violations(dashboard) == []
    dashboard.get("record-steps").fill("2")
    dashboard.get("record-steps").press("Enter")
    progress = dashboard.shows("record-progress", done="true", written=RANKS)
    expect(progress).to_contain_text(f"{RANKS} of {RANKS} ranks written")
    link = dashboard.shows("record-open-new")
    assert violations(dashboard) == []
    link.click()
    expect(dashboard.get("record-dialog")).to_have_count(0)
    dashboard.shows("page-overview")
    dashboard.shows("run-picker", value="job")
    expect(dashboard.get("figure-utilization")).to_be_visible(timeout=WAIT_MS)


@pytest.fixture(scope="module")
def empty(
    running: tuple[Server, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server whose logdir has a job and no recording; it outlives the pages."""
    (source,) = (running[1] / "ddp").glob("host_0.*")
    logs = tmp_path_factory.mktemp("empty")
    arguments = ("--logdir", logs, "--reload_interval", "1")
    allowed = {"TB_PRIVATEUSE1_RECORD": "on"}
    with fake_job.serving(logs, source, 1), serve(*arguments, variables=allowed) as server:
        yield server


def test_the_first_recording_of_a_logdir(
    visit: Callable[[Server], Dashboard], empty: Server
) -> None:
    """The page around the dialog changes as soon as there is a run."""
    dashboard = visit(empty).open()
    dashboard.shows("empty")
    dashboard.get("record-open").click()
    dashboard.shows("record-form")
    dashboard.get("record-start").click()
    dashboard.shows("record-progress", done="true", written=1)
    dashboard.shows("run-picker")
    dashboard.shows("record-open-new").click()
    expect(dashboard.get("record-dialog")).to_have_count(0)
    dashboard.shows("figure-utilization")


def test_a_rank_that_does_not_run_is_refused_in_words(
    visit: Callable[[Server], Dashboard], running: tuple[Server, Path]
) -> None:
    dashboard = visit(running[0])
    dashboard.watch.expected.append("status of 404")
    dashboard.open(run="ddp", view="recording")
    dashboard.get("record-open").click()
    dashboard.shows("record-form")
    dashboard.get("record-ranks").fill("7")
    dashboard.get("record-start").click()
    refused = dashboard.shows("record-refused", code="record_no_rank")
    expect(refused).to_contain_text("No running process has rank 7")
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("record-dialog")).to_have_count(0)
    expect(dashboard.get("record-open")).to_be_focused()


def test_without_the_permission_there_is_help_only(dashboard: Dashboard) -> None:
    dashboard.open(run="ddp", view="recording")
    dashboard.get("record-open").click()
    expect(dashboard.shows("record-off")).to_contain_text("TB_PRIVATEUSE1_RECORD=on")
    expect(dashboard.get("record-now")).to_have_count(0)
