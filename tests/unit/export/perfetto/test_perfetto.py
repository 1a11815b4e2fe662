"""The published schema reads back every range, counter and link."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tb_privateuse1.analysis.kernel_names import display_name
from tb_privateuse1.discovery import catalog
from tb_privateuse1.export.time_window import Window
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support import make
from tests.support.perfetto_file import exported, of
from tests.support.shared_traces import FOLDER, needs_traces
from tests.unit.analysis.work.calls import tensor, texts

REAL = sorted(FOLDER.glob("cuda/b200_eager/*.pt.trace.json.gz")) + sorted(
    FOLDER.glob("privateuse1/blocks_host_primed/*.pt.trace.json.gz")
)


def measured() -> Trace:
    return make.trace(
        make.step(3, 0, 100),
        make.op("aten::mm", 10, 40, id=7, **{"Input Dims": [[2, 3]], "Input type": ["float"]}),
        make.op("aten::empty", 12, 12, id=8),
        make.frame("train.py(3): step", 10, 60),
        make.launch(20, 25, 5),
        make.kernel("gemm", 30, 55.5, 5),
        make.memory(15, 64, 192),
        make.memory(50, -64, 128),
    )


def test_slices_and_their_arguments() -> None:
    content = exported(measured())
    mm, frame = of(content, "aten::mm"), of(content, "train.py(3): step")
    launch, instant = of(content, "cudaLaunchKernel"), of(content, "aten::empty")
    assert content.slices[mm][2:] == (10_000, 30_000)
    assert content.slices[frame][2:] == (10_000, 50_000)
    assert content.slices[launch][2:] == (20_000, 5_000)
    assert content.slices[instant][2:] == (12_000, 0)
    assert content.args[mm] == {
        "External id": 7,
        "Input shapes": "[[2,3]]",
        "Input types": '["float"]',
    }
    assert content.args[launch] == {"correlation": 5}
    assert content.categories[frame] == "frame"
    assert content.categories[launch] == "runtime"
    assert {content.categories[i] for i in (mm, instant)} == {"operator"}
    names = {track.process.process_name for track in content.tracks.values()}
    assert "Process 1" in names
    steps = [s for s in content.slices if s[0] == "Steps"]
    assert [s[1] for s in steps] == ["ProfilerStep#3"]


def test_device_activities_fill_gpu_tracks_and_are_tied_to_their_launch() -> None:
    content = exported(measured())
    (gemm,) = content.device
    assert (gemm["name"], gemm["start"], gemm["duration"]) == ("gemm", 30_000, 25_500)
    assert gemm["compute"]
    assert gemm["args"] == {"operator": "aten::mm"}
    assert content.submitted[of(content, "cudaLaunchKernel")] == [gemm["id"]]
    assert sum(map(len, content.submitted)) == 1


def test_work_of_activities_is_in_their_arguments() -> None:
    t = make.trace(
        make.op("aten::mm", 0, 9, **texts("aten::mm", tensor(256, 256), tensor(256, 256))),
        make.launch(2, 3, 1),
        make.kernel("gemm", 10, 3010, 1),
        make.kernel("other", 3400, 3500, 2),
    )
    gemm, other = exported(t).device
    assert gemm["args"]["flops"] == str(2 * 256**3)
    assert gemm["args"]["bytes_moved"] == str(3 * 4 * 256**2)
    assert 0 < int(gemm["args"]["attainable_ns"]) <= 3_000_000
    assert other["args"] == {}


def test_memory_is_a_counter() -> None:
    content = exported(measured())
    (name,) = [n for n in content.counters if n.startswith("Memory")]
    assert content.counters[name] == [(0, 128), (15_000, 192), (50_000, 128)]
    (track,) = [t for t in content.tracks.values() if t.name == name]
    assert track.counter.unit == track.counter.UNIT_SIZE_BYTES


def test_curves_of_the_device_are_counters() -> None:
    events = [
        make.op("aten::copy_", 0, 100, id=1), make.launch(10, 12, 1), make.launch(20, 22, 2),
        make.kernel("Memcpy HtoD", 30, 50, 1, category="gpu_memcpy", bytes=1000),
        make.kernel("gemm", 50, 75, 2),
    ]  # fmt: skip
    content = exported(make.trace(*events))
    assert content.counters["Launch queue depth of device 0"] == [
        (0, 0), (10_000, 1), (20_000, 2), (30_000, 1), (50_000, 0),
    ]  # fmt: skip
    assert content.counters["Copies to device 0"] == [(30_000, 5e7), (50_000, 0)]
    # 2000 parts of 50 ns
    assert content.counters["Utilization of device 0"] == [(0, 0), (30_000, 100), (75_000, 0)]
    assert content.counters["Launch rate of device 0"] == [(0, 2)]
    units = {track.name: track.counter for track in content.tracks.values()}
    assert units["Utilization of device 0"].unit_name == "%"
    assert units["Copies to device 0"].unit_name == "B/s"
    waiting = units["Launch queue depth of device 0"]
    assert waiting.unit == waiting.UNIT_COUNT


def test_counters_that_are_inferred_say_so() -> None:
    trace = make.trace(make.op("aten::mm", 0, 8, id=1), make.memory(2, 8, 8), elapsed={1: 20.0})
    names = exported(trace).counters
    assert {name for name in names if "(inferred)" not in name} == {"Memory of refdev 0"}
    assert "Utilization of device 0 (inferred)" in names


def test_counters_of_a_part_lie_in_it() -> None:
    events = [make.op("o", 0, 100), make.launch(10, 12, 1), make.kernel("k", 30, 50, 1)]
    content = exported(make.trace(*events), Window(20_000, 40_000))
    assert content.counters["Launch queue depth of device 0"] == [(20_000, 1), (30_000, 0)]
    assert content.counters["Utilization of device 0"] == [(20_000, 0), (30_000, 100)]


def test_inferred_activities_say_so_with_their_bounds() -> None:
    ops = [make.op("aten::mm", 10 * i, 10 * i + 8.5, id=i + 1) for i in range(5)]
    trace = make.trace(*ops, elapsed={i + 1: 20.0 for i in range(5)})
    assert trace.meta.timeline == "inferred"
    content = exported(trace)
    assert len(content.device) == len(trace.kernels)
    for row, activity in enumerate(content.device):
        args = activity["args"]
        assert args["inferred"] == "true"
        for name in ("start_bound_ns", "duration_bound_ns"):
            bound = getattr(trace.kernels, name)[row]
            assert args.get(name) == (None if bound == MISSING else str(bound))
        assert "(inferred)" in activity["queue"]
    # Without launches, the arrow starts at the operator.
    assert [content.submitted[of_op] for of_op in range(5)] == [[k + 1] for k in range(5)]


def test_backward_operators_are_tied_to_their_forward_one() -> None:
    content = exported(
        make.trace(
            make.op("aten::mul", 0, 5, id=1, **{"Sequence number": 4, "Fwd thread id": 0}),
            make.op("MulBackward0", 10, 15, id=2, thread=2,
                    **{"Sequence number": 4, "Fwd thread id": 1}),
        )
    )  # fmt: skip
    mul, backward = of(content, "aten::mul"), of(content, "MulBackward0")
    assert content.flows[mul] == content.flows[backward] != set()


def test_a_graph_launch_points_to_all_its_kernels() -> None:
    kernels = [make.kernel(f"k{i}", 10 + i, 11 + i, 5) for i in range(3)]
    trace = make.trace(make.op("a", 0, 9), make.launch(1, 2, 5), *kernels)
    content = exported(trace)
    assert content.submitted[of(content, "cudaLaunchKernel")] == [1, 2, 3]


def test_crossing_ranges_have_another_track() -> None:
    trace = make.trace(make.op("a", 0, 10, id=1), make.op("b", 5, 15, id=2))
    content = exported(trace)
    a, b = content.slices[of(content, "a")], content.slices[of(content, "b")]
    assert (a[2:], b[2:]) == ((0, 10_000), (5_000, 10_000))
    assert a[0] != b[0]
    assert "overlapping" in b[0]


def test_ranges_that_start_and_end_together_nest() -> None:
    """The frame is around the operator, which comes first in the tables."""
    trace = make.trace(make.op("a", 0, 5, id=1), make.frame("f", 0, 10), make.op("b", 5, 10, id=2))
    content = exported(trace)
    assert {s[1]: s[2:] for s in content.slices} == {
        "f": (0, 10_000),
        "a": (0, 5_000),
        "b": (5_000, 5_000),
    }


def test_a_window_has_overlapping_events() -> None:
    content = exported(measured(), Window(26_000, 50_000))
    names = {s[1] for s in content.slices if s[0] != "Steps"}
    assert names == {"aten::mm", "ProfilerStep#3", "train.py(3): step"}
    assert content.slices[of(content, "aten::mm")][2:] == (10_000, 30_000)
    assert [d["name"] for d in content.device] == ["gemm"]
    (name,) = [n for n in content.counters if n.startswith("Memory")]
    assert content.counters[name] == [(26_000, 192)]
    assert not exported(measured(), Window(56_000, 57_000)).device


def test_an_empty_trace_is_a_trace() -> None:
    content = exported(Trace())
    assert (content.slices, content.device, content.packets) == ([], [], 1)


def test_text_that_is_no_text() -> None:
    trace = make.trace(make.op("\ud83d \x00", 0, 5, id=1))
    assert len(exported(trace).slices) == 1


@needs_traces
@pytest.mark.parametrize("path", REAL, ids=lambda p: p.parent.name)
def test_a_real_trace_comes_back_whole(path: Path) -> None:
    trace = Store(jobs=0).trace(catalog.scan(str(path), READERS).find())
    content = exported(trace)
    for table in (trace.ops, trace.frames, trace.launches):
        wanted = Counter(
            zip(
                map(trace.text, table.name),
                table.start_ns.tolist(),
                (table.end_ns - table.start_ns).tolist(),
                strict=True,
            )
        )
        found = Counter(s[1:] for s in content.slices if s[0] != "Steps")
        assert not wanted - found
    own = [s for s in content.slices if s[0] != "Steps"]
    assert len(own) == len(trace.ops) + len(trace.frames) + len(trace.launches)
    kernels = trace.kernels
    assert [d["start"] for d in content.device] == np.sort(kernels.start_ns).tolist()
    by_id = {d["id"] - 1: d for d in content.device}
    full = [trace.text(name) for name in kernels.name]
    assert [by_id[i]["name"] for i in range(len(kernels))] == [*map(display_name, full)]
    linked = {kernel - 1 for ids in content.submitted for kernel in ids}
    assert linked == set(np.flatnonzero((kernels.launch >= 0) | (kernels.op >= 0)).tolist())
    steps = [name for name in map(trace.text, trace.steps.name) if name.startswith("ProfilerStep#")]
    assert [s[1] for s in content.slices if s[0] == "Steps"] == steps
