"""Figures of recordings as OpenMetrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.cli import main
from tb_privateuse1.export import openmetrics
from tb_privateuse1.views.history import HistoryRow
from tests.support import make
from tests.support.openmetrics import Labels, parse
from tests.support.trace_files import write

STEP = "tb_privateuse1_step_seconds"
WAITING = "tb_privateuse1_recordings_waiting"


def of(run: str, rank: int = 0, **more: str) -> Labels:
    return frozenset({"run": run, "rank": str(rank), **more}.items())


def test_each_known_figure_of_a_recording() -> None:
    row = HistoryRow(
        run="a", rank=3, device="H100", timeline="measured", written_ns=1_700_000_000_500_000_000,
        step_ns=12_500_000, step_bound_ns=0, deviation_ns=10_000, steps=5, utilization=0.75,
        mfu=0.4, memory_peak_bytes=1 << 30, rule="synchronize", saving_share=0.1,
    )  # fmt: skip
    found = parse(openmetrics.write([row], waiting=2))
    values = {name: dict(family.samples) for name, family in found.items()}
    mine = of("a", 3)
    assert values == {
        "tb_privateuse1_recording_info": {of("a", 3, device="H100", timeline="measured"): 1},
        "tb_privateuse1_recording_written_seconds": {mine: 1_700_000_000.5},
        STEP: {mine: 0.0125},
        "tb_privateuse1_step_error_seconds": {mine: 0},
        "tb_privateuse1_step_deviation_seconds": {mine: 1e-5},
        "tb_privateuse1_steps": {mine: 5},
        "tb_privateuse1_utilization_ratio": {mine: 0.75},
        "tb_privateuse1_mfu_ratio": {mine: 0.4},
        "tb_privateuse1_memory_peak_bytes": {mine: 1 << 30},
        "tb_privateuse1_top_issue_ratio": {of("a", 3, rule="synchronize"): 0.1},
        WAITING: {frozenset(): 2},
        "tb_privateuse1_recordings_failed": {frozenset(): 0},
    }
    assert found[STEP].unit == "seconds"
    assert all(family.help for family in found.values())


def test_what_is_not_known_has_no_sample() -> None:
    found = parse(openmetrics.write([HistoryRow(run="a", step_ns=None, mfu=None)], waiting=0))
    assert set(found) == {"tb_privateuse1_recording_info", WAITING,
                          "tb_privateuse1_recordings_failed"}  # fmt: skip


def test_the_latest_recording_of_a_rank_that_is_read() -> None:
    rows = [
        HistoryRow(run="a", step_ns=1), HistoryRow(run="a", step_ns=2, span=2),
        HistoryRow(run="a", state="waiting", span=3), HistoryRow(run="a", rank=1, step_ns=4),
        HistoryRow(run="b", state="failed"),
    ]  # fmt: skip
    found = parse(openmetrics.write(rows, waiting=1))
    assert found[STEP].samples == {of("a"): 2e-9, of("a", 1): 4e-9}
    assert found["tb_privateuse1_recordings_failed"].samples == {frozenset(): 1}


@pytest.mark.parametrize("name", ['a"b', "back\\slash\\n", "two\nlines", "zwei ä 二", ""])
def test_any_name(name: str) -> None:
    assert list(
        parse(openmetrics.write([HistoryRow(run=name, step_ns=1)], waiting=0))[STEP].samples
    ) == [of(name)]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for run, rank, length in (("a", 0, 10), ("a", 1, 20), ("b", 0, 30)):
        steps = [make.step(5 + i, i * length, (i + 1) * length) for i in range(3)]
        ops = [make.op("aten::mm", i * length + 1, i * length + 3) for i in range(3)]
        write(tmp_path / "log" / run / f"host_{rank}.1.pt.trace.json",
              make.document(*steps, *ops, distributedInfo={"rank": rank}))  # fmt: skip
    out = tmp_path / "figures.prom"
    command = ["export", str(tmp_path / "log"), "--format", "openmetrics", "-o", str(out)]
    assert main(command) == 0
    assert "3 recordings" in capsys.readouterr().out
    found = parse(out.read_text())
    assert found[STEP].samples == {of("a"): 1e-5, of("a", 1): 2e-5, of("b"): 3e-5}
    assert main([*command, "--run", "a", "--rank", "1"]) == 0
    assert parse(out.read_text())[STEP].samples == {of("a", 1): 2e-5}
    assert main([*command, "--range", "0:5"]) == 2
