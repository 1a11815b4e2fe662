"""Recordings of host events alone of programs that use a device."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.unseen_device import RULE
from tb_privateuse1.trace.device_times import is_on_host_alone, known_times
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program, found
from tests.support.sized import FP32, SizedProgram, full, recorded

PROOF = "aten::cudnn_convolution"


def program(kernel_us: float, *, reads: int = 1) -> Program:
    """Four steps of 40 operators that read values of the device."""
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for i in range(40):
                run.op(PROOF if i == 0 else "aten::mm", 20, kernel=kernel_us)
                if i % (40 // reads) == 40 // reads - 1:
                    with run.around("aten::item", 12):
                        run.copy("DtoH", 1)
            run.rest(100)
    return run


def of_host(run: Program, *, calls: bool = True) -> Trace:
    """Return the recording without the device, or without the calls of its runtime, too."""
    gone = {"kernel", "gpu_memcpy"} | (set() if calls else {"cuda_runtime"})
    return make.trace(*(one for one in run.events if one["cat"] not in gone))


@pytest.mark.parametrize("calls", [True, False])
def test_a_host_that_never_waits_long_is_at_work_itself(calls: bool) -> None:
    run = program(2)
    row = found(RULE, of_host(run, calls=calls))[0]
    assert "host is at work itself" in row.title
    assert row.saving_ns is None
    assert row.severity == "medium"
    whole = advise(run.trace())
    assert whole.rows[0].rule == "host_bound"


@pytest.mark.parametrize("calls", [True, False])
def test_of_a_slow_device_only_waits_are_said(calls: bool) -> None:
    """It is busy all the time; the replay of the whole recording gains what follows each wait."""
    run = program(200, reads=2)
    (row,) = found(RULE, of_host(run, calls=calls))
    assert "waits for the device in aten::item" in row.title
    assert row.saving_ns is None
    assert str(row.where) == "step (train.py:7)"


def test_what_waits_can_save_is_bounded_by_the_hosts_own_time() -> None:
    run = program(200)
    (row,) = found(RULE, of_host(run))
    whole = {one.rule: one for one in advise(run.trace()).rows}
    most = float(row.title.split("time, ")[1].split(" %")[0]) / 100
    assert whole["item_sync"].saving_share is not None
    assert whole["item_sync"].saving_share <= most + 0.005


def test_without_a_wait_nothing_is_known() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(40):
                run.op(PROOF, 20, kernel=100)
    assert found(RULE, of_host(run)) == []


def test_launches_that_wait_for_their_kernels_tell_nothing() -> None:
    run = program(2)
    for event in run.events:
        if event["cat"] == "cuda_runtime":
            event["dur"] = 100
    assert found(RULE, of_host(run)) == []


def test_operators_of_a_device_are_not_priced_as_computation() -> None:
    """Rules on work are asked of a processor, and not of a host that launches."""

    def attention(proof: str) -> Trace:
        run = SizedProgram()
        for _ in range(4):
            with run.step():
                for _ in range(12):
                    query, scores = full(8, 64, 64, dtype=FP32), full(8, 64, 64, dtype=FP32)
                    run.op("aten::bmm", 50, **recorded(query, query))
                    run.op("aten::div", 50, **recorded(scores, "8.0"))
                    run.op("aten::softmax", 50, **recorded(scores, "-1"))
                    run.op("aten::bmm", 50, **recorded(scores, query))
                run.op(proof, 5)
        return make.trace(*run.events)

    on_host, on_device = attention("aten::mkldnn_convolution"), attention(PROOF)
    assert is_on_host_alone(on_host)
    assert known_times(on_device) == "none"
    assert [one.saving_ns for one in advise(on_device).rows if one.saving_ns] == []
    status = {one.rule: one.answer for one in advise(on_device).asked}
    assert status["attention_math"] == "not_asked"
    status = {one.rule: one.answer for one in advise(on_host).asked}
    assert status["attention_math"] != "not_asked"


def test_values_that_are_on_the_host_tell_nothing_of_the_device() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for i in range(40):
                run.op(PROOF, 20, kernel=100)
                if i % 10 == 9:
                    run.op("aten::item", 1)
    assert found(RULE, of_host(run)) == []
    assert found(RULE, of_host(run, calls=False)) == []


@pytest.mark.parametrize(
    "event",
    [
        make.op("aten::_flash_attention_forward", 20, 30),
        make.annotation("nccl:all_reduce", 20, 30),
        make.frame("torch/cuda/__init__.py(1099): current_stream", 20, 30),
        make.frame("<built-in method cuda of Tensor object at 0x1>", 20, 30),
    ],
)
def test_each_proof_of_a_device_counts(event: make.Event) -> None:
    (finding,) = make.trace(make.op("aten::mm", 0, 10), event).meta.findings
    assert finding.code == "no_device_activities"
    assert "ran operators on a device" in finding.message


def test_what_torch_asks_in_any_program_is_no_proof() -> None:
    t = make.trace(
        make.op("aten::mm", 0, 10),
        make.op("aten::_scaled_dot_product_flash_attention_for_cpu", 10, 15),
        make.op("aten::cudnn_is_acceptable", 15, 20),
        make.frame("torch/cuda/__init__.py(161): is_available", 20, 30),
        make.frame("torch/cuda/__init__.py(1030): synchronize", 30, 40),
        make.annotation("gloo:all_reduce", 40, 50),
    )
    assert is_on_host_alone(t)
