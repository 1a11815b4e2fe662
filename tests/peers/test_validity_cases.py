"""The cases of ``shared/cases`` in which records are missing, impossible or of another kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import Overview, overview
from tests.support.quality import found, sure
from tests.support.shared_traces import FOLDER, needs_traces

CASES = FOLDER.parent / "cases"


def read(case: str) -> Trace:
    """Return the trace of a case of one file."""
    (path,) = (path for path in (CASES / case).iterdir() if path.is_file())
    return inference.build_trace(
        readers.read(str(path)), None, worker=path.stem, files=(path.name,)
    )


def first(case: str) -> tuple[Trace, Overview]:
    trace = read(case)
    return trace, overview(trace)


@needs_traces
def test_an_export_of_autograds_events() -> None:
    trace, shown = first("legacy-autograd-export")
    lengths = dict(
        zip(
            map(trace.text, trace.ops.name),
            (trace.ops.end_ns - trace.ops.start_ns).tolist(),
            strict=True,
        )
    )
    assert lengths == {"aten::linear": 200_000, "aten::addmm": 150_000, "aten::relu": 40_000}
    assert (shown.totals.kernels, shown.totals.busy_ns) == (2, 115_000)
    assert shown.duration_ns == 325_000


@needs_traces
def test_time_stamps_of_zero() -> None:
    trace, shown = first("ts-zero")
    assert sure(trace, "zero_times").count == 93
    assert round(shown.duration_ns / 1e5) == 68
    assert summary(trace).judged_steps == tuple(f"ProfilerStep#{i}" for i in (5, 6, 7))


@needs_traces
def test_overflown_durations() -> None:
    trace, shown = first("overflow-durations")
    assert sure(trace, "impossible_durations").count == 3
    assert shown.totals.busy_ns == 12_060_000
    assert shown.average_step_ns is not None
    assert round(shown.average_step_ns / 1e4) == 226


@needs_traces
def test_steps_without_their_kernels() -> None:
    trace, shown = first("lost-kernels-of-steps")
    assert sure(trace, "missing_activities").count == 20
    assert summary(trace).judged_steps == tuple(f"ProfilerStep#{i}" for i in (7, 8, 9))
    assert shown.utilization == shown.utilization_low
    assert round(100 * (shown.utilization or 0)) == 88
    limit = steady_verdict(trace)
    assert limit is not None
    assert limit.kind == "device"


@needs_traces
def test_launches_without_any_kernel() -> None:
    trace = read("launches-without-kernels")
    assert steady_verdict(trace) is None
    hint = summary(trace).hint
    assert "CUPTI" in hint
    assert "ProfilerActivity.CUDA" in hint
    assert found(trace, "host_only") is None


@needs_traces
@pytest.mark.parametrize(
    ("case", "word"), [("empty-trace", "no events"), ("compile-events", "dynamo_timed")]
)
def test_files_without_a_readable_event(case: str, word: str) -> None:
    trace, shown = first(case)
    assert (summary(trace).kind, steady_verdict(trace)) == ("empty", None)
    assert word in summary(trace).sentence
    assert shown.average_step_ns is None


@needs_traces
def test_a_file_that_was_packed_twice() -> None:
    assert overview(read("double-gzip")).totals.busy_ns == 8_000_000


@needs_traces
def test_an_execution_trace_alone() -> None:
    with pytest.raises(TraceError, match="execution trace") as error:
        read("execution-trace-alone")
    assert "Kineto trace" in str(error.value.hint)


@needs_traces
def test_passes_without_usable_steps() -> None:
    (path,) = Path(CASES.parent / "repro" / "passes_without_steps").glob("*.json")
    trace = inference.build_trace(readers.read(str(path)), None)
    assert overview(trace).failures == ()
