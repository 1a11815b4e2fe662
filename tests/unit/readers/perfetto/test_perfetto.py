"""Perfetto's binary traces: ranges, links and counters are those that the program made."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as schema

import tb_privateuse1 as tbp
from tb_privateuse1 import inference, readers
from tb_privateuse1.export import perfetto
from tb_privateuse1.readers.perfetto import PERFETTO
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import VIEWS
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.lookups import LOOKUPS
from tests.support import make
from tests.support.perfetto_program import BOOT, UNIX, Program, Range
from tests.support.results import result
from tests.support.shared_traces import FOLDER, needs_traces


def ranges(raw: Raw) -> list[Range]:
    return sorted(
        (category, raw.strings[name], start + raw.base_ns, end + raw.base_ns)
        for category, group in raw.groups.items()
        for name, start, end in zip(
            group.name.tolist(), group.start_ns.tolist(), group.end_ns.tolist(), strict=True
        )
    )


def raw_of(path: Path) -> Raw:
    return readers.read(str(path))


def codes(raw: Raw) -> set[str]:
    return {finding.code for finding in raw.findings}


def written(tmp_path: Path, trace: Any) -> Raw:
    path = tmp_path / "a.pftrace"
    path.write_bytes(trace.SerializeToString())
    return raw_of(path)


def slices(*events: tuple[int, int, str], sequence: int = 1, track: int = 1) -> Any:
    """A trace of slices: type, time and name of each."""
    trace = schema.Trace()
    trace.packet.add(sequence_flags=1, trusted_packet_sequence_id=sequence)
    for kind, at, name in events:
        packet = trace.packet.add(timestamp=at, trusted_packet_sequence_id=sequence)
        packet.track_event.type = kind
        packet.track_event.track_uuid = track
        packet.track_event.name = name
        packet.track_event.categories.append("cpu_op")
    return trace


@pytest.mark.parametrize("packed", [0, 1, 7, 1000])
def test_all_ranges_are_read(tmp_path: Path, packed: int) -> None:
    program = Program(steps=5)
    raw = raw_of(program.write(tmp_path / "a.pftrace", packed=packed))
    assert ranges(raw) == sorted(program.ranges)
    assert codes(raw) == {"phase_not_shown"}


def test_threads_processes_and_lanes(tmp_path: Path) -> None:
    raw = raw_of(Program().write(tmp_path / "a.pftrace"))
    rows = [
        tuple(raw.strings[i] for i in row)
        for row in zip(raw.threads.pid, raw.threads.tid, raw.threads.name, strict=True)
    ]
    assert ("4711", "4711", "main") in rows
    assert ("4711", "4712", "worker") in rows
    assert ("4711", "requests", "requests") in rows
    assert ("GPU 0", "7", "queue 7") in rows
    assert raw.process_names == {"4711": "trainer", "GPU 0": "GPU 0"}
    assert raw.metadata["deviceProperties"] == [{"id": 0, "name": "Test GPU"}]
    assert raw.groups["kernel"].ids["stream"].tolist() == [7, 7, 7]


def test_arguments_and_counters(tmp_path: Path) -> None:
    program = Program()
    raw = raw_of(program.write(tmp_path / "a.pftrace"))
    operators = raw.groups["cpu_op"]
    assert operators.id("external_id").tolist() == [1, 2, 3]
    assert [raw.strings[i] for i in operators.text("shapes")] == ["[[2,3],[3,4]]"] * 3
    assert [raw.strings[i] for i in operators.text("dtypes")] == ['["float","float"]'] * 3
    assert raw.groups["cuda_runtime"].id("correlation").tolist() == [1000, 1001, 1002]
    found: dict[str, list[tuple[int, float]]] = {}
    samples = raw.counters.samples
    for series, at, value in zip(samples.series, samples.ts_ns, samples.value, strict=True):
        name = raw.strings[raw.counters.series.name[series]]
        found.setdefault(name, []).append((int(at) + raw.base_ns, float(value)))
    assert found == program.counters


def test_flows_are_arrows_from_each_slice_to_the_next(tmp_path: Path) -> None:
    raw = raw_of(Program().write(tmp_path / "a.pftrace"))
    flows = raw.flows
    tails = sorted(flows.ts_ns[flows.finish == 0] - BOOT)
    heads = sorted(flows.ts_ns[flows.finish == 1] - BOOT)
    assert (tails, heads) == ([1_000, 1_001_000, 2_001_000], [4_000, 1_004_000, 2_004_000])


def test_a_packet_is_read_again(tmp_path: Path) -> None:
    for packed in (0, 7):
        path = Program().write(tmp_path / "a.pftrace", packed=packed)
        raw = raw_of(path)
        for row, event in enumerate(raw.groups["cpu_op"].event.tolist()):
            found = PERFETTO.record(str(path), raw.checkpoints, event)
            assert found["track_event"]["name"] == "aten::mm"
            assert found["track_event"]["debug_annotations"] == {
                "External id": row + 1, "Input Dims": [[2, 3], [3, 4]],
                "Input type": '["float", "float"]',
            }  # fmt: skip
        stage = PERFETTO.record(str(path), raw.checkpoints, int(raw.groups["kernel"].event[1]))
        assert stage["gpu_render_stage_event"]["stage"] == "gemm"
        with pytest.raises(TraceError) as caught:
            PERFETTO.record(str(path), raw.checkpoints, 10**6)
        assert caught.value.code == "no_event"


def test_the_default_clock_is_that_of_the_trace(tmp_path: Path) -> None:
    raw = raw_of(Program().write(tmp_path / "a.pftrace"))
    assert raw.base_ns == UNIX - BOOT
    trace = slices((1, 100, "a"), (2, 300, "a"))
    trace.packet[1].timestamp_clock_id = trace.packet[2].timestamp_clock_id = 3
    clocks = trace.packet.add().clock_snapshot
    clocks.clocks.add(clock_id=6, timestamp=1_000)
    clocks.clocks.add(clock_id=3, timestamp=100)
    assert ranges(written(tmp_path, trace)) == [("cpu_op", "a", 1_000, 1_200)]


def test_brackets_close_what_began_last_and_crossing_tracks_stay_apart(tmp_path: Path) -> None:
    trace = slices(
        (1, 10, "outer"), (1, 20, "inner"), (2, 30, ""), (1, 30, "next"), (2, 40, ""), (2, 50, ""),
        (3, 45, "instant"), (2, 60, ""), (1, 70, "open"),
    )  # fmt: skip
    raw = written(tmp_path, trace)
    assert [(name, start, end) for _, name, start, end in ranges(raw)] == [
        ("inner", 20, 30), ("instant", 45, 45), ("next", 30, 40), ("open", 70, 70),
        ("outer", 10, 50),
    ]  # fmt: skip
    assert codes(raw) == {"unclosed_ranges", "unopened_ends"}


def test_names_that_were_lost_are_a_finding(tmp_path: Path) -> None:
    trace = slices((1, 10, "a"), (2, 20, ""))
    trace.packet[1].sequence_flags = trace.packet[2].sequence_flags = 2
    trace.packet[1].previous_packet_dropped = 1
    raw = written(tmp_path, trace)
    assert ranges(raw) == []
    assert codes(raw) == {"names_lost"}


def test_general_traces_show_ranges_as_annotations(tmp_path: Path) -> None:
    trace = slices((1, 10, "draw"), (2, 20, ""))
    trace.packet[1].track_event.categories[0] = "rendering"
    assert ranges(written(tmp_path, trace)) == [("user_annotation", "draw", 10, 20)]


def test_older_forms_of_events(tmp_path: Path) -> None:
    trace = schema.Trace()
    first = trace.packet.add(trusted_packet_sequence_id=9, incremental_state_cleared=True)
    first.thread_descriptor.pid, first.thread_descriptor.tid = 5, 6
    first.interned_data.event_names.add(iid=3, name="task")
    packet = trace.packet.add(timestamp=1_000, trusted_packet_sequence_id=9)
    packet.track_event.legacy_event.phase = ord("X")
    packet.track_event.legacy_event.name_iid = 3
    packet.track_event.legacy_event.duration_us = 2
    stage = trace.packet.add(timestamp=9_000, trusted_packet_sequence_id=9).gpu_render_stage_event
    stage.specifications.hw_queue.add(name="compute")
    stage.specifications.stage.add(name="relu")
    stage.hw_queue_id, stage.stage_id, stage.duration, stage.event_id = 0, 0, 4, 1
    raw = written(tmp_path, trace)
    assert ranges(raw) == [
        ("kernel", "relu", 9_000, 9_004),
        ("user_annotation", "task", 1000, 3000),
    ]
    row = raw.groups["user_annotation"].thread[0]
    assert [raw.strings[c[row]] for c in (raw.threads.pid, raw.threads.tid)] == ["5", "6"]


def test_packed_files_and_discovery(tmp_path: Path) -> None:
    program = Program()
    folder = tmp_path / "log" / "run"
    folder.mkdir(parents=True)
    (folder / "rank2.7.pftrace.gz").write_bytes(gzip.compress(program.data()))
    opened = tbp.open(tmp_path / "log")
    assert opened.trace("run").meta.reader == "perfetto"
    assert ranges(raw_of(folder / "rank2.7.pftrace.gz")) == sorted(program.ranges)


@pytest.mark.parametrize("name", [*VIEWS, *LOOKUPS])
def test_every_view_opens(tmp_path: Path, name: str) -> None:
    trace = inference.build_trace(raw_of(Program().write(tmp_path / "a.pftrace")), None)
    view = VIEWS[name] if name in VIEWS else LOOKUPS[name]
    options = {"table": "ops"} if name == "links" else {}
    assert encode(result(view, trace, **options))


def rows(trace: Trace, table: Any) -> Counter[Any]:
    names = [trace.text(name) for name in table.name.tolist()]
    return Counter(zip(names, table.start_ns.tolist(), table.end_ns.tolist(), strict=True))


def links(trace: Trace) -> Counter[Any]:
    kernels = trace.kernels
    starts = np.append(trace.launches.start_ns, -1), np.append(trace.ops.start_ns, -1)
    columns = (kernels.start_ns, starts[0][kernels.launch], starts[1][kernels.op])
    return Counter(zip(*(column.tolist() for column in columns), strict=True))


def backward(trace: Trace) -> Counter[tuple[int, int]]:
    start, forward = trace.ops.start_ns, call_tree.forward_of(trace)
    return Counter((int(start[i]), int(start[j])) for i, j in enumerate(forward.tolist()) if j >= 0)


def assert_round_trip(trace: Trace, path: Path) -> None:
    path.write_bytes(b"".join(perfetto.write(trace)))
    again = inference.build_trace(raw_of(path), None)
    for name in ("ops", "frames", "launches", "kernels"):
        assert rows(again, getattr(again, name)) == rows(trace, getattr(trace, name)), name
    assert links(again) == links(trace)
    assert backward(again) == backward(trace)
    assert len(again.steps) == len(trace.steps)
    assert len(again.counter_samples) == len(trace.counter_samples)


def test_our_export_reads_back(tmp_path: Path) -> None:
    trace = make.trace(
        make.step(0, 0, 100),
        make.op("aten::mm", 1, 20, 5),
        make.op("aten::empty", 3, 3, 6),
        make.launch(4, 6, 77),
        make.kernel("gemm<float, 4>(int)", 30, 50, correlation=77),
    )
    assert_round_trip(trace, tmp_path / "a.pftrace")


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["cuda/h100_qwen", "cuda/v100_resnet50_workers0", "rocm/mi300_bert"]
)
def test_exports_of_real_traces_read_back(tmp_path: Path, name: str) -> None:
    (path,) = (FOLDER / name).glob("*.pt.trace.json.gz")
    assert_round_trip(inference.build_trace(raw_of(path), None), tmp_path / "a.pftrace")
