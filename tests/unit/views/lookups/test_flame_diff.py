"""The differential flame graph: same nodes, changes per step, noise, and frames that moved."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.lookups.flame_diff import FlameDiff, flame_diff
from tests.support.make import frame, kernel, launch, op, step, trace


def program(steps: int, mm: list[int], *, line: int = 3, more: bool = False) -> Trace:
    """Steps of a frame with a product, whose kernel takes another time in each."""
    events: list[Any] = []
    for n in range(steps):
        at, took = 1000 * n, mm[n % len(mm)]
        events += [
            step(n, at, at + 1000), frame(f"train.py({line}): run", at + 1, at + 900),
            op("aten::mm", at + 10, at + 60), launch(at + 20, at + 21, 2 * n + 1),
            kernel("gemm", at + 100, at + 100 + took, 2 * n + 1),
        ]  # fmt: skip
        if more:
            events += [
                op("aten::add", at + 70, at + 90), launch(at + 75, at + 76, 2 * n + 2),
                kernel("add", at + 500, at + 550, 2 * n + 2),
            ]  # fmt: skip
    return trace(*events)


def paths(result: FlameDiff) -> dict[str, Any]:
    names: list[str] = []
    for row in result.rows:
        names.append(row.name if row.parent is None else f"{names[row.parent]};{row.name}")
    return dict(zip(names, result.rows, strict=True))


def test_figures_are_per_step() -> None:
    result = flame_diff(program(4, [200]), program(2, [100]))
    assert (result.by, result.base_steps, result.now_steps) == ("device", 2, 4)
    assert (result.base_total_ns, result.now_total_ns) == (100_000, 200_000)
    row = paths(result)["train.py(3): run;aten::mm;gemm"]
    assert (row.base_calls, row.now_calls, row.base_ns, row.now_ns) == (1, 1, 100_000, 200_000)
    assert (row.change_ns, row.status, row.verdict) == (100_000, "both", "longer")


def test_what_only_one_has() -> None:
    result = flame_diff(program(2, [100], more=True), program(2, [100]))
    rows = paths(result)
    added = rows["train.py(3): run;aten::add"]
    assert (added.status, added.base_ns, added.now_ns, added.base_calls) == ("new", 0, 50_000, 0)
    assert rows["train.py(3): run"].change_ns == 50_000
    back = paths(flame_diff(program(2, [100]), program(2, [100], more=True)))
    assert back["train.py(3): run;aten::add"].status == "gone"
    assert back["train.py(3): run;aten::mm"].verdict == "same"


def test_noise_is_that_of_the_table() -> None:
    """A node has the verdict of the row that is the same thing."""
    now, base = program(6, [100, 140, 90]), program(6, [95, 120, 130, 80])
    row = paths(flame_diff(now, base))["train.py(3): run;aten::mm"]
    (same,) = (r for r in diff(now, base).rows if r.name == "aten::mm")
    assert (row.base_ns, row.now_ns, row.noise_ns, row.verdict) == (
        same.base_ns, same.now_ns, same.noise_ns, same.verdict,
    )  # fmt: skip
    assert row.verdict == "within_noise"


def test_frames_of_an_edited_file_are_the_same() -> None:
    rows = paths(flame_diff(program(2, [100], line=8), program(2, [100], line=3)))
    assert {row.status for row in rows.values()} == {"both"}
    assert "train.py(8): run" in rows


@pytest.mark.parametrize("by", ["device", "host"])
def test_a_trace_against_itself(by: Any) -> None:
    one = program(3, [100, 90], more=True)
    result = flame_diff(one, one, by=by)
    assert result.rows
    assert {(row.change_ns, row.verdict) for row in result.rows} == {(0, "same")}
    assert result.base_total_ns == result.now_total_ns


def test_options() -> None:
    now, base = program(2, [100], more=True), program(2, [100])
    rows = paths(flame_diff(now, base, ignore="train.py"))
    assert set(rows) == {"aten::mm", "aten::mm;gemm", "aten::add", "aten::add;add"}
    zoomed = flame_diff(now, base, root="train.py(3): run;aten::add", by="host")
    assert [(row.name, row.now_ns) for row in zoomed.rows] == [("aten::add", 20_000)]
    assert len(flame_diff(now, base, limit=2).rows) == 2
    for options in ({"limit": 0}, {"step": 9}, {"base_step": 9}, {"root": "nothing"}):
        with pytest.raises(TraceError):
            flame_diff(now, base, **options)  # type: ignore[arg-type]


def test_empty_traces() -> None:
    result = flame_diff(Trace(), Trace())
    assert (result.rows, result.by, result.base_total_ns) == ((), "host", 0)
