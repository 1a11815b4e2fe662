"""Memory of a device: figures, what is alive at the peak, allocations, operators, growth."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.memory import MemoryUse, memory
from tests.support import torch_tb_profiler
from tests.support.make import Event, annotation, frame, kernel, launch, op, step, trace
from tests.support.make import memory as event
from tests.support.repeats import sampled
from tests.support.shared_traces import FOLDER, TRACES, load, needs_traces

DIMS = "Input Dims"


def run() -> Trace:
    """100 bytes from before the recording, of which 30 go; 50 and 20 more; the 50 stay."""
    return trace(
        step(1, 0, 50), step(2, 50, 100),
        op("aten::relu", 10, 20, **{DIMS: [[5]]}), op("aten::empty", 11, 13),
        event(12, 50, 150, Addr=1),
        event(30, -30, 120, Addr=9),
        op("aten::mm", 60, 70, **{DIMS: [[2, 2]]}),
        event(61, 20, 140, Addr=2), event(80, -20, 120, Addr=2),
        event(5, 8, 8, device_type=0, Addr=7, **{"Device Id": -1}),
    )  # fmt: skip


def codes(result: MemoryUse) -> list[str]:
    return [note.code for note in result.notes]


def test_devices_and_figures() -> None:
    result = memory(run())
    assert [(d.device, d.label, d.events) for d in result.devices] == [
        ("20/0", "PrivateUse1 0", 4),
        ("0/-1", "CPU", 1),
    ]
    device = result.devices[0]
    assert (device.device_type, device.device_id) == (20, 0)
    assert (device.allocated_bytes, device.freed_bytes) == (70, 50)
    assert (device.peak_bytes, device.peak_at_ns, device.explained) == (150, 12_000, 1.0)
    assert device.peak_reserved_bytes is None
    assert device.capacity_bytes is None
    window = result.window
    assert result.device == "20/0"
    assert window is not None
    assert (window.at_start_bytes, window.at_end_bytes, window.peak_bytes) == (100, 120, 150)
    assert (window.start_ns, window.end_ns, window.events) == (0, 100_000, 4)
    assert result.basis == "allocated"
    assert codes(result) == []


def test_the_curve_starts_before_the_first_event_and_ends_with_the_recording() -> None:
    curve = [(p.time_ns, p.allocated_bytes) for p in memory(run()).curve]
    assert curve == [(0, 100), (12_000, 150), (30_000, 120), (61_000, 140), (80_000, 120),
                     (100_000, 120)]  # fmt: skip


def test_what_is_alive_at_the_peak_sums_to_it() -> None:
    rows = memory(run()).alive
    assert [(r.source, r.operator, r.input_shapes, r.allocations, r.bytes) for r in rows] == [
        ("earlier", None, None, None, 100),
        ("operator", "aten::relu", "[[5]]", 1, 50),
    ]
    assert sum(r.share for r in rows) == pytest.approx(1)


def test_a_step_and_a_range_have_their_own_peak_and_tables() -> None:
    for result in (memory(run(), step=2), memory(run(), start_ns=50_000)):
        assert result.window is not None
        assert (result.window.peak_bytes, result.window.peak_at_ns) == (140, 61_000)
        alive = {r.operator or r.source: r.bytes for r in result.alive}
        assert alive == {"earlier": 70, "aten::relu": 50, "aten::mm": 20}
        assert [r.operator for r in result.rows] == ["aten::mm"]
        assert [(o.operator, o.calls) for o in result.operators] == [("aten::mm", 1), (None, None)]
        assert result.curve[0].time_ns == 50_000
    assert memory(run(), step=1, start_ns=20_000).window.start_ns == 20_000  # type: ignore[union-attr]


def test_a_part_without_events_has_the_level_before_it() -> None:
    window = memory(run(), start_ns=90_000).window
    assert window is not None
    assert (window.peak_bytes, window.peak_at_ns, window.at_end_bytes) == (120, 90_000, 120)


def test_a_part_has_its_own_peak_of_reserved_memory() -> None:
    def reserved(ts: float, size: int, total: int, held: int) -> Event:
        return event(ts, size, total, **{"Total Reserved": held})

    one = trace(op("a", 0, 100), reserved(10, 50, 50, 80), reserved(40, -10, 40, 60))
    whole, part, before = (
        memory(one, **at).window for at in ({}, {"start_ns": 50_000}, {"end_ns": 5_000})
    )
    assert whole is not None
    assert part is not None
    assert before is not None
    assert whole.peak_reserved_bytes == 80
    assert (part.peak_bytes, part.peak_reserved_bytes) == (40, 60)
    assert before.peak_reserved_bytes is None


def test_allocations() -> None:
    rows = {r.bytes: r for r in memory(run()).rows}
    assert list(rows) == [50, 30, 20]
    held, earlier, released = rows[50], rows[30], rows[20]
    assert (held.operator, held.allocator, held.input_shapes) == (
        "aten::relu", "aten::empty", "[[5]]",
    )  # fmt: skip
    assert (held.allocated_ns, held.freed_ns, held.lifetime_ns) == (12_000, None, None)
    assert held.fate == "held"
    assert (earlier.operator, earlier.allocated_ns, earlier.freed_ns) == (None, None, 30_000)
    assert earlier.fate == "earlier"
    assert (released.lifetime_ns, released.fate, released.allocator) == (19_000, "released", None)


def test_a_page_of_allocations() -> None:
    result = memory(run(), limit=1, offset=1)
    assert ([r.bytes for r in result.rows], result.allocations) == ([30], 3)
    assert memory(run(), limit=0).rows == ()


def test_stacks_are_the_frames_around_the_operator() -> None:
    t = trace(frame("train.py(1): main", 0, 90), frame("net.py(5): forward", 5, 50),
              op("aten::mm", 10, 20), event(11, 4, 4))  # fmt: skip
    assert memory(t).rows[0].stack == "net.py(5): forward;train.py(1): main"
    told = trace(op("aten::mm", 10, 20, **{"Call stack": "a.py(1): f;b.py(2): g"}), event(11, 4, 4))
    assert memory(told).rows[0].stack == "a.py(1): f;b.py(2): g"


def test_operators_hold_those_inside_and_sums_close() -> None:
    t = trace(
        op("aten::linear", 0, 50), annotation("mine", 5, 45), op("aten::addmm", 10, 40),
        op("aten::addmm", 11, 39), op("aten::empty", 12, 14),
        event(13, 64, 64, Addr=1), event(20, 8, 72, Addr=2), event(30, -8, 64, Addr=2),
        event(90, -64, 0, Addr=1), op("aten::empty", 95, 99),
    )  # fmt: skip
    rows = {r.operator: r for r in memory(t).operators}

    def figures(name: str | None) -> tuple[int, ...]:
        r = rows[name]
        return (r.allocations, r.allocated_bytes, r.increase_bytes, r.self_allocations,
                r.self_allocated_bytes, r.self_increase_bytes)  # fmt: skip

    assert figures("aten::linear") == (2, 72, 64, 0, 0, 0)
    assert figures("aten::addmm") == (2, 72, 64, 1, 8, 0)  # alone in one of its name: one call
    assert figures("aten::empty") == (1, 64, 64, 1, 64, 64)
    assert figures(None) == (0, 0, -64, 0, 0, -64)
    assert {n: r.calls for n, r in rows.items()} == {
        "aten::linear": 1, "aten::addmm": 1, "aten::empty": 2, None: None,
    }  # fmt: skip
    assert sum(r.self_allocated_bytes for r in rows.values()) == 72
    assert sum(r.self_increase_bytes for r in rows.values()) == 0


def growing(*ends: int) -> Trace:
    """Steps of 10 us; each ends with so many bytes allocated."""
    events: list[Event] = []
    for i, (before, after) in enumerate(zip((100, *ends), ends, strict=False)):
        events += [step(i, i * 10, i * 10 + 10), event(i * 10 + 5, after - before, after, Addr=i)]
    return trace(*events)


@pytest.mark.parametrize(
    ("ends", "slope"),
    [
        ((110, 120, 130), 10),
        ((110, 120, 133, 141), 11),
        ((110, 120), None),
        ((110, 120, 120), None),
        ((110, 130, 120, 140), None),
    ],
)
def test_growth_is_an_increase_in_each_of_three_steps_or_more(
    ends: tuple[int, ...], slope: int | None
) -> None:
    result = memory(growing(*ends))
    growth = result.growth
    assert (growth and growth.bytes_per_step) == slope
    assert codes(result) == (["memory_grows"] if slope else [])
    assert [s.at_end_bytes for s in result.steps] == list(ends)


def test_an_incomplete_step_is_no_growth() -> None:
    events = [step(i, i * 10, i * 10 + 10) for i in range(3)]
    events += [event(i * 10 + 5, 10, 110 + i * 10, Addr=i) for i in range(3)]
    for i, at in enumerate((1, 2, 11, 12)):
        events += [launch(at, at + 0.5, i), kernel("k", at + 0.6, at + 0.9, i)]
    result = memory(trace(*events))
    assert [s.incomplete for s in result.steps] == [False, False, True]
    assert result.growth is None


def test_steps() -> None:
    first, second = memory(run()).steps
    assert (first.peak_bytes, first.at_end_bytes, first.change_bytes) == (150, 120, None)
    assert (second.peak_bytes, second.at_end_bytes, second.change_bytes) == (140, 120, 0)
    assert (first.allocations, first.allocated_bytes) == (1, 50)


def test_unreported_releases_are_said_and_not_called_alive() -> None:
    """The block at 1 is gone when its address is given out again; nobody said so."""
    t = trace(event(1, 50, 50, Addr=1), event(2, 40, 40, Addr=1), event(3, 90, 130, Addr=2))
    result = memory(t)
    assert [r.fate for r in result.rows] == ["held", "unreported", "held"]
    assert {r.bytes for r in result.alive} == {130}
    assert result.devices[0].explained == 0.5
    assert codes(result) == ["unexplained_totals"]


def test_what_no_event_explains_is_a_row_of_its_own() -> None:
    t = trace(op("a", 0, 9), event(1, 50, 50, Addr=1), event(2, 10, 40, Addr=2),
              event(3, 30, 70, Addr=3))  # fmt: skip
    rows = {r.source: r.bytes for r in memory(t).alive}
    assert rows == {"operator": 90, "unexplained": -20}


def test_another_device_is_chosen_by_type_and_index() -> None:
    assert memory(run(), device="0/-1").device == "0/-1"
    with pytest.raises(TraceError, match="no memory events of a device '1/0'") as error:
        memory(run(), device="1/0")
    assert "20/0 (PrivateUse1 0), 0/-1 (CPU)" in str(error.value.hint)


@pytest.mark.parametrize(
    "asked",
    [{"points": 9}, {"limit": -1}, {"offset": -1}, {"start_ns": 9, "end_ns": 9}, {"end_ns": -5}],
)
def test_bad_options(asked: dict[str, Any]) -> None:
    with pytest.raises(TraceError) as error:
        memory(run(), **asked)
    assert error.value.code == "bad_option"


def test_no_memory_events_say_why() -> None:
    assert codes(memory(Trace())) == ["no_memory_events"]
    asked = memory(trace(op("a", 0, 1), profile_memory=1))
    assert codes(asked) == ["memory_not_reported"]
    assert (asked.devices, asked.device, asked.window, asked.basis) == ((), None, None, None)
    assert asked.curve == ()


def test_a_backend_that_reports_nothing() -> None:
    host = event(5, 8, 8, device_type=0, **{"Device Id": -1})
    on_device = trace(op("a", 0, 9), launch(1, 2, 1), kernel("k", 3, 4, 1), host)
    assert codes(memory(on_device)) == ["device_not_reported"]
    assert codes(memory(trace(op("a", 0, 9), host))) == []


def test_without_totals_and_addresses() -> None:
    missing = {"Total Allocated": None, "Addr": None}
    t = trace(op("a", 0, 9), event(1, 50, 0, **missing), event(2, -20, 0, **missing))
    result = memory(t)
    assert codes(result) == ["no_totals", "no_addresses"]
    assert result.basis == "change"
    assert [p.allocated_bytes for p in result.curve] == [0, 50, 30, 30]
    device = result.devices[0]
    assert (device.peak_bytes, device.peak_at_ns, device.explained) == (None, None, None)
    assert result.alive == ()
    assert [(r.bytes, r.fate) for r in result.rows] == [(50, "unknown")]


def test_the_devices_memory() -> None:
    properties = [{"id": 0, "totalGlobalMem": 2**30}]
    result = memory(trace(op("a", 0, 1), event(0.5, 1, 1), deviceProperties=properties))
    assert result.devices[0].capacity_bytes == 2**30


@needs_traces
@pytest.mark.parametrize(
    "name",
    sampled(["h100_bert", "v100_resnet50_workers0", "v100_resnet50_workers4", "h100_nsfw_vit"]),
)
def test_operators_equal_those_of_torch_tb_profiler(name: str, tmp_path: Path) -> None:
    """It leaves out the steps, the optimizer's ranges and what is outside of all operators."""
    path = next((FOLDER / "cuda" / name).glob("*.pt.trace.json.gz"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = torch_tb_profiler.module("profiler.data")
        theirs = data.RunProfileData.parse("worker", "span", str(path), str(tmp_path))
        theirs.process()
        statistics = theirs.memory_snapshot.get_memory_statistics(theirs.tid2tree)
    ours = load(path)
    for device, told in (("1/0", statistics["GPU0"]), ("0/-1", statistics["CPU"])):
        rows = {r.operator: r for r in memory(ours, device=device).operators}
        assert told
        assert {
            name: [r.self_increase_bytes, r.self_allocated_bytes, r.self_allocations,
                   r.increase_bytes, r.allocated_bytes, r.allocations, r.calls]
            for name in told if (r := rows.get(name))
        } == dict(told)  # fmt: skip


def test_what_is_alive_at_the_peak_by_module_and_phase() -> None:
    """A layer keeps 40 bytes, its backward pass makes 20, and the optimizer's state is 10."""
    links = {"Sequence number": 7}
    backward = {**links, "Fwd thread id": 1}
    made = trace(
        frame("nn.Module: Linear_3", 5, 30),
        op("aten::mm", 10, 20, **links),
        op("autograd::engine::evaluate_function: MmBackward0", 40, 60, **backward),
        op("aten::mm", 45, 55, **backward),
        annotation("Optimizer.step#Adam.step", 70, 90),
        event(15, 40, 140, Addr=4096),
        event(50, 20, 160, Addr=8192),
        event(75, 10, 170, Addr=12288),
    )
    result = memory(made)
    rows = [(r.module, r.phase, r.allocations, r.bytes) for r in result.alive_modules]
    assert rows == [
        (None, "earlier", None, 100),
        ("Linear", "forward", 1, 40),
        ("Linear", "backward", 1, 20),
        (None, "optimizer", 1, 10),
    ]
    assert sum(r.share for r in result.alive_modules) == pytest.approx(1)


def test_what_a_part_allocated_and_did_not_release() -> None:
    """Of three lines, one releases its block, one keeps two, and one keeps one from earlier on."""
    made = trace(
        frame("train.py(3): setup", 0, 10), op("aten::empty", 1, 9),
        frame("nn.Module: Linear_3", 20, 30), frame("train.py(7): forward", 21, 29),
        op("aten::mm", 22, 28),
        frame("train.py(9): keep", 40, 60), op("aten::clone", 41, 59),
        event(5, 100, 100, Addr=1), event(25, 40, 140, Addr=2),
        event(45, 8, 148, Addr=3), event(50, 8, 156, Addr=4), event(55, -40, 116, Addr=2),
    )  # fmt: skip
    whole = memory(made)
    rows = [(r.name, r.operator, r.allocations, r.bytes) for r in whole.remaining_functions]
    assert rows == [
        ("setup (train.py)", "aten::empty", 1, 100),
        ("keep (train.py:9)", "aten::clone", 2, 16),
    ]
    assert sum(r.share for r in whole.remaining_functions) == pytest.approx(1)
    part = memory(made, start_ns=20_000, end_ns=52_000)
    assert [(r.name, r.bytes) for r in part.remaining_functions] == [
        ("Linear.forward (train.py:7)", 40), ("keep (train.py:9)", 16),
    ]  # fmt: skip
    assert [(r.name, r.operator, r.bytes) for r in part.remaining_modules] == [
        ("Linear", "aten::mm", 40), (None, "aten::clone", 16),
    ]  # fmt: skip
    assert memory(Trace()).remaining_functions == ()


def test_what_was_alive_at_the_peak_by_function() -> None:
    """Of 200 bytes at the peak 50 are from before, and 2 blocks of one function are 120."""
    made = trace(
        frame("train.py(3): setup", 0, 10), op("aten::empty", 1, 9),
        frame("train.py(9): keep", 40, 60), op("aten::clone", 41, 59), op("aten::mm", 70, 80),
        event(5, 30, 80, Addr=1), event(45, 60, 140, Addr=2), event(50, 60, 200, Addr=3),
        event(55, -60, 140, Addr=2), event(75, 7, 147, Addr=4),
    )  # fmt: skip
    result = memory(made)
    rows = [
        (r.source, r.function, r.operator, r.allocations, r.bytes) for r in result.alive_functions
    ]
    assert rows == [
        ("operator", "keep (train.py:9)", "aten::clone", 2, 120),
        ("earlier", None, None, None, 50),
        ("operator", "setup (train.py)", "aten::empty", 1, 30),
    ]
    assert sum(r.share for r in result.alive_functions) == pytest.approx(1)
    assert memory(Trace()).alive_functions == ()


def test_a_format_that_has_no_memory_says_so() -> None:
    without = replace(Trace(), meta=replace(Trace().meta, reader="nsight"))
    assert codes(memory(without)) == ["format_without_memory"]


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES, 24), ids=lambda p: p.parent.name)
def test_what_remains_is_what_the_allocations_say(path: Path) -> None:
    """By function, by module and by single allocation the bytes are the same."""
    result = memory(load(path), limit=1 << 30)
    held = [r.bytes for r in result.rows if r.fate == "held"]
    for rows in (result.remaining_functions, result.remaining_modules):
        assert sum(r.bytes for r in rows) == sum(held)
        assert sum(r.allocations for r in rows) == len(held)
