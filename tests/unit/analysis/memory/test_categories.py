"""Purpose of memory: the rules."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.memory import MemoryUse, memory
from tests.support.make import Event, annotation, frame, op, trace
from tests.support.make import memory as event
from tests.unit.analysis.memory.test_parameter_sizes import accumulate
from tests.unit.analysis.steps.test_training_phases import backward, forward


def iteration(at: float, batch: int) -> list[Event]:
    """Build one iteration: load, compute, reset; each allocation is identified by its size."""
    a = batch * 16
    return [
        annotation("enumerate(DataLoader)#_Single.__next__", at, at + 10),
        op("aten::stack", at + 1, at + 5), event(at + 2, 3, 0, Addr=a + 9),
        event(at + 3, 10, 0, Addr=a), event(at + 6, -3, 0, Addr=a + 9),
        op("aten::to", at + 11, at + 13), event(at + 12, 20, 0, Addr=a + 1),
        forward("aten::linear", at + 20, at + 30, batch), op("aten::addmm", at + 21, at + 29),
        event(at + 22, 30, 0, Addr=a + 2), event(at + 23, 5, 0, Addr=a + 3),
        event(at + 25, -5, 0, Addr=a + 3),
        backward(at + 40, at + 50, batch), op("aten::mm", at + 41, at + 45),
        event(at + 42, 40, 0, Addr=a + 4), event(at + 43, 7, 0, Addr=a + 5),
        event(at + 47, -7, 0, Addr=a + 5), event(at + 48, -30, 0, Addr=a + 2),
        annotation("Optimizer.step#SGD.step", at + 60, at + 70),
        op("aten::mul", at + 61, at + 63), event(at + 62, 11, 0, Addr=a + 6),
        event(at + 64, -11, 0, Addr=a + 6),
        annotation("Optimizer.zero_grad#SGD.zero_grad", at + 80, at + 90),
        event(at + 81, -40, 0, Addr=a + 4), event(at + 91, -10, 0, Addr=a),
        event(at + 92, -20, 0, Addr=a + 1),
    ]  # fmt: skip


def totals(before: int, events: list[Event]) -> list[Event]:
    """Return the same events with their totals."""
    for one in sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: e["ts"]):
        before += one["args"]["Bytes"]
        one["args"]["Total Allocated"] = before
    return events


def training() -> Trace:
    state = [op("aten::zeros", 165, 168), event(166, 50, 0, Addr=90)]
    return trace(
        *totals(0, [*iteration(0, 1), *iteration(100, 2), *state]), op("aten::x", 300, 301)
    )


def by_size(result: MemoryUse) -> dict[int, str]:
    return {row.bytes: row.category for row in result.rows}


def test_place_and_lifetime_determine_the_category() -> None:
    """Place and lifetime determine the category."""
    assert by_size(memory(training())) == {
        10: "inputs", 20: "inputs", 30: "activations", 40: "gradients", 50: "optimizer_state",
        3: "temporaries", 5: "temporaries", 7: "temporaries", 11: "temporaries",
    }  # fmt: skip


def test_categories_sum_to_the_total_at_each_time() -> None:
    """Categories sum to the total at each time."""
    result = memory(training())
    peak = result.window and result.window.peak_bytes
    assert sum(row.at_peak_bytes for row in result.categories) == peak
    assert sum(row.share for row in result.categories) == pytest.approx(1)
    allocated = {p.time_ns: p.allocated_bytes for p in result.curve}
    for point in result.category_curve:
        sizes = [getattr(point, f"{row.category}_bytes") for row in result.categories]
        assert sum(sizes) == allocated[point.time_ns]
    gradients = {r.category: r for r in result.categories}["gradients"]
    assert (gradients.peak_bytes, gradients.peak_at_ns) == (40, 42_000)
    assert (gradients.allocations, gradients.allocated_bytes) == (2, 80)


def test_a_selected_part_has_its_own_rows() -> None:
    """A selected part has its own rows."""
    result = memory(training(), start_ns=120_000, end_ns=135_000)
    rows = {row.category: row for row in result.categories}
    assert (rows["inputs"].at_start_bytes, rows["inputs"].allocations) == (30, 0)
    assert (rows["activations"].peak_bytes, rows["activations"].at_end_bytes) == (30, 30)


def test_remaining_allocations_of_a_constructor_are_parameters() -> None:
    """Allocations of a module's constructor that stay are parameters."""
    t = trace(*totals(0, [
        frame("torch/nn/modules/linear.py(1): __init__", 0, 30), op("aten::empty", 1, 3),
        event(2, 100, 0, Addr=1), op("aten::uniform_", 4, 8), event(5, 9, 0, Addr=2),
        event(6, -9, 0, Addr=2), *iteration(40, 1),
    ]))  # fmt: skip
    assert by_size(memory(t))[100] == "parameters"
    assert by_size(memory(t))[9] == "temporaries"


def test_what_a_module_computes_without_gradients_is_activations() -> None:
    """A module's results without gradients are activations."""
    t = trace(*totals(0, [
        op("aten::randn", 0, 3), event(1, 64, 0, Addr=1), event(90, -64, 0, Addr=1),
        frame("nn.Module: Linear_0", 10, 30), op("aten::linear", 11, 20), event(12, 32, 0, Addr=2),
        event(50, -32, 0, Addr=2), op("aten::softmax", 40, 45), event(41, 16, 0, Addr=3),
        event(95, -16, 0, Addr=3),
    ]))  # fmt: skip
    assert by_size(memory(t)) == {64: "inputs", 32: "activations", 16: "unknown"}


def test_gradients_are_unknown_in_a_cut_backward_pass() -> None:
    """In a cut backward pass gradients are unknown."""
    t = trace(*totals(0, [
        forward("aten::mm", 0, 5, 1), backward(10, 20, 1), event(12, 40, 0, Addr=1),
    ]))  # fmt: skip
    assert by_size(memory(t)) == {40: "unknown"}


def test_releasing_range_determines_earlier_blocks() -> None:
    """The releasing range determines the category of earlier blocks."""
    t = trace(*totals(60, [
        forward("aten::mm", 1, 5, 1), backward(8, 19, 1), event(12, -10, 0, Addr=1),
        annotation("Optimizer.zero_grad#SGD.zero_grad", 20, 30), event(25, -20, 0, Addr=2),
        event(40, -30, 0, Addr=3),
    ]))  # fmt: skip
    assert by_size(memory(t)) == {10: "activations", 20: "gradients", 30: "unknown"}
    starts = {r.category: r.at_start_bytes for r in memory(t).categories if r.at_start_bytes}
    assert starts == {"activations": 10, "gradients": 20, "unknown": 30}


def lasting_memory(before: int) -> dict[str, int]:
    events = [
        forward("aten::mm", 0, 5, 1), backward(8, 9, 1),
        *accumulate(10, [25], "float", add=True), event(12, 4, 0, Addr=1),
        event(13, -4, 0, Addr=1), annotation("Optimizer.step#Adam.step", 30, 40),
        op("aten::add_", 50, 51),
    ]  # fmt: skip
    rows = memory(trace(*totals(before, events))).categories
    return {row.category: row.at_start_bytes for row in rows if row.at_start_bytes}


def test_shapes_and_optimizer_size_earlier_memory() -> None:
    """Shapes and optimizer give the size of earlier memory."""
    assert lasting_memory(450) == {
        "parameters": 100, "optimizer_state": 200, "gradients": 100, "unknown": 50,
    }  # fmt: skip
    assert lasting_memory(250) == {"parameters": 100, "optimizer_state": 150}
    assert lasting_memory(0) == {}


def test_no_categories_without_totals_or_addresses() -> None:
    """Without totals or addresses there are no categories."""
    assert memory(Trace()).categories == ()
    gone: dict[str, Any] = {"Addr": None}
    assert memory(trace(event(1, 8, 8, **gone))).category_curve == ()
