"""The summary of a recording: its kind, which steps are judged, and the sentence about it."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.judged_trace import JudgedTrace
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.recording.summary import (
    RecordingSummary,
    absent_contents,
    contents,
    summary,
)
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program, device_bound
from tests.support.shared_traces import FOLDER, load, needs_traces
from tests.unit.analysis.recording.test_phases import called, slow_launch, steps


def test_steady_steps_are_all_judged() -> None:
    t = device_bound().trace()
    found = summary(t)
    assert (found.kind, found.hint, len(found.judged_steps)) == ("steady", "", 3)
    assert found.sentence.endswith("3 steady steps of 6.00 ms analyzed.")


def test_a_step_with_a_start_up_is_left_out() -> None:
    t = slow_launch("gemm", 20_000).trace()
    found, part = summary(t), judged_part(t)
    assert part.steps.tolist() == [1, 2, 3]
    assert part.left_out.tolist() == [0]
    assert found.kind == "partly_steady"
    assert "3 steady steps" in found.sentence
    assert "1 step left out: start-up (20.0 ms)" in found.sentence
    assert "Record later" in found.hint


def test_a_chosen_step_of_start_up_is_not_judged() -> None:
    t = slow_launch("gemm", 20_000).trace()
    assert not JudgedTrace(t, judged_part(t, 0)).is_steady
    assert JudgedTrace(t, judged_part(t, 1)).is_steady


def test_a_recording_of_start_up_has_no_judged_part() -> None:
    t = make.trace(
        make.op("aten::empty", 0, 6_000_000), called("cudaMalloc", 0, 5_000_000),
        called("cudaFree", 5_000_010, 5_000_020), called("cudaFree", 5_000_030, 5_000_040),
        make.launch(5_500_000, 5_500_010, 1), make.kernel("gemm", 5_500_020, 5_900_000, 1),
    )  # fmt: skip
    found = summary(t)
    assert (found.kind, found.judged_ns, found.judged_steps) == ("startup", 0, ())
    assert "Recording of start-up, which takes 5.00 s of 6.00 s" in found.sentence
    assert "schedule(" in found.hint


def test_iterations_behind_the_start_up_are_judged() -> None:
    run = Program()
    run.events.append(called("cudaMalloc", 0, 100_000))
    run.now = 100_000
    for _ in range(4):
        for name in ("gemm", "add", "softmax"):
            run.op("aten::mm", 10, kernel=20, device=name)
        run.wait()
    t = run.trace()
    part = judged_part(t)
    assert part.is_steady
    assert part.window[0][0] >= 100_000_000
    assert intervals.length(part.window) > 0


def test_a_single_step_is_judged_without_its_drain() -> None:
    early = [make.kernel("gemm", 100 * i, 100 * i + 90) for i in range(10)]
    run = Program()
    run.now, run.device = 50, 1000
    t = make.trace(*early, *steps(run, 1).events)
    part = judged_part(t)
    assert part.steps.tolist() == [0]
    assert part.window[0][0] == 990_000


def test_steps_that_are_cut_or_loaded_are_named() -> None:
    run = steps(Program(), 3)
    with run.step():
        run.op("aten::mm", 10, kernel=50)
        run.wait()
    found = summary(run.trace())
    assert "1 step left out" in found.sentence
    assert "incomplete" in found.sentence


def test_nothing_is_steady() -> None:
    found = summary(Trace())
    assert (found.kind, found.phases, found.judged_ns) == ("steady", (), 0)


KINDS = {
    "cuda/alexnet_startup": ("startup", "unknown"),
    "cuda/simple_add": ("startup", "unknown"),
    "cuda/h100_qwen": ("partly_steady", "inference"),
    "cuda/v100_resnet50_old_torch_workers0": ("partly_steady", "training"),
    "cuda/v100_resnet50_workers0": ("steady", "training"),
    "cuda/nccl_ddp": ("steady", "training"),
    "mtia/training": ("steady", "training"),
    "rocm/mi250_minitoy": ("startup", "training"),
    "rocm/sglang_decode": ("partly_steady", "serving"),
    "rocm/sglang_decode_capture": ("capture", "unknown"),
    "rocm/vllm_decode_graph": ("partly_steady", "serving"),
    "privateuse1/mlp_device": ("steady", "training"),
}


def of(place: str) -> RecordingSummary:
    (path,) = (FOLDER / place).glob("*.pt.trace.json*")
    return summary(load(path))


@needs_traces
@pytest.mark.parametrize("place", KINDS)
def test_real_recordings_have_their_kind(place: str) -> None:
    found = of(place)
    assert (found.kind, found.workload) == KINDS[place]


@needs_traces
def test_the_judged_step_of_a_real_recording_is_its_own() -> None:
    """An expert measured 212 and 174 ms of the two programs, and 10.4 ms of the decode step."""
    for place, ms in (
        ("cuda/v100_resnet50_old_torch_workers0", 212),
        ("cuda/v100_resnet50_old_torch_workers4", 174),
        ("rocm/sglang_decode", 10.4),
    ):
        found = of(place)
        each = found.judged_ns / max(len(found.judged_steps), 1) / 1e6
        assert each == pytest.approx(ms, rel=0.05)


def test_a_recording_has_what_its_program_left_in_it() -> None:
    run = Program()
    with run.step():
        run.op("aten::mm", 10)
    assert contents(run.trace()) == ()
    with run.step(), run.frame("model.py(7): forward"), run.frame("nn.Module: Linear_0"):
        run.op("aten::mm", 10, kernel=5)
    assert contents(run.trace()) == ("kernels", "calls", "modules", "functions")


def test_a_lack_says_whether_its_option_was_set() -> None:
    trace = make.trace(make.op("aten::mm", 0, 10), profile_memory=1, with_stack=0)
    assert [(one.content, one.reason) for one in absent_contents(trace)] == [
        ("memory", "nothing_came"),
        ("modules", "not_asked"),
        ("functions", "not_asked"),
    ]
    assert absent_contents(trace, has_memory=False)[0].reason == "format"
