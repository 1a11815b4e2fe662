"""Device rates: work of activities joined with the roofs, and sums of groups."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.roofs.rates import (
    device_rates,
    group_figures,
    modeled_time,
    over_links,
)
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.vendors import VENDORS
from tests.support import make
from tests.support.repeats import sampled
from tests.support.roof_limits import impossible_rows
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.work.calls import tensor, texts

N = 1024
FLOPS, BYTES = 2 * N**3, 3 * 4 * N**2


def products(*durations: float) -> Trace:
    """Return a trace of a product per duration, in us, each with one kernel."""
    events, at = [], 0.0
    args = texts("aten::mm", tensor(N, N), tensor(N, N))
    for i, duration in enumerate(durations, 1):
        events += [
            make.op("aten::mm", at, at + 5, **args),
            make.launch(at + 1, at + 2, i),
            make.kernel("k", at + 10, at + 10 + duration, i),
        ]
        at += duration + 20.001  # a clock of nanoseconds
    return make.trace(*events)


def everything(trace: Trace) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.zeros(len(trace.kernels), np.int64)


def test_rates_of_a_product() -> None:
    (found,) = group_figures(products(1000), np.zeros(1, np.int64), 1)
    assert (found.flops, found.bytes, found.modeled_ns) == (FLOPS, BYTES, 1_000_000)
    assert found.tflop_per_s == pytest.approx(FLOPS / 1e9)
    assert found.gb_per_s == pytest.approx(BYTES / 1e6)
    assert found.flops_per_byte == pytest.approx(FLOPS / BYTES)


def test_a_slower_call_is_above_the_best_rate_of_the_recording() -> None:
    t = products(500, 1000, 500)
    assert modeled_time(t, np.ones(3, np.bool_)).compute_source == "best_seen"
    fast, slow, _ = group_figures(t, np.arange(3), 3)
    assert fast.roof_share == pytest.approx(1, abs=0.01)
    assert slow.roof_share == pytest.approx(0.5, abs=0.01)
    assert slow.above_roof_ns == pytest.approx(500_000, rel=0.01)


def test_groups_add_up_and_rows_without_a_group_do_not_count() -> None:
    t = products(500, 1000, 500)
    one, two = group_figures(t, np.array([0, 1, -1]), 2)
    whole = group_figures(t, np.array([0, 0, -1]), 1)[0]
    assert whole.flops == 2 * FLOPS == (one.flops or 0) + (two.flops or 0)
    assert whole.above_roof_ns == (one.above_roof_ns or 0) + (two.above_roof_ns or 0)


def test_a_recording_without_shapes_says_how_to_get_them() -> None:
    t = make.trace(make.op("aten::mm", 0, 5), make.launch(1, 2, 1), make.kernel("k", 9, 19, 1))
    found = modeled_time(t, np.ones(1, np.bool_))
    assert (found.modeled_ns, found.modeled_share) == (0, 0.0)
    assert "record_shapes=True" in (found.hint or "")
    (figures,) = group_figures(t, np.zeros(1, np.int64), 1)
    assert figures.flops is figures.bytes is figures.roof_share is figures.above_roof_ns is None


def test_with_shapes_there_is_no_hint_and_communication_does_not_count() -> None:
    t = products(1000)
    assert modeled_time(t, np.ones(1, np.bool_)).modeled_share == 1
    assert modeled_time(t, np.ones(1, np.bool_)).hint is None
    empty = modeled_time(Trace(), np.zeros(0, np.bool_))
    assert (empty.modeled_share, empty.compute_source) == (None, None)


def test_a_type_without_a_rate_in_the_data_sheet_has_no_roof() -> None:
    """The best rate of the recording is no roof beside rates that a user's file gives."""
    events, at = [], 0
    peak = Peak(re.compile("mine"), matrix=Rates(bf16=100), source="user_file")
    known = [replace(vendor, peaks=(peak,)) for vendor in VENDORS]
    for i, kind in enumerate(("c10::BFloat16", "float"), 1):
        inputs = texts("aten::mm", tensor(N, N, dtype=kind), tensor(N, N, dtype=kind))
        events += [
            make.op("aten::mm", at, at + 5, **inputs),
            make.launch(at + 1, at + 2, i),
            make.kernel("k", at + 10, at + 500, i),
        ]
        at += 1000
    t = make.trace(*events, known=known, deviceProperties=[{"id": 0, "name": "mine"}])
    found = modeled_time(t, np.ones(2, np.bool_))
    assert found.compute_source == "user_file"
    assert {one.dtype: one.source for one in found.compute_sources} == {"bf16": "user_file"}
    assert modeled_time(t, np.array([True, False])).compute_source == "user_file"
    assert modeled_time(t, np.array([False, True])).compute_source is None


@pytest.mark.parametrize(
    ("name", "apart"),
    [
        ("Memcpy HtoD (Pinned -> Device)", True),
        ("Memcpy DtoH (Device -> Pageable)", True),
        ("Memcpy DtoD (Device -> Device)", False),
        ("copyDeviceToDevice", False),
        ("copy", True),
    ],
)
def test_the_memory_is_no_roof_of_copies_over_links(name: str, apart: bool) -> None:
    args = texts("aten::copy_", tensor(N, N), tensor(N, N), False)
    t = make.trace(
        make.op("aten::copy_", 0, 5, **args),
        make.launch(1, 2, 1),
        make.kernel(name, 10, 1010, 1, category="gpu_memcpy"),
    )
    assert over_links(t).tolist() == [apart]
    (found,) = group_figures(t, np.zeros(1, np.int64), 1)
    assert found.bytes == 2 * 4 * N**2
    assert (found.roof_share is None) == apart


def test_the_other_kernels_of_a_product_on_the_unit_count_as_on_the_unit() -> None:
    args = texts("aten::mm", tensor(N, N), tensor(N, N))
    events = [make.op("aten::mm", 0, 9, **args), make.op("aten::mm", 90, 99, **args)]
    names = "ampere_fp16_s16816gemm", "splitKreduce", "splitKreduce"
    for i, (name, at) in enumerate(zip(names, (1, 3, 91), strict=True), 1):
        events += [make.launch(at, at + 1, i), make.kernel(name, 20 * i, 20 * i + 10, i)]
    t = make.trace(*events, deviceProperties=[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}])
    assert device_rates(t).rows.on_unit.tolist() == [True, True, False]


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda path: path.parent.name)
def test_rates_of_real_recordings(path: Path) -> None:
    t = load(path)
    rates = device_rates(t)
    fast = impossible_rows(
        rates.rows, rates.given, tf32=rates.tf32, resolution_ns=rates.resolution_ns
    )
    assert not fast.any(), "faster than 105 % of the data sheet"
    known = rates.rows.flops != MISSING
    (found,) = group_figures(t, everything(t), 1)
    assert (found.flops or 0) == int(rates.rows.flops[known].sum())
    roofed = rates.values.attainable_ns != MISSING
    time = int(rates.rows.duration_ns[roofed].sum())
    assert (found.attainable_ns or 0) + (found.above_roof_ns or 0) == time
    assert found.modeled_ns >= time


V100 = [path for path in TRACES if path.parent.name.startswith("v100_resnet50_workers")]


@needs_traces
@pytest.mark.parametrize("path", V100, ids=lambda path: path.parent.name)
def test_winograd_is_not_impossible(path: Path) -> None:
    """This card has no data sheet of its own; none of its kind is faster than this one."""
    t = load(path)
    cards = tuple({**card, "name": "Tesla V100-SXM2-32GB"} for card in t.meta.devices)
    rates = device_rates(replace(t, meta=replace(t.meta, devices=cards)))
    rows, step = rates.rows, rates.resolution_ns
    assert not impossible_rows(rows, rates.given, resolution_ns=step).any()
    counted = replace(rows, at_most=np.zeros_like(rows.at_most))
    fast = impossible_rows(counted, rates.given, resolution_ns=step)
    names = {t.text(t.ops.name[op]) for op in t.kernels.op[fast].tolist()}
    assert names
    assert all("convolution" in name for name in names)
    assert rates.values.above_roof_ns[fast].tolist() == [0] * int(fast.sum())
