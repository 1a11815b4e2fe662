"""The merged trace has all recorded events, and the inferred timeline marked as such."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.analysis.counters import counters
from tb_privateuse1.export import chrome as export
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.errors import TraceError
from tests.support import make


def files(folder: Path, *events: make.Event, elapsed: dict[int, float | None]) -> tuple[str, str]:
    trace, sidecar = folder / "w.1.pt.trace.json", folder / "w.1.kernel_event.json"
    trace.write_text(json.dumps(make.document(*events, baseTimeNanoseconds=10**18)))
    sidecar.write_text(json.dumps(make.sidecar(elapsed)))
    return str(trace), str(sidecar)


def load(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    content: dict[str, Any] = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    return content


@pytest.mark.parametrize("name", ["out.json", "out.json.gz"])
def test_merge(tmp_path: Path, name: str) -> None:
    recorded = [make.op("aten::mm", 100.125, 120, id=5), make.memory(110, 64, 192)]
    trace, sidecar = files(tmp_path, *recorded, elapsed={5: 40})
    merged = export.merge_files(trace, sidecar, str(tmp_path / name))
    content = load(tmp_path / name)
    assert content["baseTimeNanoseconds"] == 10**18
    events = content["traceEvents"]
    assert events[:2] == recorded
    (kernel,) = [e for e in events if e.get("cat") == "device_kernel"]
    assert kernel["name"] == "aten::mm"
    assert kernel["args"]["External id"] == 5
    assert kernel["args"]["inferred"] is True
    assert set(kernel["args"]) >= {"evidence", "start_bound_ns", "duration_bound_ns"}
    assert round(kernel["dur"] * 1000) == merged.kernels.end_ns[0] - merged.kernels.start_ns[0]
    start, finish = ([e for e in events if e["ph"] == p] for p in "sf")
    assert (start[0]["ts"], start[0]["tid"]) == (100.125, 1)
    assert (finish[0]["ts"], finish[0]["bp"]) == (kernel["ts"], "e")
    assert start[0]["id"] == finish[0]["id"]
    names = {e["name"]: e["args"]["name"] for e in events if e["ph"] == "M" and "name" in e["args"]}
    assert names == {"process_name": "refdev 0 (inferred)", "thread_name": "stream 0 (inferred)"}
    (counter,) = [e for e in events if e["ph"] == "C"]
    assert counter["args"] == {"Allocated": 192}


def test_a_merged_trace_reads_back_the_same(tmp_path: Path) -> None:
    events = [make.op("aten::mm", 10 * i, 10 * i + 8.5, id=i + 1) for i in range(5)]
    trace, sidecar = files(tmp_path, *events, elapsed={i + 1: 20.0 for i in range(5)})
    merged = export.merge_files(trace, sidecar, str(tmp_path / "out.json"))
    back = inference.build_trace(chrome.read(str(tmp_path / "out.json")), None)
    assert back.meta.timeline == "inferred"
    for column in ("start_ns", "end_ns", "op", "evidence", "start_bound_ns", "duration_bound_ns"):
        assert getattr(back.kernels, column).tolist() == getattr(merged.kernels, column).tolist()


def test_a_thread_may_have_any_number(tmp_path: Path) -> None:
    """Python refuses to read a number of more than 4,300 digits."""
    long = "9" * 5000
    event = make.op("a", 0, 5, id=1) | {"pid": long, "tid": long}
    trace, sidecar = files(tmp_path, event, elapsed={1: 3.0})
    export.merge_files(trace, sidecar, str(tmp_path / "out.json"))
    found = load(tmp_path / "out.json")["traceEvents"]
    assert {"pid": long, "tid": long}.items() <= found[0].items()


def test_a_trace_without_device_times_is_refused(tmp_path: Path) -> None:
    trace, _ = files(tmp_path, make.op("a", 0, 1), elapsed={})
    with pytest.raises(TraceError) as caught:
        export.merge_files(trace, None, str(tmp_path / "out.json"))
    assert caught.value.code == "no_device_times"
    assert not (tmp_path / "out.json").exists()


def test_measured_kernels_stay_as_they_are(tmp_path: Path) -> None:
    recorded = [make.op("a", 0, 9), make.launch(1, 2, 1), make.kernel("k", 3, 5, 1)]
    trace, _ = files(tmp_path, *recorded, elapsed={})
    export.merge_files(trace, None, str(tmp_path / "out.json"))
    assert load(tmp_path / "out.json")["traceEvents"] == recorded


def test_an_unwritable_target_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    trace, sidecar = files(tmp_path, make.op("aten::mm", 0, 9, id=1), elapsed={1: 5})
    with pytest.raises(TraceError) as caught:
        export.merge_files(trace, sidecar, str(tmp_path / "none" / "out.json"))
    assert caught.value.code == "unwritable"
    assert sorted(p.name for p in tmp_path.iterdir()) == [Path(sidecar).name, Path(trace).name]


def test_curves_are_counters_of_so_many_parts(tmp_path: Path) -> None:
    recorded = [make.op("a", 100, 200), make.launch(110, 112, 1), make.kernel("k", 130, 150, 1),
                make.memory(120, 8, 16)]  # fmt: skip
    path = tmp_path / "w.1.pt.trace.json"
    path.write_text(json.dumps(make.document(*recorded)))
    trace = inference.build_trace(chrome.read(str(path)), None)
    for window, use in (
        (EVERYTHING, [(100, 0), (130, 100), (150, 0)]),
        (Window(40_000, 60_000), [(140, 100), (150, 0)]),
    ):
        pieces = export.write(trace, str(path), window, curves=counters.build_curves(trace))
        added = [e for e in json.loads(b"".join(pieces))["traceEvents"] if e["ph"] == "C"]
        found = {e["name"] for e in added}
        assert found - {"Memory of PrivateUse1 0 (bytes)"} == {
            "Utilization of device 0 (%)", "Launch queue depth of device 0 (kernels)",
            "Launch rate of device 0 (kernels/ms)",
        }  # fmt: skip
        result = [(e["ts"], e["args"]["value"]) for e in added if e["name"].startswith("Util")]
        assert result == use
        assert {(e["pid"], e["tid"]) for e in added} == {(1, 0)}


def test_a_trace_with_counters_reads_back_the_same(tmp_path: Path) -> None:
    recorded = [make.op("a", 100, 200), make.launch(110, 112, 1), make.kernel("k", 130, 150, 1)]
    path = tmp_path / "w.1.pt.trace.json"
    path.write_text(json.dumps(make.document(*recorded)))
    trace = inference.build_trace(chrome.read(str(path)), None)
    pieces = export.write(trace, str(path), curves=counters.build_curves(trace))
    (tmp_path / "back.json").write_bytes(b"".join(pieces))
    back = inference.build_trace(chrome.read(str(tmp_path / "back.json")), None)
    assert not back.meta.findings
    assert not len(back.counter_samples)  # they were computed from the rest
    assert back.end_ns == trace.end_ns
    assert back.kernels.start_ns.tolist() == trace.kernels.start_ns.tolist()


def written(folder: Path, window: Window, *events: make.Event, **keys: Any) -> dict[str, Any]:
    path = folder / "w.1.pt.trace.json"
    path.write_text(json.dumps(make.document(*events, **keys)))
    trace = inference.build_trace(chrome.read(str(path)), None)
    content: dict[str, Any] = json.loads(b"".join(export.write(trace, str(path), window)))
    return content


def test_a_window_has_overlapping_events_and_all_names(tmp_path: Path) -> None:
    name = {"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "ts": 0, "args": {"name": "t"}}
    events = [
        name,
        make.op("before", 100, 109.999, id=1),
        make.op("into", 100, 110.001, id=2),
        make.op("inside", 112, 113, id=3),
        make.op("at_end", 120, 125, id=4),
        make.memory(115, 8, 8),
        make.memory(95, 8, 8),
        {"ph": "s", "id": 5, "pid": 1, "tid": 1, "ts": "111", "cat": "ac2g", "name": "ac2g"},
        {"ph": "i", "name": "odd", "ts": None},
    ]
    content = written(tmp_path, Window(10_000, 20_000), *events)
    found = content["traceEvents"]
    assert [e for e in found if e["ph"] != "C"] == [
        events[i] for i in (0, 2, 3, 5, 7)
    ]  # 95 µs is before the trace's start, which is 100
    assert [e["args"] for e in found if e["ph"] == "C"] == [{"Allocated": 8}]


def test_an_empty_window_is_a_trace_still(tmp_path: Path) -> None:
    content = written(tmp_path, Window(10**9, None), make.op("a", 0, 5, id=1))
    assert content["traceEvents"] == []


def test_a_window_leaves_out_times_that_nothing_can_have(tmp_path: Path) -> None:
    """A broken exporter wrote them; the reader has no such events either."""
    odd = [make.op("late", 1e18, 1e18 + 5, id=2), make.op("long", 1, 1e300, id=3)]
    content = written(tmp_path, Window(0, 1 << 61), make.op("a", 1, 5, id=1), *odd)
    names = [e["name"] for e in content["traceEvents"] if e.get("cat") == "cpu_op"]
    assert "a" in names
    assert "late" not in names


def test_only_known_keys_are_sent(tmp_path: Path) -> None:
    path = tmp_path / "w.1.pt.trace.json"
    keys = {"api_token": "hunter2", "distributedInfo": {"rank": 1}}
    path.write_text(json.dumps(make.document(make.op("a", 0, 5, id=1), **keys) | {"last": "s"}))
    trace = inference.build_trace(chrome.read(str(path)), None)
    sent = json.loads(b"".join(export.write(trace, str(path), keys=export.KNOWN)))
    assert sorted(sent) == ["distributedInfo", "schemaVersion", "traceEvents"]


def test_a_merged_trace_is_not_merged_again(tmp_path: Path) -> None:
    trace, sidecar = files(tmp_path, make.op("aten::mm", 10, 18, id=1), elapsed={1: 5})
    export.merge_files(trace, sidecar, str(tmp_path / "once.json"))
    export.merge_files(str(tmp_path / "once.json"), None, str(tmp_path / "twice.json"))
    once, twice = (load(tmp_path / name)["traceEvents"] for name in ("once.json", "twice.json"))
    assert [e for e in twice if e.get("cat") == "device_kernel"] == [
        e for e in once if e.get("cat") == "device_kernel"
    ]
