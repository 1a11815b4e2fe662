"""Columns of torch's own table: per cent, means, types of AMP, and a CPU as the device."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from msgspec import Struct
from torch.profiler import ProfilerActivity, profile

import tb_privateuse1 as tbp
from tb_privateuse1.views.operators import OperatorRow
from tests.peers.test_key_averages import recursion

_US = 1_000
"""Nanoseconds: torch's times are floats in microseconds, of ns that are exact."""


class Recording(Struct):
    """A recording on the CPU, and what torch says of it."""

    path: Path
    table: dict[str, Any]
    """Rows of ``key_averages()`` of operators, by name."""
    printed: dict[str, list[str]]
    """Cells of the printed table, by name."""
    shapes: dict[tuple[str, str], Any]
    """Rows by name and shapes."""

    def rows(self) -> dict[str, OperatorRow]:
        """Return our rows of the same operators."""
        found = {row.name: row for row in tbp.open(self.path).operators(window="all").rows}
        return {name: found[name] for name in self.table}

    def total_ns(self, row: OperatorRow) -> int:
        """Return the host's total as torch has it: a call inside of its own kind counts twice."""
        return (
            row.host_total_ns + recursion(tbp.open(self.path).trace(), "name")[row.name or "", ""]
        )


def program() -> None:
    """Train a step with AMP on the CPU: products in bfloat16, the loss in float32."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    for _ in range(3):
        with torch.autocast("cpu", torch.bfloat16):
            found = model(torch.randn(8, 16))
        torch.nn.functional.mse_loss(found.float(), torch.randn(8, 4)).backward()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Return the recording of the program."""
    path = tmp_path_factory.mktemp("table") / "w.1.pt.trace.json"
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as prof:
        program()
    prof.export_chrome_trace(str(path))
    operators = {event.name for event in prof.events() if event.activity_type == "cpu_op"}
    averages = prof.key_averages()
    table = averages.table(row_limit=-1, max_name_column_width=200)
    cells = (re.split(r"\s{2,}", line.strip()) for line in table.splitlines())
    printed = {row[0]: row for row in cells if row[0] in operators}
    shaped = prof.key_averages(group_by_input_shape=True)
    return Recording(
        path,
        {row.key: row for row in averages if row.key in operators},
        printed,
        {(row.key, str(row.input_shapes)): row for row in shaped if row.key in operators},
    )


def per_cent(cell: str) -> float:
    return float(cell.rstrip("%"))


def test_shares_of_self_and_total_are_those_of_the_printed_table(recording: Recording) -> None:
    result = tbp.open(recording.path).operators(window="all")
    rows = recording.rows()
    assert len(rows) > 10
    for name, row in rows.items():
        share, total = per_cent(recording.printed[name][1]), per_cent(recording.printed[name][3])
        assert 100 * row.host_self_ns / result.host_self_ns == pytest.approx(share, abs=0.006)
        whole = 100 * recording.total_ns(row) / result.host_self_ns
        assert whole == pytest.approx(total, abs=0.006)


def test_the_sum_of_self_times_is_the_last_line_of_the_printed_table(recording: Recording) -> None:
    theirs = sum(row.self_cpu_time_total for row in recording.table.values())
    ours = tbp.open(recording.path).operators(window="all").host_self_ns
    assert ours == pytest.approx(theirs * _US, abs=1)


def test_the_mean_per_call_is_torchs(recording: Recording) -> None:
    for name, row in recording.rows().items():
        theirs = recording.table[name]
        assert row.calls == theirs.count
        assert row.host_mean_ns == pytest.approx(row.host_total_ns / row.calls, abs=1)
        again = recording.total_ns(row) - row.host_total_ns
        mean = (row.host_mean_ns or 0) + again / row.calls
        assert mean == pytest.approx(theirs.cpu_time * _US, abs=1)


def test_the_types_of_amp_are_those_of_the_program(recording: Recording) -> None:
    trace = tbp.open(recording.path).trace()
    names = [trace.text(name) for name in trace.ops.name]
    kinds = {
        kind
        for name, dtypes in zip(names, trace.ops.dtypes, strict=True)
        if name == "aten::addmm"
        for kind in json.loads(trace.text(dtypes))[:3]
    }
    assert kinds == {"c10::BFloat16"}
    casts = names.count("aten::_to_copy")
    assert casts == recording.table["aten::_to_copy"].count > 0


@pytest.mark.parametrize("name", ["aten::addmm", "aten::mm"])
def test_products_of_amp_have_torchs_flops(name: str, recording: Recording) -> None:
    theirs = sum(row.flops for (key, _), row in recording.shapes.items() if key == name)
    assert recording.rows()[name].total_flops == theirs > 0


def test_a_cpu_is_the_device_of_its_own_recording(recording: Recording) -> None:
    opened = tbp.open(recording.path)
    times = [row.device_total_ns for row in recording.rows().values()]
    assert times == [None] * len(times)
    assert {row.device_time_total for row in recording.table.values()} == {0}
    assert opened.trace().meta.timeline == "none"
