"""Points, roofs and time by distance on programs whose work is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1.analysis.roofs.distance import DISTANCES
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.roofline import Roofline, RooflineRow, roofline
from tests.support import make
from tests.support.repeats import sampled
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.work.calls import tensor, texts

N = 1024
FLOPS, BYTES = 2 * N**3, 3 * 4 * N**2


def calls(*some: tuple[str, dict[str, Any], float], step: int | None = None) -> list[Any]:
    """Return an operator with one kernel for each name, arguments and duration in us."""
    events: list[Any] = [] if step is None else [make.step(step, 0, 100_000)]
    at = 1.0
    for i, (name, args, duration) in enumerate(some, 1):
        events += [
            make.op(name, at, at + 5, **args),
            make.launch(at + 1, at + 2, i),
            make.kernel(f"{name} kernel", at + 10, at + 10 + duration, i),
        ]
        at += duration + 20.001  # a clock of nanoseconds
    return events


def product(duration: float, n: int = N, **kind: str) -> tuple[str, dict[str, Any], float]:
    return "aten::mm", texts("aten::mm", tensor(n, n, **kind), tensor(n, n, **kind)), duration


def unknown(duration: float) -> tuple[str, dict[str, Any], float]:
    return "acme::odd", {}, duration


def check_sums(result: Roofline) -> None:
    """Every ns of the answer is at exactly one distance, in the bar and in each row."""
    if result.device_ns is None:
        assert (result.rows, result.distances, result.others_ns) == ((), (), None)
        return
    assert [d.distance for d in result.distances] == list(DISTANCES)
    assert sum(d.device_ns or 0 for d in result.distances) == result.device_ns
    shown = sum(row.device_ns for row in result.rows)
    assert shown + (result.others_ns or 0) == result.device_ns
    for row in result.rows:
        assert sum(getattr(row, f"{name}_ns") for name in DISTANCES) == row.device_ns
    if not result.others_ns:
        for part in result.distances:
            whole = sum(getattr(row, f"{part.distance}_ns") for row in result.rows)
            assert whole == part.device_ns
    for part in result.distances:
        assert part.device_ns is not None
        assert part.low_ns <= part.device_ns
        assert part.high_ns is None or part.high_ns >= part.device_ns


def one(result: Roofline, **wanted: object) -> RooflineRow:
    (row,) = [r for r in result.rows if all(getattr(r, k) == v for k, v in wanted.items())]
    return row


def test_a_point_has_its_work_and_its_distance() -> None:
    result = roofline(make.trace(*calls(product(500), product(1000), unknown(100))))
    check_sums(result)
    row = one(result, name="aten::mm")
    assert (row.calls, row.flops, row.bytes, row.product) == (2, 2 * FLOPS, 2 * BYTES, True)
    assert row.tflop_per_s == pytest.approx(2 * FLOPS / 1.5e9)
    assert row.flops_per_byte == pytest.approx(FLOPS / BYTES)
    assert (row.above_80_ns, row.above_20_ns + row.above_50_ns) == (500_000, 1_000_000)
    assert row.above_roof_ns == result.above_roof_ns == pytest.approx(500_000, rel=0.01)
    assert (row.dtype, row.roof, row.kind) == ("fp32", "fp32", "kernel")
    lost = one(result, name="acme::odd")
    assert (lost.unknown_ns, lost.flops, lost.roof_share, lost.limit) == (100_000, None, None, None)
    assert [(u.name, u.device_ns, u.calls) for u in result.unknown] == [("acme::odd", 100_000, 1)]


def test_by_shape_and_kernel_and_module() -> None:
    frame = make.frame("nn.Module: Linear_0", 0, 520)
    t = make.trace(frame, *calls(product(500), product(100, 512)))
    shapes = roofline(t, by="shape")
    assert [row.input_shapes for row in shapes.rows] == ["[[1024,1024],[1024,1024]]",
                                                         "[[512,512],[512,512]]"]  # fmt: skip
    assert {row.operator for row in shapes.rows} == {"aten::mm"}
    assert [row.name for row in roofline(t, by="kernel").rows] == ["GEMM mm"]
    modules = roofline(t, by="module")
    assert {row.name: row.device_ns for row in modules.rows} == {"Linear_0": 500_000, "": 100_000}
    for result in (shapes, modules):
        check_sums(result)


def test_points_of_different_types_are_apart_and_can_be_chosen() -> None:
    t = make.trace(*calls(product(5000), product(3000, dtype="c10::BFloat16")))
    both = roofline(t)
    assert {(row.dtype, row.roof) for row in both.rows} == {("fp32", "fp32"), ("bf16", "bf16")}
    assert {r.name: r.device_ns for r in both.roofs if r.kind == "compute"} == {
        "fp32": 5_000_000,
        "bf16": 3_000_000,
    }
    chosen = roofline(t, dtype="bf16")
    assert [row.dtype for row in chosen.rows] == ["bf16"]
    assert chosen.device_ns == 3_000_000
    check_sums(chosen)


def test_roofs_of_a_data_sheet_have_their_source() -> None:
    device: Any = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
    t = make.trace(*calls(product(500, dtype="c10::BFloat16")), **device)
    result = roofline(t)
    roofs = {roof.name: roof for roof in result.roofs}
    assert (roofs["bf16 matrix"].rate, roofs["bf16 matrix"].source) == (989e12, "data_sheet")
    assert roofs["memory"].rate == 3350e9
    assert {roof.kind for roof in result.roofs} == {"compute", "memory"}
    assert result.rows[0].roof_share == pytest.approx(FLOPS / 989e12 / 500e-6, rel=1e-3)


def test_copies_over_links_and_communication_have_no_roof() -> None:
    t = make.trace(
        *calls(product(5000)),
        make.kernel("Memcpy HtoD (Pinned -> Device)", 9000, 9010, category="gpu_memcpy"),
        make.kernel("ncclDevKernel_AllReduce", 9020, 9040),
    )
    result = roofline(t)
    check_sums(result)
    parts = {d.distance: d.device_ns for d in result.distances}
    assert parts["unknown"] == 10_000  # no operator says how much it copies
    assert parts["no_roof"] == 20_000


def test_the_limit_leaves_rows_out_but_no_time() -> None:
    t = make.trace(*calls(product(500), unknown(100), ("aten::odd", {}, 40)))
    result = roofline(t, limit=1)
    assert (len(result.rows), result.total_rows, result.others_ns) == (1, 3, 140_000)
    rest = roofline(t, limit=10, offset=1)
    assert [row.device_ns for row in rest.rows] == [100_000, 40_000]
    check_sums(result)
    check_sums(rest)


def test_without_shapes_all_is_unknown_and_a_hint_says_why() -> None:
    result = roofline(make.trace(*calls(("aten::mm", {}, 100))))
    assert "record_shapes=True" in (result.modeled.hint or "")
    assert {d.distance: d.device_ns for d in result.distances}["unknown"] == 100_000
    assert (result.above_roof_ns, result.roofs) == (None, ())


def test_an_empty_trace_has_no_rows() -> None:
    result = roofline(Trace())
    assert (result.rows, result.device_ns, result.outliers) == ((), None, ())
    check_sums(result)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"step": 9}, "There is no step 9"), ({"limit": -1}, "at least 0"), ({"offset": -1}, "0")],
)
def test_odd_options_are_errors(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TraceError, match=message):
        roofline(make.trace(make.step(1, 0, 100)), **options)


def test_a_step_has_its_own_activities() -> None:
    t = make.trace(make.step(1, 0, 100), make.step(2, 100, 200), *calls(product(50), product(50)))
    assert sum(roofline(t, step=n).device_ns or 0 for n in (1, 2)) == roofline(t).device_ns
    check_sums(roofline(t, step=1))


@needs_traces
@pytest.mark.parametrize("path", sampled(TRACES, 24), ids=lambda path: path.parent.name)
def test_sums_close_on_real_recordings(path: Path) -> None:
    t = load(path)
    whole = kernels(t).total_ns
    for by in ("operator", "shape", "module", "kernel"):
        result = roofline(t, by=by, limit=200)
        check_sums(result)
        assert result.device_ns == whole
        for row in result.rows:
            if row.roof_share is not None:
                low, high = row.roof_share_low, row.roof_share_high
                assert low is None or low <= row.roof_share + 1e-12
                assert high is None or row.roof_share <= high + 1e-12
