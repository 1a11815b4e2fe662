"""Two traces side by side."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.analysis.comparison.items_per_step import By
from tb_privateuse1.analysis.comparison.rows import DiffRow
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.views.diff import Diff, diff
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tests.support.make import Event, annotation, frame, kernel, launch, op, step, trace
from tests.support.uncertain import pair
from tests.unit.analysis.work.calls import tensor, texts


def events(*gemm: float, other: str = "aten::relu", shapes: object = None) -> list[Event]:
    """A step per argument: ``aten::mm`` in a module, whose kernel takes so many us, and another."""
    made: list[Event] = []
    told = {} if shapes is None else {"Input Dims": shapes}
    for i, took in enumerate(gemm):
        at = 1000.0 * i
        made += [
            step(i, at, at + 900),
            frame("nn.Module: Net_0", at + 5, at + 200),
            op("aten::mm", at + 10, at + 30, **told), launch(at + 11, at + 12, 10 * i + 1),
            kernel("gemm", at + 40, at + 40 + took, 10 * i + 1),
            op(other, at + 300, at + 310), launch(at + 301, at + 302, 10 * i + 2),
            kernel("small", at + 400, at + 402, 10 * i + 2),
        ]  # fmt: skip
    return made


def run(*gemm: float, other: str = "aten::relu", shapes: object = None) -> Trace:
    return trace(*events(*gemm, other=other, shapes=shapes))


def closes(result: Diff) -> None:
    """Outermost rows sum to the totals, and the parts of the step to it, but for rounding."""
    outermost = [r for r in result.rows if r.parent is None]
    for side in ("base", "now"):
        total = sum(getattr(r, f"{side}_ns") for r in outermost)
        assert abs(total - getattr(result, f"{side}_total_ns")) <= len(outermost)
        step, *parts = (getattr(f, f"{side}_ns") for f in result.figures)
        assert None in parts or abs(sum(parts) - step) <= len(parts)
    for i, r in enumerate(result.rows):
        inside = [c for c in result.rows if c.parent == i]
        if result.time == "device":
            assert sum(c.now_ns or 0 for c in inside) <= (r.now_ns or 0) + len(inside)


def row(result: Diff, name: str) -> DiffRow:
    return next(r for r in result.rows if r.name == name)


def test_operators_per_step() -> None:
    result = diff(run(30, 32), run(20, 22, 24))
    assert (result.time, result.base_steps, result.now_steps) == ("device", 3, 2)
    found = result.rows[0]
    assert (found.name, found.status) == ("aten::mm", "both")
    assert (found.base_ns, found.now_ns, found.change_ns) == (22_000, 31_000, 9_000)
    assert found.change_share == pytest.approx(9 / 22)
    assert (found.base_calls, found.now_calls) == (1, 1)
    same = row(result, "aten::relu")
    assert (same.change_ns, same.noise_ns, same.verdict) == (0, 0, "same")


@pytest.mark.long
def test_a_change_within_the_spread_is_no_finding() -> None:
    steady = row(diff(run(30, 31, 30, 31), run(20, 21, 20, 21)), "aten::mm")
    assert steady.verdict == "longer"
    assert steady.noise_ns is not None
    assert 0 < steady.noise_ns < 10_000
    noisy = row(diff(run(10, 60, 15, 40), run(5, 55, 12, 42)), "aten::mm")
    assert noisy.verdict == "within_noise"
    once = row(diff(run(30), run(20)), "aten::mm")
    assert (once.noise_ns, once.verdict) == (None, "unknown")


def test_new_and_gone() -> None:
    result = diff(run(20, 20, other="aten::gelu"), run(20, 20))
    new, gone = row(result, "aten::gelu"), row(result, "aten::relu")
    assert (new.status, new.base_ns, new.change_share) == ("new", 0, None)
    assert (gone.status, gone.now_ns, gone.change_share) == ("gone", 0, -1)


def test_by_shapes() -> None:
    result = diff(run(20, 20, shapes=[[4]]), run(20, 20, shapes=[[8]]), by="shapes")
    found = {(r.name, r.detail): r.status for r in result.rows}
    assert found["aten::mm", "[[4]]"] == "new"
    assert found["aten::mm", "[[8]]"] == "gone"
    assert found["aten::relu", None] == "both"


def test_by_kernels_and_modules() -> None:
    now, base = run(30, 30), run(20, 20)
    gemm = row(diff(now, base, by="kernels"), "gemm")
    assert (gemm.detail, gemm.change_ns) == ("kernel", 10_000)
    net = row(diff(now, base, by="modules"), "Net_0")
    assert (net.base_ns, net.now_ns, net.now_calls) == (20_000, 30_000, 1)
    host = row(diff(now, base, by="modules", time="host"), "Net_0")
    assert (host.base_ns, host.now_ns) == (195_000, 195_000)


@pytest.mark.long
def test_rows_come_in_pages() -> None:
    one, other = run(100), run(300)
    for by in ("operators", "modules", "kernels"):
        whole = diff(one, other, by=by)
        assert whole.total_rows == len(whole.rows)
        shown = [
            row
            for offset in range(whole.total_rows)
            for row in diff(one, other, by=by, limit=1, offset=offset).rows
        ]
        assert shown == [replace(row, parent=None) for row in whole.rows]
        first = diff(one, other, by=by, limit=1)
        assert (first.total_rows, first.now_total_ns) == (whole.total_rows, whole.now_total_ns)
        assert diff(one, other, by=by, offset=99).rows == ()
    with pytest.raises(TraceError, match="at least 0"):
        diff(one, other, limit=-1)


def test_one_step_of_each() -> None:
    result = diff(run(30, 50), run(20, 90), step=1, base_step=0)
    assert row(result, "aten::mm").change_ns == 30_000
    with pytest.raises(TraceError, match="no step 7"):
        diff(run(30), run(20), base_step=7)


def test_figures_of_the_step() -> None:
    result = diff(run(30, 30), run(20, 20))
    figures = {f.name: f for f in result.figures}
    assert figures["step"].base_ns == figures["step"].now_ns == 900_000
    assert (figures["kernel"].base_ns, figures["kernel"].now_ns) == (22_000, 32_000)
    assert figures["kernel"].verdict == "longer"
    parts = [f.now_ns for f in result.figures if f.name != "step"]
    assert sum(p for p in parts if p is not None) == 900_000


@pytest.mark.long
def test_it_agrees_with_the_other_views() -> None:
    now, base = run(30, 34), run(20, 20)
    by_operator = {r.name: r.device_self_ns for r in operators(now).rows}
    for r in diff(now, base).rows:
        assert by_operator[r.name] == 2 * (r.now_ns or 0)
        assert r.change_ns == r.device_change_ns
    by_kernel = {r.name: r.total_ns for r in kernels(now, group="name").rows}
    for r in diff(now, base, by="kernels").rows:
        assert by_kernel[r.name] == 2 * (r.now_ns or 0)
    by_host = {r.name: r.host_self_ns for r in operators(now).rows}
    for r in diff(now, base, time="host").rows:
        assert by_host[r.name] == 2 * (r.now_ns or 0)
    (net,) = modules(now).rows
    assert net.device_total_ns == 2 * (row(diff(now, base, by="modules"), "Net_0").now_ns or 0)


def test_without_device_times_it_compares_the_host() -> None:
    host = trace(
        step(0, 0, 90), op("aten::mm", 10, 50), step(1, 100, 190), op("aten::mm", 110, 130)
    )
    result = diff(run(20, 20), host)
    assert result.time == "host"
    assert row(result, "aten::mm").base_ns == 30_000
    assert "one_without_device" in {n.code for n in result.notes}


def test_notes() -> None:
    one = run(20)
    assert {n.code for n in diff(one, one).notes} == {"same_trace", "few_steps"}
    guessed = trace(op("aten::mm", 10, 40, id=1), elapsed={1: 100})
    assert "inferred" in {n.code for n in diff(guessed, run(20, 20)).notes}


def test_another_program_is_named() -> None:
    half = trace(op("aten::mm", 10, 40), op("aten::relu", 50, 60))
    for other, is_other in (("aten::relu", False), ("aten::conv2d", True)):
        now = trace(op(other, 10, 40), op("aten::add", 50, 60), op("aten::mm", 70, 80))
        found = {n.code for n in diff(now, half).notes}
        assert ("other_program" in found) == is_other


def test_nothing_and_a_base() -> None:
    assert diff(Trace(), Trace()).rows == ()
    assert {r.status for r in diff(Trace(), run(20), time="device").rows} == {"gone"}


@pytest.mark.parametrize("by", ["operators", "shapes", "kernels", "modules", "annotations"])
@pytest.mark.parametrize("time", ["device", "host"])
def test_sums_close(by: By, time: Literal["device", "host"]) -> None:
    outside = kernel("stray", 600, 607, 99)
    now, base = trace(*events(30, 33, 35), outside), trace(*events(20, 27))
    closes(diff(now, base, by=by, time=time))


def test_device_time_without_an_operator_is_a_row() -> None:
    now = trace(*events(30, 30, 30), kernel("stray", 600, 660, 99))
    result = diff(now, run(30, 30))
    stray = row(result, "(no parent operator)")
    assert (stray.status, stray.base_ns, stray.now_ns, stray.now_calls) == ("new", 0, 20_000, 0)
    assert (result.now_total_ns or 0) - (result.base_total_ns or 0) == 20_000
    outside = row(diff(now, run(30, 30), by="modules"), "(outside of modules)")
    assert (outside.base_ns, outside.now_ns) == (2_000, 22_000)


def test_host_and_device_beside_each_other() -> None:
    slow = [dict(e, dur=e["dur"] + 7) if e["name"] == "aten::mm" else e for e in events(25, 25)]
    result = diff(trace(*slow), run(20, 20))
    found = row(result, "aten::mm")
    assert (found.device_change_ns, found.host_change_ns) == (5_000, 7_000)
    gemm = row(diff(trace(*slow), run(20, 20), by="kernels"), "gemm")
    assert (gemm.device_change_ns, gemm.host_change_ns) == (5_000, None)


def test_modules_are_a_tree() -> None:
    def nested(us: float) -> Trace:
        deep = [e for i in (0, 1000) for e in (frame("nn.Module: Linear_0", i + 6, i + 100),)]
        return trace(*events(us, us), *deep)

    result = diff(nested(30), nested(20), by="modules")
    inner = row(result, "Net_0 / Linear_0")
    assert inner.parent is not None
    assert result.rows[inner.parent].name == "Net_0"
    assert (inner.change_ns, result.rows[inner.parent].change_ns) == (10_000, 10_000)


def test_annotations() -> None:
    def marked(us: float) -> Trace:
        return trace(
            *events(us, us), annotation("forward", 8, 60), annotation("forward", 1008, 1060)
        )

    result = diff(marked(30), marked(20), by="annotations")
    forward = row(result, "forward")
    assert (forward.base_ns, forward.now_ns, forward.now_calls) == (20_000, 30_000, 1)


def test_a_row_whose_outer_one_began_before_the_steps_counts_in_the_total() -> None:
    """What begins in no step is no row: those inside of it belong to the next row around."""
    one = trace(
        annotation("run", 0, 3000), annotation("epoch", 10, 990), step(1, 100, 190),
        annotation("fit", 110, 900), annotation("batch", 192, 290), step(2, 200, 290),
        annotation("forward", 210, 280), op("aten::mm", 220, 230), step(3, 1000, 1090),
        annotation("validate", 1010, 1050),
    )  # fmt: skip
    result = diff(one, one, by="annotations", window="all")
    forward, fit = "run / epoch / fit / batch / forward", "run / epoch / fit"
    assert {r.name for r in result.rows} == {forward, fit, "run / validate"}
    around = row(result, forward).parent
    assert around is not None
    assert result.rows[around].name == fit
    assert result.now_total_ns == round((790_000 + 40_000) / 3)
    closes(result)


@pytest.mark.long
def test_a_change_within_the_bounds_is_said_to_be_so() -> None:
    def within(us: float, bound_ns: int) -> Trace:
        """As if inferred: every kernel may be so much shorter or longer."""
        made = run(us, us)
        bounds = np.full(len(made.kernels), bound_ns)
        alike = np.zeros(len(made.kernels), np.int32)
        kernels = replace(made.kernels, duration_bound_ns=bounds, error_group=alike)
        return replace(made, kernels=kernels)

    close = row(diff(within(26, 4_000), within(20, 6_000)), "aten::mm")
    assert (close.change_ns, close.bound_ns, close.verdict) == (6_000, 7_416, "within_bound")
    far = diff(within(28, 4_000), within(20, 6_000))
    assert row(far, "aten::mm").verdict == "longer"
    bounds = {f.name: f.bound_ns for f in far.figures}
    assert bounds["kernel"] == 14_832  # of both kernels, on both sides
    assert bounds["other"] == 20_000  # where they lie counts, too: the worst case
    assert bounds["memcpy"] == 0
    assert bounds["step"] == 0  # they end before the host's range, however long they are
    assert row(diff(within(31, 4_000), run(20, 20), time="host"), "aten::mm").bound_ns == 0
    unknown = row(diff(within(31, int(MISSING)), run(20, 20)), "aten::mm")
    assert (unknown.bound_ns, unknown.verdict) == (None, "unknown")


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_only_inferred_differently_is_within_the_bounds(seed: int, lanes: int) -> None:
    figures = diff(*pair(seed, lanes)).figures
    assert {f.name for f in figures} > {"step", "kernel", "other"}
    for figure in figures:
        assert figure.change_ns is not None
        assert figure.bound_ns is not None
        assert abs(figure.change_ns) <= figure.bound_ns
        assert figure.verdict in ("same", "within_bound")


def test_steps_are_paired_by_their_order() -> None:
    result = diff(run(30, 30, 30), run(20, 20))
    assert [(s.base, s.now, s.change_ns) for s in result.steps] == [
        ("ProfilerStep#0", "ProfilerStep#0", 0), ("ProfilerStep#1", "ProfilerStep#1", 0),
        (None, "ProfilerStep#2", None),
    ]  # fmt: skip


def test_the_same_trace_has_no_change() -> None:
    one = run(30, 31)
    result = diff(one, one, by="shapes")
    assert {r.verdict for r in result.rows} == {"same"}
    assert {f.verdict for f in result.figures} == {"same"}


def shaped(*durations: float) -> Trace:
    """Return a step per duration, with a product in a module whose kernel lasts so long, in us."""
    made: list[Event] = []
    inputs = texts("aten::mm", tensor(256, 256), tensor(256, 256))
    for i, us in enumerate(durations):
        at = 10_000 * i
        made += [
            step(i + 1, at, at + 9000),
            frame("nn.Module: Net_0", at, at + 60),
            op("aten::mm", at + 10, at + 20, **inputs),
            launch(at + 11, at + 12, i),
            kernel("gemm", at + 30, at + 30 + us, i),
        ]
    return trace(*made)


@pytest.mark.parametrize(
    ("by", "name"),
    [("operators", "aten::mm"), ("shapes", "aten::mm"), ("kernels", "gemm"), ("modules", "Net_0")],
)
def test_the_same_work_on_a_slower_device(by: By, name: str) -> None:
    result = diff(shaped(4000, 4000, 4000), shaped(2000, 2000), by=by)
    one = row(result, name)
    flops = 2 * 256**3
    assert (one.base_flops, one.now_flops) == (flops, flops), "per step"
    assert one.base_tflop_per_s == pytest.approx(flops / 2000e6)
    assert one.now_tflop_per_s == pytest.approx(flops / 4000e6)
    assert one.base_gb_per_s == pytest.approx(2 * (one.now_gb_per_s or 0))
    assert one.base_roof_share == pytest.approx(1, abs=0.01)


def test_a_row_without_work_has_no_rates() -> None:
    result = diff(shaped(200, 200), run(10, 10))
    one = row(result, "aten::mm")
    assert one.base_flops is one.base_tflop_per_s is one.base_roof_share is None
    assert one.now_flops == 2 * 256**3
    gone = row(diff(trace(step(1, 0, 10)), shaped(200, 200), by="modules"), "Net_0")
    assert (gone.status, gone.now_flops, gone.base_flops) == ("gone", None, 2 * 256**3)


def test_work_agrees_with_the_other_views() -> None:
    t = shaped(200, 300)
    views: dict[By, Any] = {"operators": operators, "kernels": kernels, "modules": modules}
    for by, view in views.items():
        one = diff(t, t, by=by).rows[0]
        other = next(r for r in view(t).rows if r.name == one.name)
        assert one.now_flops == round((other.flops or 0) / 2)
        for key in ("tflop_per_s", "gb_per_s", "roof_share"):
            assert getattr(one, f"now_{key}") == getattr(one, f"base_{key}") == getattr(other, key)


def test_operators_that_only_the_base_has_a_kernel_for_are_named() -> None:
    def norms(parts: int) -> Trace:
        made: list[Event] = []
        for i in range(3):
            at = 1000.0 * i
            made += [step(i, at, at + 900), op("aten::native_layer_norm", at + 5, at + 100)]
            for part in range(parts):
                number, begin = 10 * i + part, at + 10 + 10 * part
                made += [op(f"aten::part_{part}", begin, begin + 8)]
                made += [launch(begin + 1, begin + 2, number)]
                made += [kernel("k", begin + 5, begin + 10, number)]
        return trace(*made)

    (found,) = (note for note in diff(norms(5), norms(1)).notes if note.severity == "info")
    assert found.code == "decomposed_operators"
    assert "aten::native_layer_norm (5 instead of 1, 100 % of the device's time)" in found.message
    assert "decomposed_operators" not in {note.code for note in diff(norms(1), norms(5)).notes}
