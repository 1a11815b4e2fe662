"""Collectives of programs on the host alone."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.advice.rules import exposed_communication, small_collectives
from tb_privateuse1.trace.model import Trace
from tests.support import make
from tests.support.program import Program, found
from tests.support.sized import FP32, full, recorded

_ENGINE = "autograd::engine::evaluate_function: AddmmBackward0"
_numbers = itertools.count(1)


def compute(run: Program, name: str, number: int, thread: int) -> None:
    """An operator of the forward pass (thread 0), or of the backward pass of the same number."""
    args: dict[str, Any] = {"Sequence number": number, "Fwd thread id": thread}
    run.op(name, 400, **args)


def send(run: Program, elements: int, took: float, *, waits: bool = True) -> None:
    """A sum over the ranks on a thread of gloo, and the call that starts it."""
    shapes: dict[str, Any] = {"Input Dims": [[elements]], "Input type": ["float"]}
    run.op("c10d::allreduce_", 2)
    talk = make.annotation("gloo:all_reduce", run.now, run.now + took, thread=7, **shapes)
    run.events.append(talk)
    if waits:
        run.rest(took)


def learn(run: Program, parts: int, *, updates: int = 1, sends: int = 10**9) -> None:
    """A step of training in parts; the last ``sends`` of them send gradients of 4 MB."""
    with run.step():
        for part in range(parts):
            number = next(_numbers)
            compute(run, "aten::addmm", number, 0)
            compute(run, _ENGINE, number, 1)
            if part >= parts - sends:
                send(run, 1 << 20, 1000)
        for _ in range(updates):
            with run.range("Optimizer.step#SGD.step"):
                run.op("aten::add_", 50)


def trained(parts: int, *, updates: int = 1, sends: int = 10**9) -> list[AdviceRow]:
    run = Program()
    for _ in range(4):
        learn(run, parts, updates=updates, sends=sends)
    return found(exposed_communication.RULE, run.trace())


def test_gradients_of_each_part_of_a_batch_are_sent_once() -> None:
    (row,) = trained(4)
    assert row.saving_ns == pytest.approx(4 * 3 * 1e6, rel=0.05)
    assert row.events == 12
    assert "no_sync" in row.fix


def test_one_average_for_each_update_is_as_it_should_be() -> None:
    assert trained(1) == []
    assert trained(4, sends=1) == []


def test_two_models_have_an_average_each() -> None:
    assert trained(2, updates=2) == []


def summed(run: Program, *, forward: bool) -> None:
    with run.step():
        for _ in range(2):
            number = next(_numbers)
            compute(run, "aten::addmm", number, 0)
            if forward:
                send(run, 1 << 20, 1000)
            compute(run, _ENGINE, number, 1)
            send(run, 1 << 20, 1000)
        with run.range("Optimizer.step#SGD.step"):
            run.op("aten::add_", 50)


def test_a_model_that_is_split_over_ranks_sums_in_each_pass() -> None:
    for forward, count in ((True, 0), (False, 1)):
        run = Program()
        for _ in range(4):
            summed(run, forward=forward)
        assert len(found(exposed_communication.RULE, run.trace())) == count


def steps(
    elements: int, took: float, *, waits: bool = True, count: int = 4, memory: float = 40
) -> Trace:
    """Steps with a sum over the ranks, on a host that moves ``memory`` bytes per ns."""
    run = Program()
    sizes = recorded(full(1 << 20, dtype=FP32), full(1 << 20, dtype=FP32), "1")
    for _ in range(count):
        with run.step():
            run.op("aten::mm", 2000)
            run.op("aten::add", 12 * (1 << 20) / memory / 1e3, **sizes)
            send(run, elements, took, waits=waits)
            run.op("aten::mm", took)
    return run.trace()


def test_large_sums_that_are_always_slow_wait() -> None:
    """4 MB in 40 ms are 0.1 GB/s: other ranks are late, or the network is slow."""
    (row,) = found(exposed_communication.RULE, steps(1 << 20, 40_000))
    assert row.confidence == "low"
    assert row.saving_ns == pytest.approx(4 * 20e6, rel=0.05)
    assert "0.105 GB/s" in row.explanation
    assert "operators here move 40 GB/s" in row.explanation


def test_a_host_with_slow_memory_takes_as_long() -> None:
    assert found(exposed_communication.RULE, steps(1 << 20, 40_000, memory=4)) == []


def test_fast_sums_are_as_they_should_be() -> None:
    assert found(exposed_communication.RULE, steps(1 << 20, 4_000)) == []


def test_hidden_sums_cost_nothing() -> None:
    assert found(exposed_communication.RULE, steps(1 << 20, 40_000, waits=False)) == []


def test_a_single_step_may_be_a_late_start() -> None:
    assert found(exposed_communication.RULE, steps(1 << 20, 40_000, count=2)) == []


def many(sizes: list[int], length: list[float]) -> list[AdviceRow]:
    run = Program()
    for _ in range(3):
        with run.step():
            run.op("aten::mm", 1000)
            for elements, took in zip(sizes, length, strict=True):
                send(run, elements, took)
    return found(small_collectives.RULE, run.trace())


def test_small_sums_on_the_host_take_their_latency() -> None:
    (row,) = many([256] * 40, [100] * 40)
    assert row.events == 120
    assert row.saving_ns == pytest.approx(3 * 39 * 100e3, rel=0.05)


def test_bytes_cost_in_buckets_as_well() -> None:
    """20 of 1 KB and 20 of 1 MB at 100 and 300 µs: a bucket of 20 MB takes 20 x 200 µs."""
    (row,) = many([256, 250_000] * 20, [100, 300] * 20)
    assert row.saving_ns == pytest.approx(3 * 4.0e6, rel=0.1)


def test_a_few_small_sums_are_fine() -> None:
    assert many([256] * 5, [100] * 5) == []
