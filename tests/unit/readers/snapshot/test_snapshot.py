"""Memory snapshots: totals are those of a plain allocator, and each page opens on one."""

from __future__ import annotations

import contextlib
import gzip
import pickle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import inference, readers, views
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.readers.snapshot import SNAPSHOT
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Memory, Trace
from tests.support import invariants
from tests.support.read_traces import codes
from tests.support.snapshots import Allocator, snapshot, training, write

NAME = "host_1.1700000000000000000.memory_snapshot.pickle"


def raw_of(path: Path) -> Raw:
    return readers.read(str(path))


def trace_of(path: Path) -> Trace:
    return inference.build_trace(raw_of(path), None)


def totals(memory: Memory, base_ns: int) -> list[tuple[int, int, int]]:
    columns = (memory.ts_ns + base_ns, memory.allocated_bytes, memory.reserved_bytes)
    return [(at // 1000, *rest) for at, *rest in zip(*(c.tolist() for c in columns), strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_totals_are_those_of_the_allocator(tmp_path: Path, seed: int) -> None:
    first, second = training(seed), training(seed + 50, steps=1, device=1)
    raw = raw_of(write(tmp_path / NAME, snapshot(first, second)))
    trace = inference.build_trace(raw, None)
    for allocator in (first, second):
        mine = trace.memory.take(trace.memory.device == allocator.device)
        assert totals(mine, raw.base_ns) == allocator.totals
    assert codes(trace) == {"snapshot_alone"}
    invariants.check(trace)


@pytest.mark.parametrize("most", [1, 2, 7, 30])
def test_what_the_ring_lost_changes_no_total(tmp_path: Path, most: int) -> None:
    allocator = training()
    allocator.most_entries = most
    raw = raw_of(write(tmp_path / NAME, snapshot(allocator)))
    found = totals(inference.build_trace(raw, None).memory, raw.base_ns)
    assert found == (allocator.totals[-len(found) :] if found else [])


def test_the_memory_page_has_peak_blocks_and_lines(tmp_path: Path) -> None:
    allocator = Allocator()
    kept = allocator.allocate(1000, line=10)
    gone = allocator.allocate(3_000_000, line=20)
    allocator.free(gone)
    allocator.allocate(500, line=30)
    write(tmp_path / NAME, snapshot(allocator))
    use = tbp.open(tmp_path).memory()
    assert (use.device, use.window.peak_bytes if use.window else 0) == ("1/0", 3_001_000)
    rows = [(row.bytes, row.fate, (row.stack or "").split(";")[0]) for row in use.rows]
    assert rows == [
        (3_000_000, "released", "/work/model0.py(20): layer0"),
        (1000, "held", "/work/model0.py(10): layer0"),
        (500, "held", "/work/model0.py(30): layer0"),
    ]
    assert [(row.name, row.bytes) for row in use.remaining_functions] == [
        ("/work/model0.py:10 in layer0", 1000),
        ("/work/model0.py:30 in layer0", 500),
    ]
    assert kept in allocator.live


def test_every_view_opens_on_one(tmp_path: Path) -> None:
    write(tmp_path / NAME, snapshot(training(), training(2, device=1)))
    opened = tbp.open(tmp_path)
    for name in views.VIEWS:
        with contextlib.suppress(TraceError):
            assert getattr(opened, name)()


def test_a_snapshot_alone_is_a_recording_of_its_worker(tmp_path: Path) -> None:
    write(tmp_path / NAME, snapshot(training()))
    (run,) = tbp.open(tmp_path).runs.runs
    (worker,) = run.workers
    assert (worker.worker, worker.spans[0].label) == ("host_1", "1700000000000000000")


@pytest.mark.parametrize(
    ("backend", "kind"), [("CUDA", 1), ("XPU", 12), ("NPU", 20), ("FUTURE", 20)]
)
def test_the_settings_name_the_device(tmp_path: Path, backend: str, kind: int) -> None:
    trace = trace_of(write(tmp_path / NAME, snapshot(training(), backend=backend)))
    assert set(trace.memory.device_type.tolist()) == {kind}
    assert trace.meta.backend == backend.lower()


def test_without_settings_the_device_has_no_type(tmp_path: Path) -> None:
    content = snapshot(training())
    del content["allocator_settings"]
    trace = trace_of(write(tmp_path / NAME, content))
    assert set(trace.memory.device_type.tolist()) == {int(MISSING)}


def test_without_a_history_blocks_are_shown_at_the_start(tmp_path: Path) -> None:
    allocator = training()
    content = snapshot(allocator)
    content["device_traces"] = [[]]
    write(tmp_path / NAME, content)
    use = tbp.open(tmp_path).memory()
    held = sum(block["requested_size"] for block in allocator.live.values())
    assert use.window
    assert use.window.peak_bytes == held
    assert len(use.rows) == len(allocator.live)
    assert "no_history" in codes(trace_of(tmp_path / NAME))


def test_entries_without_time_are_counted(tmp_path: Path) -> None:
    content = snapshot(training())
    for entry in content["device_traces"][0]:
        del entry["time_us"]
    trace = trace_of(write(tmp_path / NAME, content))
    assert {"events_without_time", "no_history"} <= codes(trace)


def test_a_history_of_another_time_has_no_totals(tmp_path: Path) -> None:
    content = snapshot(training())
    content["segments"] = []
    trace = trace_of(write(tmp_path / NAME, content))
    assert {"in_use_disagrees", "reserved_disagrees"} <= codes(trace)
    assert (trace.memory.allocated_bytes == MISSING).all()
    assert (trace.memory.reserved_bytes == MISSING).all()


def test_running_out_of_memory_is_said(tmp_path: Path) -> None:
    allocator = training()
    allocator.refuse(5 << 30)
    trace = trace_of(write(tmp_path / NAME, snapshot(allocator)))
    (found,) = [f for f in trace.meta.findings if f.code == "out_of_device_memory"]
    assert "5,120.0 MiB" in found.message


def test_requests_that_were_not_recorded_count_when_blocks_are_free(tmp_path: Path) -> None:
    allocator = training()
    content = snapshot(allocator)
    content["device_traces"][0] = [
        e for e in content["device_traces"][0] if e["action"] != "free_requested"
    ]
    trace = trace_of(write(tmp_path / NAME, content))
    assert trace.memory.allocated_bytes.tolist() == [total for _, total, _ in allocator.totals]


def test_blocks_of_the_oldest_layout_have_their_size_in_a_history(tmp_path: Path) -> None:
    allocator = Allocator()
    allocator.allocate(700)
    content = snapshot(allocator)
    (block, _) = content["segments"][0]["blocks"]
    block["history"] = [{"real_size": block.pop("requested_size"), "frames": block.pop("frames")}]
    content["device_traces"] = []
    trace = trace_of(write(tmp_path / NAME, content))
    assert trace.memory.bytes.tolist() == [700]


def test_an_event_is_read_again(tmp_path: Path) -> None:
    allocator = training()
    write(tmp_path / NAME, snapshot(allocator, training(3, device=1)))
    opened = tbp.open(tmp_path)
    row = len(opened.trace().memory) - 1
    result = opened.event("memory", row)
    record = msgspec.json.decode(result.record or "")
    assert record["action"] in ("alloc", "free_requested", "segment_alloc", "segment_free")
    assert record["size"] == abs(int(opened.trace().memory.bytes[row])) or record["size"]


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_it_is_recognized_by_content(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps(snapshot(training()), protocol)
    for name, text in (("a.pickle", data), ("b.pickle.gz", gzip.compress(data))):
        (tmp_path / name).write_bytes(text)
        assert readers.choose_reader(str(tmp_path / name)) is SNAPSHOT
    for other in ({"weights": [1, 2]}, [1, 2], "segments", {1: 2}):
        (tmp_path / "c.pickle").write_bytes(pickle.dumps(other, protocol))
        assert readers.choose_reader(str(tmp_path / "c.pickle")).name == "snapshot"
        assert not SNAPSHOT.sniff(pickle.dumps(other, protocol)).is_trace
    assert len(tbp.open(tmp_path).runs.runs[0].workers) == 2


@pytest.mark.parametrize(
    ("content", "code"),
    [([], "not_a_trace"), ({"a": 1}, "not_a_trace"), ({"segments": {1, 2}}, "not_plain")],
)
def test_other_pickles_are_refused(tmp_path: Path, content: object, code: str) -> None:
    with pytest.raises(TraceError) as caught:
        trace_of(write(tmp_path / NAME, content))
    assert caught.value.code == code


def test_a_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, snapshot(training()))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TraceError) as caught:
        trace_of(path)
    assert caught.value.code == "not_plain"


def test_shared_parts_are_read_no_oftener_than_the_file_has_bytes(tmp_path: Path) -> None:
    block: dict[str, Any] = {"state": "active_allocated", "requested_size": 1, "address": 1}
    segment = {"device": 0, "total_size": 1, "blocks": [block] * 3000}
    entry = {"action": "alloc", "addr": 1, "size": 1, "time_us": 1, "frames": [{}] * 3000}
    path = write(
        tmp_path / NAME,
        {"segments": [segment] * 3000, "device_traces": [[entry] * 3000] * 1000},
    )
    trace = trace_of(path)
    assert len(trace.memory) <= path.stat().st_size


def test_stacks_are_kept_once_and_have_python_frames(tmp_path: Path) -> None:
    allocator = Allocator()
    for _ in range(50):
        allocator.allocate(100, line=5, depth=2)
    trace = trace_of(write(tmp_path / NAME, snapshot(allocator)))
    stacks = np.unique(trace.memory.stack[trace.memory.bytes > 0])
    assert [trace.text(i) for i in stacks] == [
        "/work/model0.py(5): layer0;/work/model1.py(6): layer1"
    ]
