"""Why a timeline is measured, inferred or refused, with the evidence and what would help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1 import inference
from tb_privateuse1.export import chrome as export
from tb_privateuse1.export.reports import csv, text
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import EVIDENCE, Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.method import method
from tb_privateuse1.views.overview import overview
from tests.support import make
from tests.support.make import Event, kernel, launch, op, trace
from tests.support.simulate import Op, simulate, step
from tests.support.trace_files import write

US = 1_000


def behind(**facts: Any) -> Trace:
    """Three steps in which the device is behind, but for the last operators, which wait for it."""
    ops = [Op("aten::mm", 8 * US, US, 40 * US) for _ in range(12)]
    late = [Op("aten::relu", 60 * US, US, 5 * US) for _ in range(4)]
    wait = Op("aten::_local_scalar_dense", 3 * US, 500, 2 * US, blocking=True)
    return simulate([step(i, *ops, wait, *late) for i in range(3)], **facts).trace


def refused(unit_us: int) -> Trace:
    """Elapsed times in steps of so many us."""
    events = [op("aten::mm", 100 * i, 100 * i + 50, id=i + 1) for i in range(20)]
    return trace(*events, elapsed={i + 1: unit_us * (1 + i % 7) for i in range(20)})


def test_dropped_claims_are_counted_and_listed() -> None:
    made = behind()
    assert made.meta.grounds is not None
    counts = {**made.meta.grounds.counts, "dropped_claims": 2}
    grounds = replace(made.meta.grounds, counts=counts, dropped=(3, 5))
    t = replace(made, meta=replace(made.meta, grounds=grounds))
    result = method(t)
    assert (result.claims or 0) > 0
    assert result.dropped_claims == 2
    names = [t.strings[t.ops.name[row]] for row in (3, 5)]
    assert [one.operator for one in result.dropped] == names
    assert [one.ts_ns for one in result.dropped] == t.ops.start_ns[[3, 5]].tolist()


def test_an_inferred_timeline_tells_what_it_rests_on() -> None:
    t = behind()
    result = method(t)
    assert result.provenance.timeline == "inferred"
    assert result.kind == "event"
    assert result.kind_evidence
    assert (result.activities, result.device_ns) == (kernels(t).calls, kernels(t).total_ns)
    assert result.device_bound_ns == kernels(t).bound_ns
    assert result.evidence == overview(t).evidence
    assert sum(e.kernels for e in result.evidence) == result.activities
    assert sum(e.share for e in result.evidence) == pytest.approx(1)
    whole, worst = result.device_bound_ns, result.device_worst_bound_ns
    assert whole == min(worst or 0, result.device_statistical_bound_ns or 0)
    assert worst == t.kernels.duration_bound_ns.sum()
    assert result.shift_bound_ns == 1_000  # what a measured latency may be off
    assert {e.evidence for e in result.evidence} <= set(EVIDENCE[1:])
    names = [c.name for c in result.constants]
    assert {"launch_latency", "event_cost", "kernel_gap", "elapsed_resolution"} <= set(names)
    assert all(c.evidence for c in result.constants)
    for constant in result.constants:
        low, high = constant.least_ns, constant.most_ns
        assert low is None or low <= constant.value_ns
        assert high is None or constant.value_ns <= high
        assert constant.samples is None or constant.source != "assumed"
    assert result.marks == 2 * result.timed
    assert (result.crossing, result.refused) == (0, ())


def test_limits_come_in_the_order_of_what_they_account_for() -> None:
    result = method(behind())
    accounted = [limit.bound_ns for limit in result.limits if limit.bound_ns is not None]
    assert accounted == sorted(accounted, reverse=True)
    assert accounted
    codes = [one.code for one in result.advice]
    assert len(codes) == len(set(codes))
    assert {limit.advice for limit in result.limits} - {None} <= set(codes)
    assert codes[0] == result.limits[0].advice
    assert all(one.example for one in result.advice)


def test_a_measured_latency_is_no_limit() -> None:
    told, alone = method(behind()), method(behind(launch_latency_ns=None))
    latency = {c.name: c for c in told.constants}["launch_latency"]
    assert latency.source == "capture"
    assert "latency" not in [limit.code for limit in told.limits]
    assert "latency" in [limit.code for limit in alone.limits]
    assert "capture" in [one.code for one in alone.advice]


def test_a_step_has_its_own_activities_and_limits() -> None:
    t = behind()
    whole, parts = method(t), [method(t, step=i) for i in range(3)]
    assert sum(p.activities or 0 for p in parts) == whole.activities
    assert sum(p.device_ns or 0 for p in parts) == whole.device_ns
    assert parts[0].constants == whole.constants
    with pytest.raises(TraceError, match="no step 9"):
        method(t, step=9)


def test_a_measured_timeline_rests_on_nothing_else() -> None:
    result = method(trace(op("aten::mm", 0, 9), launch(1, 2, 7), kernel("gemm", 3, 8, 7)))
    assert "A device profiler recorded 1 activities" in result.reason
    (only,) = result.evidence
    assert (only.evidence, only.kernels, only.bound_ns, only.unbounded) == ("measured", 1, 0, 0)
    assert (result.device_bound_ns, result.linked_share) == (0, 1.0)
    assert result.kind is result.marks is None
    assert result.constants == result.limits == result.advice == result.refused == ()


def test_a_refusal_gives_the_reason_and_what_to_change() -> None:
    result = method(refused(1_000))
    assert result.provenance.timeline == "none"
    assert result.kind == "coarse"
    assert [finding.code for finding in result.refused] == ["elapsed_coarse"]
    assert result.reason == result.refused[0].message
    assert result.activities is result.device_ns is result.device_bound_ns is None
    assert result.advice[0].code == "clock"
    assert "microseconds" in (result.advice[0].example or "")


def test_the_host_alone_is_no_fault_of_the_capture() -> None:
    result = method(trace(op("aten::mm", 0, 9)))
    assert [finding.code for finding in result.refused] == ["host_only"]
    assert [one.code for one in result.advice] == ["capture"]
    assert method(Trace()).evidence == ()


def test_a_merged_trace_says_that_its_grounds_are_elsewhere(tmp_path: Path) -> None:
    events: list[Event] = [op("aten::mm", 10 * i, 10 * i + 8.5, id=i + 1) for i in range(5)]
    recorded = write(tmp_path / "w.1.pt.trace.json", make.document(*events))
    told = write(tmp_path / "w.1.kernel_event.json", make.sidecar({i + 1: 20 for i in range(5)}))
    export.merge_files(str(recorded), str(told), str(tmp_path / "out.json"))
    result = method(inference.build_trace(chrome.read(str(tmp_path / "out.json")), None))
    assert result.provenance.timeline == "inferred"
    assert "when it was merged" in result.reason
    assert result.kind is None
    assert "merged" in [limit.code for limit in result.limits]


def test_as_csv_and_text() -> None:
    result = method(behind())
    assert (
        csv.csv_table(result).splitlines()[0].startswith("evidence,kernels,total_ns,share,bound_ns")
    )
    lines = csv.csv_table(result, "constants").splitlines()
    assert lines[0] == "name,value_ns,least_ns,most_ns,source,samples,evidence,window"
    assert len(lines) == 1 + len(result.constants)
    assert "kind: event" in text.text_report(result)
