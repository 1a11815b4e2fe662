"""Where torch-tb-profiler is right, on traces of its time, its tables and ours are equal.

docs/guide/migration.md says where we differ deliberately.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tb_privateuse1 import inference
from tb_privateuse1.analysis.counters import sm_occupancy
from tb_privateuse1.readers import chrome
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import KERNEL, Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support import torch_tb_profiler

FOLDER = Path(__file__).parents[3] / "shared" / "traces" / "cuda"
PARTS = {
    "Kernel": "kernel_ns",
    "Memcpy": "memcpy_ns",
    "Memset": "memset_ns",
    "Communication": "communication_ns",
    "Runtime": "runtime_ns",
    "DataLoader": "dataloader_ns",
    "CpuOp": "cpu_ns",
    "Other": "other_ns",
    "Total": "duration_ns",
}
NO_OPERATORS = ("ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#")
"""Ranges that torch wrote as operators then. It leaves them out; here they are listed."""

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")


@pytest.fixture(scope="module", params=["v100_resnet50_workers0", "v100_resnet50_workers4"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Trace, Any]:
    """A trace as we and as it have read it."""
    (path,) = (FOLDER / request.param).glob("*.pt.trace.json.gz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = torch_tb_profiler.module("profiler.data")
        folder = tmp_path_factory.mktemp("parity")
        theirs = data.RunProfileData.parse("worker", "span", str(path), str(folder))
    return inference.build_trace(
        chrome.read(str(path)), None, worker="worker", files=(path.name,)
    ), theirs


def ns(us: float) -> int:
    """Its times are float us; those of these traces are whole."""
    return round(us * 1000)


def test_the_steps(both: tuple[Trace, Any]) -> None:
    trace, theirs = both
    ours = overview(trace, window="all")
    assert [step.name for step in ours.steps] == [f"ProfilerStep#{n}" for n in theirs.steps_names]
    roles = torch_tb_profiler.module("profiler.overall_parser").ProfileRole
    for step, costs in zip(ours.steps, theirs.steps_costs, strict=True):
        assert {role: getattr(step, part) for role, part in PARTS.items()} == {
            role: ns(costs.costs[roles[role]]) for role in PARTS
        }
    assert ours.average_step_ns == ns(theirs.avg_costs.costs[roles["Total"]])


def test_how_full_the_multiprocessors_are(both: tuple[Trace, Any]) -> None:
    """In its window, from the first step to the end of the last."""
    trace, theirs = both
    (gpu,) = theirs.used_devices
    steps = trace.steps
    ours = sm_occupancy.sm_efficiency(trace, trace.kernels, steps.start_ns[:1], steps.end_ns[-1:])
    assert ours == pytest.approx(
        theirs.gpu_metrics_parser.avg_approximated_sm_efficiency_per_device[gpu], rel=1e-6
    )
    assert sm_occupancy.occupancy(trace, trace.kernels) == pytest.approx(
        theirs.gpu_metrics_parser.avg_occupancy_per_device[gpu] / 100, rel=1e-6
    )


@pytest.mark.parametrize("group", ["name", "shapes"])
def test_the_operators(both: tuple[Trace, Any], group: Any) -> None:
    trace, theirs = both
    shaped = group == "shapes"
    told = theirs.op_list_groupby_name_input if shaped else theirs.op_list_groupby_name
    ours = {
        (row.name, compact(row.input_shapes) if shaped else ""): (
            row.calls, row.host_self_ns, row.host_total_ns, row.device_self_ns, row.device_total_ns
        )
        for row in operators(trace, group=group, window="all").rows
        if row.name and not row.name.startswith(NO_OPERATORS)
    }  # fmt: skip
    assert len(ours) > 60
    assert ours == {
        (op.name, compact(op.input_shape) if shaped else ""): (
            op.calls,
            *map(ns, (op.self_host_duration, op.host_duration)),
            *map(ns, (op.self_device_duration, op.device_duration)),
        )
        for op in told
    }


def compact(shapes: object) -> str:
    return str(shapes or "").replace(" ", "")


def test_the_kernels(both: tuple[Trace, Any]) -> None:
    trace, theirs = both
    ours = {
        row.full_name: (row.calls, row.total_ns, row.min_ns, row.max_ns)
        for row in kernels(trace, group="name", window="all").rows
        if row.kind == "kernel"
    }
    assert len(ours) > 60
    assert ours == {
        name: (row["count"], ns(row["sum"]), ns(row["min"]), ns(row["max"]))
        for name, row in theirs.kernel_stat.iterrows()
    }


def test_the_kernels_by_operator(both: tuple[Trace, Any]) -> None:
    trace, theirs = both
    ours = {
        (row.full_name, row.operator): (row.calls, row.total_ns)
        for row in kernels(trace, window="all").rows
        if row.kind == "kernel"
    }
    told: dict[tuple[str, str], tuple[int, int]] = {}
    for row in theirs.kernel_list_groupby_name_op:  # a row per grid and block
        calls, total = told.get((row.name, row.op_name), (0, 0))
        told[row.name, row.op_name] = calls + row.calls, total + ns(row.total_duration)
    assert ours == told


def test_how_kernels_were_launched(both: tuple[Trace, Any]) -> None:
    trace, theirs = both
    ours = {
        (row.full_name, row.operator, row.grid, row.block, row.registers, row.shared_bytes): (
            row.calls, row.total_ns, row.min_ns, row.max_ns, rounded(row.blocks_per_sm),
            rounded(row.occupancy, 100),
        )
        for row in kernels(trace, group="launch", window="all").rows
        if row.kind == "kernel"
    }  # fmt: skip
    assert len(ours) > 200
    assert ours == {
        (row.name, row.op_name, compact(row.grid), compact(row.block), row.regs_per_thread,
         row.shared_memory): (
            row.calls, ns(row.total_duration), ns(row.min_duration), ns(row.max_duration),
            *((None, None) if row.total_duration == 0 else  # of no time there is no mean
              (rounded(row.avg_blocks_per_sm), rounded(row.avg_occupancy))),
        )
        for row in theirs.kernel_list_groupby_name_op
    }  # fmt: skip


def rounded(value: float | None, times: int = 1) -> float | None:
    return None if value is None else round(value * times, 6)


def test_the_occupancy_of_kernels(both: tuple[Trace, Any]) -> None:
    trace, theirs = both
    ours = {
        row.full_name: (rounded(row.blocks_per_sm), rounded(row.occupancy, 100), row.mean_ns)
        for row in kernels(trace, group="name", window="all").rows
        if row.kind == "kernel"
    }
    assert ours == {
        name: (rounded(row["blocks_per_sm"]), rounded(row["occupancy"]), ns(row["mean"]))
        for name, row in theirs.kernel_stat.iterrows()
    }


def test_the_curve_of_memory(both: tuple[Trace, Any]) -> None:
    """Traces of that time have no totals: both sum up the changes of each device.

    The table of operators is compared in tests/unit/views/test_memory.py.
    """
    trace, theirs = both
    for one in memory(trace).devices:
        kind = 0 if one.label.startswith("CPU") else 1
        own = [r for r in theirs.memory_snapshot.memory_records if r.device_type == kind]
        assert one.events == len(own)
        assert one.allocated_bytes == sum(r.bytes for r in own if r.bytes > 0)
        assert one.freed_bytes == -sum(r.bytes for r in own if r.bytes < 0)
        assert one.peak_bytes is None
    assert not theirs.memory_snapshot.get_peak_memory()


def test_how_much_of_the_steps_the_device_computes(both: tuple[Trace, Any]) -> None:
    """Its GPU utilization counts kernels, ours copies and fills too: both from the same union."""
    trace, theirs = both
    k, steps = trace.kernels, trace.steps
    own = k.kind == KERNEL
    union = intervals.union(k.start_ns[own], k.end_ns[own])
    start, end = steps.host_start_ns.min(), steps.end_ns.max()
    (busy,) = intervals.covered_length(union, np.array([start]), np.array([end]))
    told = theirs.gpu_metrics_parser.gpu_utilization[0]
    assert told == pytest.approx(busy / (end - start), abs=1e-9)
    ours = overview(trace, window="all").utilization
    assert ours is not None
    assert told < ours < told + 0.05
