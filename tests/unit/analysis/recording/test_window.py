"""The window of an answer: the same rows and time for every figure of it."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.recording.window import Window, WindowKind
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.lookups.hotspots import hotspots
from tb_privateuse1.views.overview import Overview, overview
from tb_privateuse1.views.whatif import whatif
from tests.support import make
from tests.support.program import device_bound
from tests.support.repeats import sampled
from tests.support.results import result
from tests.support.shared_traces import TRACES, load, needs_traces
from tests.unit.analysis.recording.test_phases import called, slow_launch

START_UP = slow_launch("gemm", 20_000).trace()
"""Four steps, the first of them with 20 ms of start-up."""


def drained() -> Trace:
    """One step, in whose first half the device runs what was launched before the recording."""
    return make.trace(
        make.step(1, 0, 1000), make.kernel("earlier", 1, 480),
        make.op("aten::mm", 10, 30), make.launch(12, 14, 1), make.kernel("gemm", 500, 900, 1),
        make.op("aten::add", 40, 60), make.launch(42, 44, 2), make.kernel("add", 900, 990, 2),
    )  # fmt: skip


def test_the_steady_steps_without_start_up() -> None:
    window = Window(START_UP, "steady")
    assert (window.kind, window.steps.tolist()) == ("steady", [1, 2, 3])
    assert window.facts.recorded_steps == 3
    assert window.facts.text.startswith("steady: ")
    assert not window.kernels[START_UP.kernels.step == 0].any()
    assert window.kernels[START_UP.kernels.step > 0].all()


def test_everything_is_every_row() -> None:
    window = Window(START_UP, "all")
    assert window.kernels.all()
    assert window.ops.all()
    assert window.facts.text.startswith("all: ")


def test_a_step_is_named() -> None:
    window = Window(START_UP, "step", 2)
    assert window.facts.text.startswith(START_UP.text(START_UP.steps.name[2]))
    assert (window.kernels == (START_UP.kernels.step == 2)).all()


def test_without_anything_steady_it_is_everything() -> None:
    made = make.trace(
        make.op("aten::empty", 0, 6_000_000), called("cudaMalloc", 0, 5_000_000),
        called("cudaFree", 5_000_010, 5_000_020), called("cudaFree", 5_000_030, 5_000_040),
        make.launch(5_500_000, 5_500_010, 1), make.kernel("gemm", 5_500_020, 5_900_000, 1),
    )  # fmt: skip
    window = Window(made, "steady")
    assert window.kind == "all"
    assert not window.part.is_steady


def test_work_from_before_the_recording_is_left_out() -> None:
    """The host launches during the drain: its operators stay."""
    made = drained()
    window = Window(made, "steady")
    names = [made.text(name) for name in made.kernels.name[window.kernels]]
    assert names == ["gemm", "add"]
    assert window.ops.all()
    assert window.ns < intervals.length(Window(made, "all").time)


def test_a_window_of_no_trace() -> None:
    assert Window(Trace(), "steady").facts.time_ns == 0


def check(made: Trace, kind: WindowKind) -> None:
    """Every figure of the window's time is of the same time."""
    assert kind != "step"
    page: Overview = overview(made, window=kind)
    window = page.provenance.window
    assert window is not None
    asked = result(whatif, made, window=kind, ranking=False)
    assert advice(made, window=kind).provenance.window == window
    assert kernels(made, window=kind).provenance.window == window
    assert asked.provenance.window == window
    assert hotspots(made, window=kind).window_ns == window.time_ns
    if page.account is None:
        return
    assert page.account.window_ns == window.time_ns
    if page.utilization is not None and window.time_ns:
        idle = page.account.idle_ns / window.time_ns
        assert page.utilization == pytest.approx(1 - idle, abs=1e-9)
    if page.verdict is not None and window.kind == kind:
        assert page.verdict.judged_ns == pytest.approx(window.time_ns, abs=window.time_ns * 0.01)


@pytest.mark.parametrize("kind", ["steady", "all"])
@pytest.mark.parametrize("made", [START_UP, drained(), device_bound().trace()])
def test_pages_share_one_window(made: Trace, kind: WindowKind) -> None:
    check(made, kind)


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("path", sampled(TRACES), ids=lambda p: f"{p.parent.name}-{p.name[:12]}")
def test_pages_of_a_recording_share_one_window(path: object) -> None:
    check(load(path), "steady")  # type: ignore[arg-type]
