"""Memory of two traces side by side: figures per device, and what operators allocate."""

from __future__ import annotations

import numpy as np
import pytest

from tb_privateuse1.analysis.comparison import memory as comparison_memory
from tb_privateuse1.analysis.comparison.memory import DiffAllocator, DiffMemory, format_amount
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64
from tests.support.make import Event, memory, op, step, trace


def events(*steps: tuple[int, int], device_type: int = 1, retained: int = 0) -> list[Event]:
    """Build steps of 100 µs in which ``aten::mm`` allocates by ``aten::empty``, and ``aten::add``.

    Both are released again, except for ``retained`` bytes of each step.
    """
    made: list[Event] = []
    total = 1000
    for i, (mm, add) in enumerate(steps):
        at = 100 * i
        made += [
            step(i, at, at + 100), op("aten::mm", at + 10, at + 20),
            op("aten::empty", at + 11, at + 13), op("aten::add", at + 30, at + 40),
        ]  # fmt: skip
        where = {"device_type": device_type}
        for time, change in ((12, mm), (35, add), (60, retained - mm - add)):
            total += change
            addresses = {"Total Reserved": 8192 if total > 1500 else 4096, "Addr": 4096 * time + i}
            if change:
                made.append(memory(at + time, change, total, **where, **addresses))
    return made


def steps(one: Trace) -> I64:
    return np.arange(len(one.steps))


def figures(base: Trace, now: Trace) -> dict[tuple[str, str], DiffMemory]:
    found = comparison_memory.compare_devices(base, now, steps(base), steps(now))
    assert len({(f.device, f.name) for f in found}) == len(found)
    return {(f.device, f.name): f for f in found}


def allocators(base: Trace, now: Trace) -> dict[str, DiffAllocator]:
    return {
        r.name: r for r in comparison_memory.compare_allocators(base, now, steps(base), steps(now))
    }


def test_figures_per_step() -> None:
    """Each figure is a mean over the steps of both traces."""
    base, now = trace(*events(*[(300, 100)] * 4)), trace(*events(*[(500, 200)] * 4, retained=10))
    found = figures(base, now)
    rows = {name: (f.base, f.now, f.change, f.verdict) for (_, name), f in found.items()}
    assert rows == {
        # 1000 held from before, 10 more with each step
        "peak": (1400, 1715, 315, "more"),
        "peak_reserved": (4096, 8192, 4096, "more"),
        "at_end": (1000, 1025, 25, "within_noise"),
        "growth": (0, 10, 10, "more"),
        "allocated": (400, 700, 300, "more"),
        "allocations": (2, 2, 0, "same"),
        "recording_peak": (1400, 1730, 330, "unknown"),
    }
    assert {f.device for f in found.values()} == {"CUDA 0"}
    assert found["CUDA 0", "allocations"].unit == "allocations"
    assert found["CUDA 0", "allocated"].change_share == 0.75
    assert found["CUDA 0", "growth"].change_share is None
    # Peaks of 1700, 1710, 1720, 1730 against four of 1400: Welch's interval at 3 degrees.
    deviation = np.std([1700, 1710, 1720, 1730], ddof=1)
    assert found["CUDA 0", "peak"].noise == round(5.841 * deviation / 2)


def test_what_lies_within_the_spread_is_noise() -> None:
    """A change smaller than the spread over steps is noise."""
    base = trace(*events((300, 100), (700, 100), (300, 100), (700, 100)))
    now = trace(*events((350, 100), (700, 100), (350, 100), (700, 100)))
    assert figures(base, now)["CUDA 0", "peak"].verdict == "within_noise"
    assert allocators(base, now)["aten::mm"].verdict == "within_noise"
    assert allocators(base, now)["aten::add"].verdict == "same"


def test_a_single_step_has_no_spread() -> None:
    """With one step the noise is unknown."""
    found = figures(trace(*events((300, 1))), trace(*events((500, 1))))
    assert found["CUDA 0", "peak"].change == 200
    assert found["CUDA 0", "peak"].noise is None
    assert found["CUDA 0", "peak"].verdict == "unknown"
    assert ("CUDA 0", "growth") not in found  # nothing is before the first


def test_allocations_by_operator() -> None:
    """Allocations are attributed to the operator that does more than allocate."""
    base = trace(*events(*[(300, 100)] * 3))
    now = trace(*events(*[(500, 0)] * 3), op("aten::late", 250, 255), memory(251, 60, 99999,
                device_type=1))  # fmt: skip
    found = comparison_memory.compare_allocators(base, now, steps(base), steps(now))
    assert [(r.name, r.status, r.base_bytes, r.now_bytes, r.change_bytes) for r in found] == [
        ("aten::mm", "both", 300, 500, 200),  # not the aten::empty inside
        ("aten::add", "gone", 100, 0, -100),
        ("aten::late", "new", 0, 20, 20),  # in one of three steps
    ]
    assert found[2].now_allocations == pytest.approx(1 / 3)
    assert found[0].change_share == pytest.approx(2 / 3)
    assert found[2].change_share is None
    whole = figures(base, now)["CUDA 0", "allocated"]
    assert sum(r.now_bytes for r in found) == whole.now
    assert sum(r.base_bytes for r in found) == whole.base


def test_devices_of_different_kinds_stand_side_by_side() -> None:
    """Different accelerators are compared pairwise."""
    cpu = memory(12, 64, 64, device_type=0)
    base = trace(*events((300, 1), (300, 1)), cpu)
    now = trace(*events((500, 1), (500, 1), device_type=20))
    found = figures(base, now)
    devices = list(dict.fromkeys(device for device, _ in found))
    assert devices == ["CUDA 0 / PrivateUse1 0", "CPU"]
    assert found[devices[0], "peak"].change == 200
    gone = found["CPU", "allocated"]
    assert (gone.base, gone.now, gone.change, gone.verdict) == (32, None, None, "unknown")


def test_chosen_steps_alone_count() -> None:
    """Only the chosen steps count."""
    base, now = trace(*events((300, 1), (900, 1))), trace(*events((300, 1), (400, 1)))
    (peak,) = (
        f
        for f in comparison_memory.compare_devices(base, now, np.array([1]), np.array([1]))
        if f.name == "peak"
    )
    assert (peak.base, peak.now) == (1901, 1401)
    rows = comparison_memory.compare_allocators(base, now, np.array([1]), np.array([0]))
    assert {r.name: (r.base_bytes, r.now_bytes) for r in rows}["aten::mm"] == (900, 300)


@pytest.mark.parametrize("other", [Trace(), trace(op("a", 0, 9)), trace(step(1, 0, 9))])
def test_without_memory_there_is_nothing(other: Trace) -> None:
    """Traces without memory events give no rows."""
    assert figures(other, other) == {}
    assert allocators(other, other) == {}
    one = trace(*events((300, 1)))
    assert figures(one, other)["CUDA 0", "peak"].now is None
    assert allocators(other, one)["aten::mm"].status == "new"


def test_a_trace_without_totals_or_sizes_of_absurd_kinds() -> None:
    """Missing totals and absurd sizes raise no error."""
    bare = events((300, 1), (300, 1))
    for event in bare:
        for key in ("Total Allocated", "Total Reserved"):
            event["args"].pop(key, None)
    names = {name for _, name in figures(trace(*bare), trace(*bare))}
    assert names == {"allocated", "allocations"}
    odd = trace(step(0, 0, 9), memory(1, 2**47, 2**47, device_type=-5), op("a", 0, 9))
    assert figures(odd, odd)
    assert allocators(odd, odd)


def test_what_no_operator_allocates_is_a_row() -> None:
    """Allocations outside of operators have their own row."""
    one = trace(step(0, 0, 50), memory(5, 8, 8), op("a", 10, 20), memory(15, 2, 10))
    rows = allocators(Trace(), one)
    # The step is an annotation: no operator.
    assert {name: r.now_bytes for name, r in rows.items()} == {
        comparison_memory.OUTSIDE: 8, "a": 2,
    }  # fmt: skip


def test_amounts_in_words() -> None:
    """Bytes have a unit, counts have separators."""
    assert format_amount("bytes", 1536) == "1.500 KiB"
    assert format_amount("allocations", 12345.0) == "12,345"
    assert format_amount("allocations", 2.25) == "2.2"
    assert format_amount("allocations", None) == "-"
