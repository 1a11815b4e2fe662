"""Allocations by the driver inside the step."""

import pytest

from tb_privateuse1.advice.rules.device_malloc import RULE
from tests.support import make
from tests.support.program import Program, found


def program(*calls: str) -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=50)
            for call in calls:
                start = run.now
                run.rest(300)
                run.launched += 1
                correlation = {"correlation": run.launched}
                run.events.append(make.span("cuda_runtime", call, start, run.now, **correlation))
            run.op("aten::mm", 10, kernel=50)
    return run


def test_memory_that_comes_and_goes_has_its_reason() -> None:
    (row,) = found(RULE, program("cudaFree", "cudaMalloc").trace())
    assert "Steps return memory and take it again" in row.explanation
    (row,) = found(RULE, program("cudaMalloc").trace())
    assert "Steps take memory and return none" in row.explanation


@pytest.mark.long
def test_allocations_are_found() -> None:
    for call in ("cudaMalloc", "hipFree", "aclrtMallocAlign32", "cuMemCreate"):
        rows = found(RULE, program(call).trace())
        assert [row.events for row in rows] == [4], call
    (row,) = found(RULE, program("cudaMalloc").trace())
    assert row.saving_ns is not None
    assert row.saving_ns > 4 * 210_000, "300 us less what the kernel before still runs"


def test_other_calls_are_none() -> None:
    for call in ("cudaMemcpyAsync", "cudaLaunchKernel", "cudaDeviceGetAttribute"):
        assert found(RULE, program(call).trace()) == []


GIB = 1 << 30


def reason(
    *, emptied: bool = False, tensors: int = 40, reserved: int = GIB, vary: bool = False
) -> str:
    """Return the explanation for steps that return and take memory twice each.

    ``tensors`` is the number of allocations in a step, ``reserved`` what the allocator holds of
    16 GiB, and with ``vary`` each step allocates other sizes.
    """
    run, held = Program(), {"Total Reserved": reserved}
    for number in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(tensors):
                run.op("aten::mm", 10, kernel=15)
                run.events.append(make.memory(run.now, 512 * (1 + number * vary), 4096, **held))
            with run.frame("torch/cuda/memory.py(221): empty_cache" if emptied else "a.py(1): f"):
                call(run, "cudaFree")
                call(run, "cudaFree")
            call(run, "cudaMalloc")
            call(run, "cudaMalloc")
    devices = [{"id": 0, "name": "x", "totalGlobalMem": 16 * GIB}]
    (row,) = found(RULE, run.trace(deviceProperties=devices))
    assert emptied == (str(row.where) == "step (train.py:7)")
    return row.explanation


def call(run: Program, name: str) -> None:
    start = run.now
    run.rest(300)
    run.launched += 1
    run.events.append(make.span("cuda_runtime", name, start, run.now, correlation=run.launched))


def test_a_cache_that_the_program_empties_is_named_with_its_line() -> None:
    assert "in empty_cache()" in reason(emptied=True)


def test_an_allocator_without_a_cache_takes_each_tensor_from_the_driver() -> None:
    assert "as many of them as tensors" in reason(tensors=3)


def test_one_recorded_step_shows_that_there_is_no_cache() -> None:
    run = Program()
    with run.step(), run.frame("train.py(7): step"):
        for _ in range(20):
            call(run, "hipMalloc")
            run.op("aten::mm", 10, kernel=15)
            call(run, "hipFree")
    (row,) = found(RULE, run.trace())
    assert "the caching allocator is off" in row.explanation
    assert "Switch the caching allocator on" in row.fix


def test_full_memory_and_changing_sizes_leave_pieces() -> None:
    assert "free pieces do not fit" in reason(reserved=15 * GIB, vary=True)
    assert "at the limit" in reason(reserved=15 * GIB)
    assert "at the limit" in reason(vary=True)
