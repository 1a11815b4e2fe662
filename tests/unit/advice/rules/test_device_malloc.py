"""Allocations by the driver inside the step."""

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
