"""Calls of the device's runtime by name: times, waits, what they launched, and where from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.export import sql
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.runtime import Runtime, RuntimeRow, runtime
from tests.support.make import frame, kernel, launch, op, span, step, trace
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, needs_traces

RUNTIME = "cuda_runtime"


def some() -> Trace:
    """Three launches, two of them by ``aten::mm``, a wait for the device, and a call of no use."""
    return trace(
        step(1, 0, 100), step(2, 100, 200),
        frame("train.py(3): main", 0, 200), frame("train.py(9): loss", 40, 60),
        op("aten::mm", 0, 20), launch(1, 3, 1), launch(5, 11, 2),
        op("aten::add", 21, 30), launch(22, 25, 3),
        span(RUNTIME, "cudaStreamSynchronize", 45, 55),
        span(RUNTIME, "cudaGetDevice", 120, 121),
        kernel("k", 10, 20, 1), kernel("k", 20, 40, 2), kernel("k", 40, 45, 3),
    )  # fmt: skip


def row(result: Runtime, name: str) -> RuntimeRow:
    return next(one for one in result.rows if one.name == name)


def test_calls_have_times_waits_and_what_they_launched() -> None:
    result = runtime(some(), window="all")
    assert [one.name for one in result.rows] == [
        "cudaLaunchKernel", "cudaStreamSynchronize", "cudaGetDevice",
    ]  # fmt: skip
    launches = row(result, "cudaLaunchKernel")
    assert (launches.calls, launches.total_ns, launches.mean_ns) == (3, 11_000, 3667)
    assert (launches.median_ns, launches.max_ns, launches.blocked_ns) == (3000, 6000, 0)
    assert (launches.activities, launches.device_ns) == (3, 35_000)
    assert (launches.operator, launches.typical_row, launches.longest_row) == ("aten::mm", 2, 1)
    wait = row(result, "cudaStreamSynchronize")
    assert (wait.blocked_ns, wait.activities, wait.operator) == (10_000, 0, None)
    assert wait.function == "loss (train.py)"
    assert (result.calls, result.total_ns, result.blocked_ns) == (5, 22_000, 10_000)
    assert result.length_ns == some().end_ns
    assert launches.share == pytest.approx(11_000 / result.length_ns)


def test_a_step_has_the_calls_that_start_in_it() -> None:
    result = runtime(some(), step=2)
    assert [(one.name, one.calls) for one in result.rows] == [("cudaGetDevice", 1)]
    assert (result.length_ns, result.rows[0].share) == (100_000, 0.01)
    with pytest.raises(TraceError, match="There is no step 9"):
        runtime(some(), step=9)


def test_a_copy_that_returns_behind_its_end_waits() -> None:
    t = trace(
        op("aten::copy_", 0, 990), span(RUNTIME, "cudaMemcpyAsync", 10, 980, correlation=1),
        kernel("Memcpy DtoH", 970, 975, 1, category="gpu_memcpy"),
    )  # fmt: skip
    assert row(runtime(t), "cudaMemcpyAsync").blocked_ns == 970_000


def test_without_device_times_nothing_is_known_of_activities() -> None:
    t = trace(op("aten::mm", 0, 9), span(RUNTIME, "cudaLaunchKernel", 1, 2))
    assert (runtime(t).rows[0].activities, runtime(t).rows[0].device_ns) == (None, None)
    assert runtime(Trace()).rows == ()


def test_a_call_inside_of_another_one_counts_once_in_all() -> None:
    t = trace(
        op("aten::mm", 0, 90), span(RUNTIME, "cudaStreamSynchronize", 10, 40),
        span("cuda_driver", "cuStreamSynchronize", 12, 38),
        span(RUNTIME, "cudaStreamSynchronize", 20, 50, thread=2),
    )  # fmt: skip
    result = runtime(t)
    assert [(one.name, one.total_ns) for one in result.rows] == [
        ("cudaStreamSynchronize", 60_000), ("cuStreamSynchronize", 26_000),
    ]  # fmt: skip
    assert (result.total_ns, result.blocked_ns) == (60_000, 60_000)


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES, 24), ids=lambda p: p.parent.name)
def test_it_is_what_sql_says(path: Path, tmp_path: Path) -> None:
    """By SQL over the exported tables: calls, times, and what they launched."""
    store = Store(jobs=0, cache_dir=tmp_path)
    files = catalog.scan(str(path.parent), READERS).find()
    found = sql.query(
        files,
        """
        with launched as (
            select launch, count(*) as activities, sum(duration_ns) as device_ns
            from kernels where launch is not null group by launch
        )
        select l.name, count(*), sum(l.duration_ns), max(l.duration_ns),
               coalesce(sum(k.activities), 0), coalesce(sum(k.device_ns), 0)
        from launches l left join launched k on k.launch = l.row group by l.name
        """,
        store=store,
    )
    result = runtime(store.trace(files))
    ours = {
        (r.name, r.calls, r.total_ns, r.max_ns, r.activities or 0, r.device_ns or 0)
        for r in result.rows
    }
    assert {tuple(one) for one in found.rows} == ours
    for one in result.rows:
        calls = store.trace(files).launches
        assert calls.end_ns[one.typical_row] - calls.start_ns[one.typical_row] == one.median_ns
        assert 0 <= one.blocked_ns <= one.total_ns
    assert result.total_ns <= sum(one.total_ns for one in result.rows)
    assert result.blocked_ns <= result.total_ns
