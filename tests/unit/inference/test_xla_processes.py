"""Device processes of XLA's profiler: the rows of XProf's trace viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.overview import overview
from tests.support.quality import found, sure
from tests.support.trace_files import write

Event = dict[str, Any]
STEPS, MODULES, OPS, ASYNC = 1, 2, 3, 4
ROWS = {STEPS: "Steps", MODULES: "XLA Modules", OPS: "XLA Ops", ASYNC: "Async XLA Ops"}


def row(pid: int, tid: int, name: str, start: float, end: float, **args: Any) -> Event:
    event = {"ph": "X", "pid": pid, "tid": tid, "name": name, "ts": start, "dur": end - start}
    return event | ({"args": args} if args else {})


def names(pid: int, process: str, threads: dict[int, str]) -> list[Event]:
    of_process = {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}}
    return [of_process] + [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}
        for tid, name in threads.items()
    ]


def tpu(pid: int, number: int, steps: int = 3) -> list[Event]:
    """Steps of 900 us: a loop of 500 us around two operations, then a collective of 300 us."""
    events = names(pid, f"/device:TPU:{number}", ROWS)
    for i in range(steps):
        t = 5_000_000 + 1000.0 * i
        events += [
            row(pid, STEPS, str(i), t, t + 900, step_num=i),
            row(pid, MODULES, "jit_train_step(42)", t, t + 900, run_id=str(i)),
            row(pid, OPS, "while.1", t, t + 500),
            row(pid, OPS, "fusion.3", t, t + 200, hlo_category="loop fusion"),
            row(pid, OPS, "convolution.2", t + 210, t + 500),
            row(pid, OPS, "all-reduce.1", t + 600, t + 900),
            row(pid, ASYNC, "copy-start.5", t + 100, t + 800),
        ]
    return events


def host() -> list[Event]:
    return [*names(701, "/host:CPU", {9: "python"}), row(701, 9, "PjitFunction", 5e6, 5e6 + 90)]


def read(tmp_path: Path, events: list[Event]) -> Trace:
    path = write(tmp_path / "host.trace.json", events)
    return inference.build_trace(chrome.read(str(path)), None)


def test_operations_are_kernels_and_control_flow_is_none(tmp_path: Path) -> None:
    trace = read(tmp_path, [*host(), *tpu(3, 0)])
    kernels = trace.kernels
    assert (trace.vendor.name, trace.meta.timeline) == ("xla", "measured")
    once = ["fusion.3", "convolution.2", "all-reduce.1"]
    assert [trace.text(name) for name in kernels.name.tolist()] == once * 3
    assert kernels.communication.tolist() == [False, False, True] * 3
    marks = trace.device_annotations
    assert sorted({trace.text(name) for name in marks.name}) == ["jit_train_step(42)", "while.1"]
    totals = overview(trace, window="all").totals
    assert (totals.busy_ns, totals.communication_ns) == (3 * 790_000, 900_000)


def test_steps_are_those_of_the_device(tmp_path: Path) -> None:
    trace = read(tmp_path, [*host(), *tpu(3, 0), *tpu(4, 1)])
    assert [trace.text(name) for name in trace.steps.name] == [
        f"ProfilerStep#{i}" for i in range(3)
    ]
    assert (trace.steps.end_ns - trace.steps.start_ns).tolist() == [900_000] * 3
    assert trace.lanes.device.tolist() == [0, 1]
    assert sorted(trace.kernels.step.tolist()) == [0] * 6 + [1] * 6 + [2] * 6
    assert found(trace, "joined_recordings") is None


def test_steps_of_torch_count_and_rows_without_a_number_are_counted(tmp_path: Path) -> None:
    torch = {**row(1, 1, "ProfilerStep#7", 5e6, 5e6 + 3000), "cat": "user_annotation"}
    trace = read(tmp_path, [torch, *tpu(3, 0)])
    assert [trace.text(name) for name in trace.steps.name] == ["ProfilerStep#7"]
    assert sure(trace, "unknown_category").count == 6
    named = read(tmp_path, [*tpu(3, 0), row(3, STEPS, "train", 6e6, 6e6 + 10)])
    assert (sure(named, "unknown_category").count, len(named.steps)) == (4, 3)


def test_rows_that_are_not_read_are_counted(tmp_path: Path) -> None:
    finding = sure(read(tmp_path, [*host(), *tpu(3, 0)]), "unknown_category")
    assert (finding.count, "/host:CPU" in str(finding.message)) == (4, True)


def test_kernels_of_a_gpu_are_in_its_streams(tmp_path: Path) -> None:
    threads = {13: "Stream #13(Compute)", 14: "Stream #14(MemcpyH2D)", OPS: "XLA Ops"}
    events = [
        *names(3, "/device:GPU:0", threads),
        row(3, 13, "loop_add_fusion", 5e6, 5e6 + 100, correlation_id=1),
        row(3, 14, "MemcpyH2D", 5e6, 5e6 + 50),
        row(3, OPS, "add.1", 5e6, 5e6 + 100),
    ]
    trace = read(tmp_path, events)
    assert sorted(trace.text(name) for name in trace.kernels.name) == [
        "MemcpyH2D", "loop_add_fusion",
    ]  # fmt: skip
    assert trace.lanes.stream.tolist() == [13, 14]
    assert sure(trace, "unknown_category").count == 1


def test_other_cores_of_a_device_are_counted(tmp_path: Path) -> None:
    sparse = [
        *names(5, "/device:TPU:0 SparseCore 0", {1: "XLA Ops"}),
        row(5, 1, "gather", 5e6, 6e6),
    ]
    trace = read(tmp_path, [*tpu(3, 0), *sparse])
    assert (trace.lanes.device.tolist(), len(trace.kernels)) == ([0], 9)
    assert "SparseCore" in str(sure(trace, "unknown_category").message)


def test_modules_without_operations_are_the_devices_work(tmp_path: Path) -> None:
    bare = [event for event in tpu(3, 0) if event.get("tid") != OPS or event["ph"] == "M"]
    for events in (bare, [e for e in bare if e.get("tid") != OPS]):
        trace = read(tmp_path, [*host(), *events])
        assert [trace.text(name) for name in trace.kernels.name] == ["jit_train_step(42)"] * 3
        assert (trace.lanes.device.tolist(), len(trace.device_annotations)) == ([0], 0)
        finding = sure(trace, "coarse_activities")
        assert (finding.count, "'XLA Modules'" in str(finding.message)) == (3, True)
        assert overview(trace, window="all").totals.busy_ns == 3 * 900_000


def test_modules_stand_for_one_device_beside_operations_of_another(tmp_path: Path) -> None:
    bare = [event for event in tpu(4, 1) if event.get("tid") != OPS]
    trace = read(tmp_path, [*host(), *tpu(3, 0), *bare])
    assert (trace.lanes.device.tolist(), len(trace.kernels)) == ([0, 1], 9 + 3)
    assert sure(trace, "coarse_activities").count == 3
    assert found(read(tmp_path, tpu(3, 0)), "coarse_activities") is None
