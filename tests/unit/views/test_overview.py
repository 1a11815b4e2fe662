"""The overview's figures on hand-made traces whose answer is plain."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tests.support.make import annotation, kernel, launch, op, span, step, trace


def test_each_instant_goes_to_the_first_that_covers_it() -> None:
    t = trace(
        step(1, 0, 100),
        op("aten::mm", 0, 60),
        annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 60, 80),
        launch(5, 15, 1),
        kernel("gemm", 10, 30, 1),
        kernel("Memcpy HtoD", 20, 40, 1, stream=8, category="gpu_memcpy"),
        kernel("Memset", 38, 42, 1, stream=9, category="gpu_memset"),
        kernel("ncclAllReduce", 25, 45, 1, stream=10),
    )
    (s,) = overview(t).steps
    parts = {
        "kernel": 20, "memcpy": 10, "memset": 2, "communication": 3, "runtime": 5,
        "dataloader": 20, "cpu": 20, "other": 20,
    }  # fmt: skip
    assert {k: getattr(s, f"{k}_ns") // 1000 for k in parts} == parts
    assert sum(parts.values()) * 1000 == s.duration_ns == 100_000


def test_steps_that_were_written_as_operators_are_no_work() -> None:
    t = trace(op("ProfilerStep#1", 0, 100), op("aten::mm", 20, 50))
    (s,) = overview(t).steps
    assert (s.name, s.cpu_ns, s.other_ns) == ("ProfilerStep#1", 30_000, 70_000)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "Inference, 3 steady steps of 100 µs analyzed."),
        ({"step": 2}, "Inference, ProfilerStep#2 of 100 µs analyzed."),
        ({"window": "all"}, "Inference, all 300 µs analyzed."),
    ],
)
def test_the_sentence_is_of_the_window_that_the_figures_are_of(
    asked: dict[str, Any], sentence: str
) -> None:
    steps = [step(i, 100 * i, 100 * i + 100) for i in range(1, 4)]
    t = trace(*steps, *(op("aten::mm", 100 * i + 10, 100 * i + 90) for i in range(1, 4)))
    for result in (overview(t, **asked), advice(t, **asked)):
        assert result.recording is not None
        assert result.recording.sentence == sentence


def test_gloo_work_on_the_host_is_communication() -> None:
    t = trace(step(1, 0, 100), annotation("gloo:all_reduce", 10, 40, thread=5))
    assert overview(t).steps[0].communication_ns == 30_000


def test_totals() -> None:
    t = trace(
        launch(0, 1, 1), kernel("gemm", 10, 30, 1), kernel("gemm", 20, 50, 1, stream=8),
        kernel("ncclAllReduce", 40, 70, 1, stream=9),
        kernel("Memcpy", 80, 90, category="gpu_memcpy"),
    )  # fmt: skip
    totals = overview(t).totals
    assert totals.span_ns == 80_000
    assert totals.busy_ns == 70_000
    assert totals.compute_ns == 40_000
    assert totals.communication_ns == 30_000
    assert totals.overlap_ns == 10_000
    assert totals.busy_bound_ns == 0
    assert (totals.kernels, totals.communication_kernels, totals.memcpys) == (2, 1, 1)
    assert (totals.linked, totals.unlinked) == (3, 1)


def test_incomplete_steps_stay_out_of_the_average() -> None:
    events = [step(1, 0, 100), step(2, 100, 220), step(3, 220, 230)]
    for i, at in enumerate((10, 20, 110, 120)):
        events += [launch(at, at + 1, i + 1), kernel("k", at + 2, at + 3, i + 1)]
    result = overview(trace(*events))
    assert [s.incomplete for s in result.steps] == [False, False, True]
    assert result.average_step_ns == 110_000
    assert result.spread is not None
    assert (result.spread.min_ns, result.spread.max_ns) == (100_000, 120_000)
    assert sum(a.mean_ns or 0 for a in result.averages) == 110_000


def test_utilization_is_busy_time_within_the_steps() -> None:
    t = trace(step(1, 0, 100), launch(1, 2, 1), kernel("k", 50, 75, 1), kernel("k", 200, 300))
    assert overview(t).utilization == 0.25


def test_a_selected_step_limits_totals_and_top_lists() -> None:
    t = trace(
        step(1, 0, 100), step(2, 100, 200),
        op("a", 0, 10), launch(1, 2, 1), kernel("ka", 20, 30, 1),
        op("b", 110, 120), launch(111, 112, 2), kernel("kb", 130, 180, 2),
    )  # fmt: skip
    result = overview(t, step=2)
    assert result.totals.busy_ns == 50_000
    assert [(k.name, k.kind, k.share) for k in result.top_kernels] == [("kb", "kernel", 1.0)]
    assert [o.name for o in result.top_operators] == ["b"]
    assert result.utilization == 0.5
    assert len(result.steps) == 2


def test_an_unknown_step_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(TraceError) as caught:
        overview(trace(step(1, 0, 10)), step=7)
    assert caught.value.code == "unknown_step"
    assert "ProfilerStep#1" in (caught.value.hint or "")


def test_without_device_times_figures_are_null_not_zero() -> None:
    result = overview(trace(step(1, 0, 10), op("a", 1, 9), op("b", 2, 4)))
    assert result.provenance.timeline == "none"
    assert result.totals.busy_ns is None
    assert result.totals.kernels is None
    assert result.utilization is None
    assert result.top_kernels == ()
    assert [(o.name, o.total_ns) for o in result.top_operators] == [("a", 6000), ("b", 2000)]


def test_inferred_times_say_so() -> None:
    t = trace(step(1, 0, 100), op("aten::mm", 10, 20, id=1), elapsed={1: 30})
    result = overview(t)
    assert result.provenance.timeline == "inferred"
    assert [e.evidence for e in result.evidence] != ["measured"]


def test_brief_is_the_same_without_what_takes_long() -> None:
    t = trace(
        step(1, 0, 100), op("a", 0, 10), launch(1, 2, 1), kernel("ka", 20, 30, 1), op("b", 40, 50)
    )
    whole, brief = overview(t), overview(t, brief=True)
    left_out: dict[str, Any] = {
        "recording": None, "verdict": None, "account": None, "account_steps": (),
        "idle_before": (), "top_operators": (), "top_kernels": (),
    }  # fmt: skip
    assert replace(whole, **left_out) == brief
    assert all(getattr(whole, name) for name in left_out if name != "verdict")


def test_empty() -> None:
    assert overview(Trace()).duration_ns == 0


def test_averages_are_of_the_complete_steps_and_sum_to_them() -> None:
    lengths = {1: 100, 2: 140}
    events = [step(n, 200 * n, 200 * n + length) for n, length in lengths.items()]
    ops = [op("aten::mm", 200 * n + 10, 200 * n + 10 + 20 * n) for n in lengths]
    result = overview(trace(*events, *ops))
    parts = {a.part: a for a in result.averages}
    assert list(parts) == [
        "kernel", "memcpy", "memset", "communication", "unknown", "runtime", "dataloader", "cpu",
        "other",
    ]  # fmt: skip
    cpu = parts["cpu"]
    assert (cpu.mean_ns, cpu.min_ns, cpu.max_ns, cpu.deviation_ns) == (
        30_000, 20_000, 40_000, 10_000,
    )  # fmt: skip
    assert cpu.bound_ns == 0
    assert cpu.share == pytest.approx(30 / 120)
    known = [a.mean_ns for a in result.averages if a.mean_ns is not None]
    assert sum(known) == result.average_step_ns == 120_000
    of_device = [a for a in result.averages if a.part in ("kernel", "memcpy", "memset", "unknown")]
    assert {(a.mean_ns, a.max_ns, a.bound_ns) for a in of_device} == {(None, None, None)}
    assert sum(a.share or 0 for a in result.averages) == pytest.approx(1)
    assert overview(Trace()).averages == ()


def test_facts_name_device_and_run() -> None:
    result = overview(
        trace(
            op("a", 0, 1), span("cuda_runtime", "x", 0, 1),
            deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 80 * 2**30}],
            distributedInfo={"rank": 3, "world_size": 8, "backend": "nccl"},
        )
    )  # fmt: skip
    device = {f.label: f.value for f in result.device}
    run = {f.label: f.value for f in result.run}
    assert device["Device"] == "NVIDIA H100"
    assert device["Memory per device"] == "80.0 GiB"
    assert (run["Rank"], run["World size"], run["Process group"]) == ("3", "8", "nccl")


def test_facts_tell_what_the_device_can_do() -> None:
    told = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 40 * 2**30,
            "computeMajor": 8, "computeMinor": 0, "numSms": 108, "warpSize": 32}  # fmt: skip
    events = op("a", 0, 1), span("cuda_runtime", "x", 0, 1)
    device = {f.label: f.value for f in overview(trace(*events, deviceProperties=[told])).device}
    assert device["Compute capability"] == "8.0"
    assert device["Streaming multiprocessors"] == "108"
    assert device["Warp size"] == "32"
    assert device["Peak in half precision"] == "312 TFLOP/s, data sheet"
    assert device["Peak memory bandwidth"] == "1555 GB/s, data sheet"
    # One that says the same twice, and one of which nothing can be read.
    odd = {"name": "NVIDIA A100-SXM4-40GB", "numSms": "x", "computeMajor": True, "warpSize": -1}
    result = overview(trace(*events, deviceProperties=[told, told, odd]))
    facts = {f.label: f.value for f in result.device}
    assert facts["Streaming multiprocessors"] == "108"
    assert facts["Device"] == "3 x NVIDIA A100-SXM4-40GB"


def test_operator_shares_are_of_all_device_time() -> None:
    t = trace(op("a", 0, 9), launch(1, 2, 1), launch(20, 21, 2), kernel("k", 10, 40, 1),
              kernel("replayed", 40, 110, 2))  # fmt: skip
    result = overview(t)
    assert [(o.name, o.share) for o in result.top_operators] == [("a", 0.3)]
    assert result.unlinked_device_ns == 70_000 == operators(t).unlinked_device_ns


def many_steps(count: int) -> Trace:
    """Return a trace with steps of 10 µs, numbered from 0."""
    work = [op("aten::mm", 10 * i + 1, 10 * i + 4) for i in range(count)]
    return trace(*work, *[step(i, 10 * i, 10 * i + 10) for i in range(count)])


def test_the_list_of_steps_has_a_limit_and_figures_are_of_all() -> None:
    """The answer does not grow with the number of steps; spread and averages do not change."""
    t = many_steps(50)
    whole, part = overview(t), overview(t, limit=8)
    assert (part.steps, part.account_steps) == (whole.steps[:8], whole.account_steps[:8])
    assert (part.steps_total, part.steps_offset) == (50, 0)
    assert part.step_counts.complete == sum(not s.incomplete for s in whole.steps)
    for name in ("spread", "averages", "average_step_ns", "account", "utilization", "totals"):
        assert getattr(part, name) == getattr(whole, name), name


@pytest.mark.parametrize(
    ("options", "first"),
    [({"offset": 45}, 45), ({"offset": 99}, 50), ({"around": 21}, 16), ({"step": 49}, 48),
     ({"step": 49, "around": 3}, 0)],
)  # fmt: skip
def test_the_list_goes_on_and_has_the_chosen_step(options: dict[str, int], first: int) -> None:
    found = overview(many_steps(50), limit=8, **options)  # type: ignore[arg-type]
    assert found.steps_offset == first
    assert [s.name for s in found.steps] == [
        f"ProfilerStep#{i}" for i in range(first, min(first + 8, 50))
    ]


@pytest.mark.parametrize("options", [{"limit": 5_001}, {"limit": -1}, {"offset": -1}])
def test_more_steps_than_an_answer_holds_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(TraceError) as caught:
        overview(many_steps(3), **options)  # type: ignore[arg-type]
    assert caught.value.code == "bad_option"
