"""Files from which nothing, or not all, is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tb_privateuse1 import inference, readers
from tb_privateuse1.analysis.recording.summary import summary
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tb_privateuse1.trace import device_times
from tb_privateuse1.views.overview import overview
from tests.support.make import Event, document, launch, op, span, step, trace
from tests.support.quality import found, sure


@pytest.mark.parametrize(
    ("device", "word"),
    [
        ("NVIDIA A100-SXM4-80GB", "CUPTI"),
        ("AMD Instinct MI300X", "roctracer"),
        ("Intel(R) Data Center GPU Max", "ProfilerActivity.XPU"),
        (None, "PrivateUse1"),
    ],
)
def test_an_empty_file_says_so_and_what_to_do_on_its_device(device: str | None, word: str) -> None:
    t = trace(deviceProperties=[{"id": 0, "name": device}] if device else [])
    finding = sure(t, "no_events")
    assert finding.severity == "error"
    assert word in str(finding.hint)
    assert found(t, "host_only") is None
    shown = summary(t)
    assert (shown.kind, shown.sentence) == ("empty", "The file has no events.")
    assert shown.hint == finding.hint
    assert shown.steady_step_ns is None
    assert overview(t).average_step_ns is None


def test_a_file_of_another_tool_is_named() -> None:
    t = trace(*(span("dynamo_timed", f"pass_{i}", i, i + 1) for i in range(3)))
    finding = sure(t, "nothing_read")
    assert "3 events" in finding.message
    assert "dynamo_timed: 3" in finding.message
    assert "torch.compile" in str(finding.hint)
    assert summary(t).kind == "empty"
    unknown = sure(trace(span("swift_trace", "x", 0, 1)), "nothing_read")
    assert "another tool" in str(unknown.hint)


def test_a_trace_of_xla_is_named() -> None:
    name = {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}}
    fusion = {"ph": "X", "pid": 3, "tid": 1, "ts": 1, "dur": 2, "name": "fusion.1"}
    finding = sure(trace(name, fusion), "nothing_read")
    assert "/device:TPU:0" in sure(trace(name, fusion), "unknown_category").message
    assert "XProf" in str(finding.hint)


def test_counters_alone_are_no_recording() -> None:
    samples = [
        {"ph": "C", "pid": 1, "tid": 1, "ts": i, "name": "power", "args": {"W": i}}
        for i in range(3)
    ]
    t = trace(*samples)
    assert "no range" in sure(t, "no_ranges").message
    shown = summary(t)
    assert (shown.kind, shown.sentence) == ("empty", sure(t, "no_ranges").message)


def test_annotations_alone_say_nothing_of_the_hosts_time() -> None:
    """Operators and Python may not have been recorded."""
    t = trace(*(step(i, 100 * i, 100 * i + 90) for i in range(4)))
    assert steady_verdict(t) is None
    assert summary(t).steady_step_ns == 90_000


def test_events_without_a_category_are_counted_by_process() -> None:
    events = [{k: v for k, v in op("x", i, i + 1).items() if k != "cat"} for i in range(3)]
    t = trace(op("aten::mm", 0, 10), *events)
    finding = sure(t, "unknown_category")
    assert finding.count == 3
    assert "no category" in finding.message


def test_runtime_calls_without_any_activity_are_no_program_of_the_host() -> None:
    call = launch(10, 100, 1) | {"name": "cudaDeviceSynchronize"}
    t = trace(op("aten::mm", 0, 10), call)
    finding = sure(t, "no_device_activities")
    assert "CUPTI" in str(finding.hint)
    assert found(t, "host_only") is None
    assert device_times.known_times(t) == "none"
    assert steady_verdict(t) is None
    assert "no activity of the device is recorded" in summary(t).sentence
    assert summary(t).hint == finding.hint


@pytest.mark.parametrize("event", [op("aten::mm", 0, 10), launch(10, 20, 1)])
def test_activities_may_be_in_the_part_of_a_file_that_is_lost(event: Event, tmp_path: Path) -> None:
    """Torch writes what the host did first: a copy that was cut off lacks the device."""
    text = json.dumps(document(event, event, deviceProperties=[{"id": 0, "name": "NVIDIA H100"}]))
    path = tmp_path / "w.1.pt.trace.json"
    path.write_text(text[: text.rindex('"ph"')])
    t = inference.build_trace(readers.read(str(path)), None)
    assert sure(t, "truncated").severity == "error"
    hint = str(sure(t, "no_device_activities").hint)
    assert "lost" in hint
    assert "CUPTI" not in hint
    assert found(t, "host_only") is None
    assert steady_verdict(t) is None


def test_a_program_of_the_host_alone_stays_one() -> None:
    t = trace(op("aten::mm", 0, 10))
    assert sure(t, "host_only").severity == "info"
    assert steady_verdict(t) is not None
