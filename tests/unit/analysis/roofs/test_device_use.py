"""MFU, HFU and throughput of steps, and why they are unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.analysis.roofs.device_use import DeviceUse, device_use
from tests.support import make
from tests.support.make import Event
from tests.unit.analysis.work.calls import tensor, texts

N = 1024
FLOPS = 2 * N**3
PEAK = 989.4e12
H100: dict[str, Any] = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
HALF = "c10::BFloat16"


def product(at: float, number: int, *, end: float | None = None, **args: Any) -> list[Event]:
    inputs = texts("aten::mm", tensor(N, N, dtype=HALF), tensor(N, N, dtype=HALF))
    return [
        make.op("aten::mm", at, at + 5, **inputs, **args),
        make.launch(at + 1, at + 2, number, thread=args.get("thread", 1)),
        make.kernel("sm90_xmma_gemm", at + 10, end or at + 20, number),
    ]


def steps(count: int) -> list[Event]:
    """Return steps of 100 us with a product each."""
    marks = [make.step(i, 100 * (i - 1), 100 * i) for i in range(1, count + 1)]
    return marks + [e for i in range(count) for e in product(100 * i + 10, i + 1)]


def of_window(one: Window) -> DeviceUse:
    return device_use(one.trace, one.complete_steps, one.time, one.kernels)


def use(*events: Event, row: int | None = None, **keys: Any) -> DeviceUse:
    t = make.trace(*events, **({**H100, **keys}))
    return of_window(Window(t, "all") if row is None else Window(t, "step", row))


def test_the_flops_of_products_by_the_peak() -> None:
    found = use(*steps(3))
    assert found.mfu == found.hfu == pytest.approx(FLOPS / 100e-6 / PEAK, rel=0.01)
    assert (found.mfu_low, found.mfu_high) == (found.mfu, found.mfu)
    assert (found.product_flops, found.known_share) == (FLOPS, 1)
    assert found.use_missing is None
    assert [one.step for one in found.step_shares] == [f"ProfilerStep#{i}" for i in (1, 2, 3)]
    assert found.step_shares[0].mfu == pytest.approx(found.mfu)


def test_a_selected_step_has_its_own() -> None:
    events = [*steps(2), *product(130, 9)]
    assert use(*events, row=1).mfu == pytest.approx(2 * (use(*events, row=0).mfu or 0))
    assert use(*events, row=1).product_flops == 2 * FLOPS


def test_two_devices_have_twice_the_peak() -> None:
    other = [{**e, "args": {**e["args"], "device": 1}} for e in product(40, 9)]
    two: dict[str, Any] = {
        "deviceProperties": [{"id": i, "name": "NVIDIA H100 80GB HBM3"} for i in (0, 1)]
    }
    assert use(*steps(1), *other, **two).mfu == pytest.approx(use(*steps(1)).mfu)


def test_recomputed_products_are_in_hfu_only() -> None:
    forward = product(10, 1, **{"Sequence number": 7, "Fwd thread id": 0})
    again = product(50, 2, thread=2, **{"Sequence number": 9, "Fwd thread id": 0})
    link = {"Sequence number": 7, "Fwd thread id": 1, "thread": 2}
    node = make.op("autograd::engine::evaluate_function: ReluBackward0", 49, 60, **link)
    found = use(make.step(1, 0, 100), *forward, *again, node)
    assert found.hfu == pytest.approx(2 * (found.mfu or 0))
    assert found.product_flops == 2 * FLOPS
    # Without a gradient of its own it is the backward pass itself.
    plain = product(50, 2, thread=2)
    found = use(make.step(1, 0, 100), *forward, *plain, node)
    assert found.hfu == found.mfu
    # Nor is what the forward pass did not compute, such as a second derivative.
    found = use(make.step(1, 0, 100), *again, node)
    assert found.hfu == found.mfu


def test_inferred_steps_have_a_range() -> None:
    t = make.trace(make.step(1, 0, 100), *product(10, 1, end=150), **H100)
    errors = {"start_bound_ns": np.array([4000]), "duration_bound_ns": np.array([6000])}
    found = of_window(Window(replace(t, kernels=replace(t.kernels, **errors)), "step", 0))
    for name in ("mfu", "hfu", "samples_per_s"):
        value, low, high = (getattr(found, name + end) for end in ("", "_low", "_high"))
        assert low == pytest.approx(value * 150 / 160)
        assert high == pytest.approx(value * 150 / 140)


def test_samples_per_second() -> None:
    found = use(*steps(3))
    assert found.samples_per_s == pytest.approx(N / 100e-6)
    assert found.samples_per_s_low == found.samples_per_s == found.samples_per_s_high
    assert found.tokens_per_s is None
    assert found.tokens_missing


def test_what_is_missing_is_said_with_what_to_do() -> None:
    assert "vendor file" in (use(*steps(2), deviceProperties=[]).use_missing or "")
    bare = [{**e, "args": {k: v for k, v in e["args"].items() if not k.startswith("Input")}}
            for e in steps(2)]  # fmt: skip
    found = use(*bare)
    assert "record_shapes=True" in (found.use_missing or "")
    assert found.use_missing == found.samples_missing == found.tokens_missing
    assert "device times" in (use(make.op("aten::mm", 0, 5)).use_missing or "")
    copies = make.op("aten::copy_", 0, 5, **texts("aten::copy_", tensor(N), tensor(N), False))
    only = [copies, make.launch(1, 2, 1), make.kernel("copy", 10, 20, 1)]
    assert "No matrix product" in (use(*only).use_missing or "")
    whole = {"Input type": ["long int", "long int"]}
    integers = [{**e, "args": {**e["args"], **whole}} if e["name"] == "aten::mm" else e
                for e in steps(2)]  # fmt: skip
    assert "peak of the types" in (use(*integers).use_missing or "")


def test_best_rates_of_the_recording_are_no_peak() -> None:
    long = [make.step(1, 0, 5000), *product(10, 1, end=4000)]
    assert use(*long, deviceProperties=[]).mfu is None
