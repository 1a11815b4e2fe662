"""Recordings that once made an internal error, and what they answer now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.cli import main
from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tests.support.shared_traces import FOLDER

REPRO = FOLDER.parent / "repro"
pytestmark = pytest.mark.skipif(not REPRO.is_dir(), reason="needs the recordings of old errors")


def answer(capfd: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """Return the JSON of a command that succeeds."""
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("view", ["advice", "roofline", "overview"])
def test_a_device_whose_number_is_a_list(view: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(capfd, "view", view, REPRO / "device_id_list")["provenance"]


def test_it_is_compared(capfd: pytest.CaptureFixture[str]) -> None:
    found = answer(capfd, "diff", REPRO / "device_id_list", REPRO / "device_id_list")
    assert found["rows"]


@pytest.mark.parametrize("view", ["overview", "history"])
def test_backward_passes_without_a_step(view: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert answer(capfd, "view", view, REPRO / "passes_without_steps")["provenance"]


@pytest.mark.parametrize("view", ["distributed", "clock"])
def test_a_clock_far_from_its_dump(view: str, capfd: pytest.CaptureFixture[str]) -> None:
    """One rank's impossible time takes its own figures only."""
    assert len(answer(capfd, "view", view, REPRO / "recorder_overflow/run")["rows"]) == 2


def test_a_record_with_half_a_character(capfd: pytest.CaptureFixture[str]) -> None:
    run = REPRO / "event_surrogate/run"
    assert "\\ud" in json.dumps(answer(capfd, "event", run, "--table", "ops", "--row", "2"))


def test_a_link_to_itself(tmp_path: Path) -> None:
    """The other runs are listed."""
    run = tmp_path / "good"
    run.mkdir()
    trace = next((REPRO / "device_id_list").glob("*.json"))
    (run / trace.name).write_bytes(trace.read_bytes())
    (run / "self").symlink_to("self")
    (tmp_path / "loop").symlink_to("loop")
    found = catalog.scan(str(tmp_path), READERS).runs
    assert [one.run for one in found.runs] == ["good"]
