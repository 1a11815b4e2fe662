"""Several streams: a lane for each, waits between them, and what to say where none is told."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1 import inference
from tb_privateuse1.inference.device_timeline import elapsed_kind, event_pipeline, streams
from tb_privateuse1.inference.device_timeline.timeline_inputs import StreamKernels
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.method import method
from tests.support import simulate

FOLDER = Path(__file__).parents[3] / "traces"
REGIMES = ("streams", "streams_host_bound")
"""Recorded by ``python -m benchmarks.inference_regimes``: two chains of matrix products at a time,
joined at the end of each step, on a device that is slow or fast; less what nobody reads."""


class Recorded:
    """A recording and its truth, by operator."""

    def __init__(self, name: str) -> None:
        folder = FOLDER / name
        self.sidecar = readers_sidecar.read_sidecar(
            str(next(folder.glob("*.kernel_event.json.gz")))
        )
        self.raw = chrome.read(str(next(folder.glob("*.pt.trace.json.gz"))))
        truth = json.loads(gzip.decompress((folder / "truth.json.gz").read_bytes()))
        self.truth = {k: np.array(v) for k, v in truth.items()}

    def trace(self, sidecar: Sidecar | None = None) -> Trace:
        return inference.build_trace(self.raw, sidecar or self.sidecar)

    def row(self, trace: Trace) -> I64:
        """The row of each true kernel."""
        launched = {int(e): i for i, e in enumerate(trace.ops.external_id[trace.kernels.op])}
        return np.array([launched[int(e)] for e in self.truth["external_id"]])


@pytest.mark.parametrize("name", REGIMES)
def test_each_stream_has_its_lane(name: str) -> None:
    recorded = Recorded(name)
    trace = recorded.trace()
    kernels, row = trace.kernels, recorded.row(trace)
    assert trace.meta.timeline == "inferred"
    assert sorted(row.tolist()) == list(range(len(kernels)))
    assert trace.lanes.stream[kernels.lane[row]].tolist() == recorded.truth["stream"].tolist()
    assert set(trace.lanes.device.tolist()) == {0}
    names = [trace.text(name) for name in trace.lanes.name]
    assert names == [f"device 0 stream {s}" for s in trace.lanes.stream]
    for lane in range(len(trace.lanes)):
        mine = kernels.take(kernels.lane == lane)
        assert (mine.start_ns[1:] >= mine.end_ns[:-1]).all()


@pytest.mark.parametrize("name", REGIMES)
def test_starts_and_durations_are_within_their_bounds(name: str) -> None:
    recorded = Recorded(name)
    trace = recorded.trace()
    kernels, row, truth = trace.kernels, recorded.row(trace), recorded.truth
    start, end = (truth[k] - trace.base_ns for k in ("start_ns", "end_ns"))
    assert (kernels.start_bound_ns != MISSING).all()
    off = np.abs(kernels.start_ns[row] - start)
    assert (off <= kernels.start_bound_ns[row]).mean() >= 0.95
    assert np.median(off) <= 6_000
    off = np.abs((kernels.end_ns - kernels.start_ns)[row] - (end - start))
    assert (off <= kernels.duration_bound_ns[row]).mean() >= 0.95


def test_what_ran_at_the_same_time_is_not_put_in_a_row() -> None:
    recorded = Recorded("streams")
    trace = recorded.trace()
    starts, ends = trace.kernels.start_ns, trace.kernels.end_ns
    both = [np.flatnonzero(trace.kernels.lane == lane) for lane in (0, 1)]
    overlaps = (starts[both[0]][:, None] < ends[both[1]]) & (
        starts[both[1]] < ends[both[0]][:, None]
    )
    assert overlaps.sum() > 20


def test_without_the_streams_there_is_a_reason_instead_of_a_timeline() -> None:
    recorded = Recorded("streams")
    told = recorded.sidecar
    trace = recorded.trace(Sidecar(told.external_id, told.elapsed_ns, told.facts))
    assert trace.meta.timeline == "none"
    finding = next(f for f in trace.meta.findings if f.code == "several_streams")
    assert finding.severity == "error"
    assert "elapsed_streams" in (finding.hint or "")
    shown = method(trace)
    assert (shown.kind, shown.kind_evidence) == ("event", finding.message)
    assert [advice.code for advice in shown.advice] == ["streams", "native"]
    assert next(refused.code for refused in shown.refused) == "several_streams"


def test_a_stream_that_is_refused_is_named_beside_all_figures_of_the_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not the other one's: its timeline stands, and no second error says the same."""
    place, calls = event_pipeline.place_kernels, []

    def refuse_second(*arguments: Any) -> StreamKernels:
        work = place(*arguments)
        calls.append(work)
        if len(calls) < 2 or work.basis is None:
            return work
        return StreamKernels.none(elapsed_kind.contradiction(90, 100), work.basis)

    monkeypatch.setattr(event_pipeline, "place_kernels", refuse_second)
    trace = Recorded("streams").trace()
    assert len(trace.kernels) == len(calls[0]) > 0
    assert trace.meta.grounds is not None
    assert trace.meta.grounds.kind == "event"
    errors = [f for f in trace.meta.findings if f.severity == "error"]
    assert [f.code for f in errors] == ["stream_missing"]
    stream = sorted(trace.lanes.stream.tolist())[1]
    assert f"stream {stream} of device 0" in errors[0].message
    assert {"totals", "steps", "operators", "kernels"} <= set(errors[0].affects)


def test_operators_of_no_known_stream_are_left_out() -> None:
    recorded = Recorded("streams")
    told = recorded.sidecar
    assert told.stream is not None
    unknown = np.where(np.arange(len(told.stream)) % 7 == 0, -1, told.stream)
    sidecar = Sidecar(told.external_id, told.elapsed_ns, told.facts, (), told.device, unknown)
    kernels = recorded.trace(sidecar).kernels
    assert 0 < len(kernels) < len(recorded.trace().kernels)


def test_a_range_that_the_recording_cut_off_does_not_move_the_kernels_of_one_stream() -> None:
    """It has no second event, so no time and no stream; frameworks have ranges around steps."""
    machine = simulate.Machine()
    around = simulate.Op(
        "fit", 0, 0, 0, [simulate.linear(20_000, 9_000)] * 3, category="user_annotation"
    )
    machine.run(around)
    machine.elapsed[1] = None
    alone = simulate.infer_from(machine.events, machine.elapsed)
    stream = [None, *[3] * (len(machine.elapsed) - 1)]
    trace = simulate.infer_from(machine.events, machine.elapsed, device=stream, stream=stream)
    for name, column in alone.kernels.columns():
        assert getattr(trace.kernels, name).tolist() == column.tolist(), name
    assert (trace.lanes.device.tolist(), trace.lanes.stream.tolist()) == ([3], [3])


def test_a_kind_that_refuses_all_streams_names_none() -> None:
    """The kind of the elapsed times is refused before there are streams."""
    why = Finding("unknown_elapsed", "No operator tells what its elapsed time is.")
    assert streams.refused_streams([(why,)]) == ()


def test_a_wait_for_another_stream_is_no_unknown_work_where_events_are_measured() -> None:
    """The main stream waits for two others in each step; all its kernels have an operator."""
    trace = Recorded("streams_measured").trace()
    assert trace.meta.grounds is not None
    assert trace.meta.grounds.counts["measured_marks"] > 0
    assert (trace.kernels.op >= 0).all()
