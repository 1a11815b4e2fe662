"""JSON of rocprofv3: the same program gives the same trace as its database."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import readers
from tb_privateuse1.readers.rocprof import ROCPROF_JSON, json_document
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tests.support.read_traces import codes, trace_of
from tests.support.rocprof import Program

SAMPLE = Path(__file__).parent / "samples" / "rocprof_json.json"


def of_document(path: Path, content: dict[str, Any]) -> Trace:
    path.write_text(json.dumps(content))
    return trace_of(path)


@pytest.fixture
def content() -> dict[str, Any]:
    return Program().document()


@pytest.mark.parametrize("streams", [True, False])
def test_the_json_gives_the_same_trace_as_the_database(tmp_path: Path, streams: bool) -> None:
    program = Program(steps=3, streams=streams)
    one = trace_of(program.database(tmp_path / "a.db"))
    other = trace_of(program.json(tmp_path / "a.json"))
    assert (one.meta.reader, other.meta.reader) == ("rocprof", "rocprof_json")
    assert one.base_ns == other.base_ns
    assert one.meta.devices == other.meta.devices
    assert (one.meta.vendor, one.meta.hostname) == (other.meta.vendor, other.meta.hostname)
    for table, columns in (
        ("kernels", ("start_ns", "end_ns", "launch", "op", "step", "bytes", "kind", "config")),
        ("ops", ("start_ns", "end_ns", "kind", "parent")), ("steps", ("start_ns", "end_ns")),
        ("launches", ("start_ns", "end_ns", "op")),
        ("configs", ("registers", "shared_bytes")),
    ):  # fmt: skip
        for column in columns:
            mine, expected = (getattr(getattr(t, table), column) for t in (other, one))
            assert mine.tolist() == expected.tolist(), (table, column)
    # A copy of the JSON has no queue: without streams it is on a stream of its own.
    assert sorted(other.lanes.stream.tolist()) == ([1, 2] if streams else [0, 1, 2])
    for table, column in (
        ("kernels", "name"), ("ops", "name"), ("ops", "shapes"), ("launches", "name"),
        ("configs", "grid"), ("configs", "block"),
    ):  # fmt: skip
        texts = [
            [t.text(row) for row in getattr(getattr(t, table), column).tolist()]
            for t in (one, other)
        ]
        assert texts[0] == texts[1]


def test_the_sample_is_read(tmp_path: Path) -> None:
    trace = trace_of(SAMPLE)
    assert (trace.meta.reader, len(trace.steps)) == ("rocprof_json", 2)


def test_only_its_key_makes_it_a_trace() -> None:
    assert ROCPROF_JSON.sniff(b'{\n"rocprofiler-sdk-tool": [').is_trace
    assert not ROCPROF_JSON.sniff(b'{"traceEvents": [], "rocprofiler-sdk-tool": [').is_trace


def test_a_record_is_read_again_with_all_its_fields(tmp_path: Path) -> None:
    run = tbp.open(Program().json(tmp_path / "a_results.json"))
    events = (run.event("launches", 0), run.event("kernels", 0))
    for event, name in zip(events, ("hip_api", "memory_copy"), strict=True):
        record = msgspec.json.decode(event.record or "")
        assert (record["table"], record["size"]) == (name, 64)


def test_an_event_that_is_not_there(tmp_path: Path) -> None:
    path = str(Program().json(tmp_path / "a.json"))
    for event in (-1, 10_000):
        with pytest.raises(TraceError) as caught:
            ROCPROF_JSON.record(path, readers.read(path).checkpoints, event)
        assert caught.value.code == "no_event"


def test_records_before_the_cut_are_read(tmp_path: Path) -> None:
    path = Program(steps=4).json(tmp_path / "a.json")
    text, whole = path.read_bytes(), trace_of(path)
    start = text.index(b'"kernel_dispatch": [')
    for at in range(start + 1500, len(text) - 5, 1499):
        path.write_bytes(text[:at])
        trace = trace_of(path)
        assert "truncated" in codes(trace)
        assert 0 < len(trace.kernels) <= len(whole.kernels)


def test_a_file_that_is_cut_before_its_records_is_refused(tmp_path: Path) -> None:
    path = Program().json(tmp_path / "a.json")
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b'"kernel_symbols"')])
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_json"


def test_another_object_of_that_key_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"rocprofiler-sdk-tool": [7]}')
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "not_a_trace"


def test_a_file_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_document, "_MOST_BYTES", 1000)
    path = Program().json(tmp_path / "a.json")
    with pytest.raises(TraceError) as caught:
        readers.read(str(path))
    assert caught.value.code == "too_large"


@pytest.mark.long
def test_each_part_may_be_missing(tmp_path: Path, content: dict[str, Any]) -> None:
    process = content["rocprofiler-sdk-tool"][0]
    for holder in (process, process["buffer_records"], process["strings"]):
        for key in list(holder):
            removed = holder.pop(key)
            assert of_document(tmp_path / "a.json", content).meta.reader == "rocprof_json"
            holder[key] = removed


def test_damaged_records_are_counted_and_others_are_read(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    rows = content["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"]
    whole = len(rows)
    rows[0]["start_timestamp"] = "early"
    rows[1]["dispatch_info"]["kernel_id"] = None
    rows[2]["dispatch_info"]["queue_id"]["handle"] = (1 << 64) - 16
    trace = of_document(tmp_path / "a.json", content)
    (finding,) = (f for f in trace.meta.findings if f.code == "malformed_events")
    assert finding.count == 2
    assert (trace.kernels.bytes == -1).sum() <= len(trace.kernels)
    raw = readers.read(str(tmp_path / "a.json"))
    assert len(raw.groups["kernel"]) == whole - 2


def test_a_name_that_is_no_utf8_is_repaired(tmp_path: Path) -> None:
    path = Program().json(tmp_path / "a.json")
    path.write_bytes(path.read_bytes().replace(b"void gemm", b"void \xffemm"))
    trace = trace_of(path)
    assert "invalid_strings" in codes(trace)
    assert any("emm<float>" in trace.text(row) for row in trace.kernels.name.tolist())


def test_two_processes_of_one_file(tmp_path: Path, content: dict[str, Any]) -> None:
    alone = of_document(tmp_path / "a.json", content)
    content["rocprofiler-sdk-tool"] *= 2
    trace = of_document(tmp_path / "b.json", content)
    assert len(trace.kernels) == 2 * len(alone.kernels)
    assert "several_processes" in codes(trace)
    assert (trace.kernels.launch >= 0).all()
