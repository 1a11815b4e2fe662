"""The Export menu: files of the whole recording or what is shown, and Perfetto's own pages."""

from __future__ import annotations

import gzip
import zipfile

from playwright.sync_api import expect

from tests.support.dashboard import WAIT_MS, Dashboard
from tests.support.perfetto_file import parse
from tests.support.timeline_canvas import canvas

LOADING_MS = 90_000


def test_files_of_all_and_of_what_is_shown(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp", range="0..1000")
    dashboard.get("export").click()
    with dashboard.page.expect_download(timeout=WAIT_MS) as download:
        dashboard.get("export-perfetto").click()
    assert download.value.suggested_filename.endswith(".perfetto-trace.gz")
    whole = parse(gzip.decompress(download.value.path().read_bytes()))
    dashboard.get("group-shown").click()
    with dashboard.page.expect_download(timeout=WAIT_MS) as download:
        dashboard.get("export-perfetto").click()
    shown = parse(gzip.decompress(download.value.path().read_bytes()))
    assert 0 < len(shown.slices) < len(whole.slices)
    with dashboard.page.expect_download(timeout=WAIT_MS) as download:
        dashboard.get("export-csv").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert "ops.csv" in archive.namelist()
    dashboard.page.keyboard.press("Escape")
    expect(dashboard.get("export-panel")).to_have_count(0)


def test_the_pages_on_this_server_show_the_trace(dashboard: Dashboard) -> None:
    """Offline: nothing is asked of another host, which the pages' policy forbids."""
    canvas(dashboard, run="ddp")
    dashboard.get("export").click()
    expect(dashboard.get("perfetto-public")).to_be_visible(timeout=WAIT_MS)
    with dashboard.page.context.expect_page() as opened:
        dashboard.get("perfetto-bundled").click()
    pages = opened.value
    expect(dashboard.get("perfetto-state")).to_have_text("It has the trace.", timeout=LOADING_MS)
    expect(pages.get_by_text("GPU", exact=True).first).to_be_visible(timeout=LOADING_MS)
    expect(pages.get_by_text("ddp rank 0", exact=False).first).to_be_visible()
    assert pages.url.startswith(dashboard.server.url.rstrip("/"))
    pages.close()


def test_a_blocked_window_is_said(dashboard: Dashboard) -> None:
    canvas(dashboard, run="mlp")
    dashboard.get("export").click()
    dashboard.frame.evaluate("window.open = () => null")
    dashboard.get("perfetto-public").click()
    expect(dashboard.get("perfetto-state")).to_contain_text("Allow pop-ups")
