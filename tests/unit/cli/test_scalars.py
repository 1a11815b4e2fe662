"""``scalars`` on the command line: event files beside the traces or in another folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tb_privateuse1 import cli
from tests.support import make
from tests.support.trace_files import trace, write


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two recordings of a run, and one of another that has no steps."""
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "log"
    for span in (1, 2):
        path = trace(folder / "a" / f"host_0.{span}.pt.trace.json", rank=0)
        os.utime(path, (1_700_000_000 + span, 1_700_000_000 + span))
    write(folder / "b" / "host_0.1.pt.trace.json", make.document(make.op("aten::mm", 1, 2)))
    return folder


def scalars(folder: Path) -> dict[str, list[tuple[float, int, float]]]:
    """Wall time, step and value by tag, as TensorBoard reads them."""
    found = EventAccumulator(str(folder)).Reload()
    return {
        tag: [(event.wall_time, event.step, event.value) for event in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }


@pytest.mark.long
def test_scalars_are_beside_the_traces(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scalars", str(log)]) == 0
    assert capsys.readouterr().out == "2 scalars of 3 recordings\n"
    times = scalars(log / "a")["profiler/step_ms"]
    assert [(time, step) for time, step, _ in times] == [(1_700_000_001, 1), (1_700_000_002, 1)]
    assert [value for _, _, value in times] == pytest.approx([0.05, 0.05])
    assert not list((log / "b").glob("events*"))


@pytest.mark.long
def test_again_they_are_replaced(log: Path) -> None:
    other = log / "a" / "events.out.tfevents.1.host"
    other.write_bytes(b"")
    for _ in range(2):
        assert cli.main(["scalars", str(log)]) == 0
    assert len(list((log / "a").glob("events.out.tfevents.*.tb_privateuse1"))) == 1
    assert other.exists()


def test_another_folder(log: Path, tmp_path: Path) -> None:
    assert cli.main(["scalars", str(log), "--output", str(tmp_path / "out")]) == 0
    assert "profiler/step_ms" in scalars(tmp_path / "out" / "a")
    assert not list((log / "a").glob("events*"))


def test_a_broken_recording(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (log / "a" / "host_0.2.pt.trace.json").write_text("{")
    assert cli.main(["scalars", str(log)]) == 1
    captured = capsys.readouterr()
    assert captured.out == "1 scalars of 2 recordings\n"
    assert "run a, span 2" in captured.err


def test_a_folder_that_cannot_be_written(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert cli.main(["scalars", str(log), "--output", str(tmp_path / "file")]) == 2
    assert "--output DIR" in capsys.readouterr().err


def test_a_remote_logdir_needs_a_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["scalars", "s3://bucket/log"]) == 2
    assert "--output DIR" in capsys.readouterr().err
