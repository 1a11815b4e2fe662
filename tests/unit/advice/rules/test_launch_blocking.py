"""Launches that wait for their kernel."""

from tb_privateuse1.advice.rules.launch_blocking import RULE
from tests.support import make
from tests.support.program import Program, device_bound, found


def test_host_and_device_that_take_turns() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(30):
                start = run.now
                run.now += 10
                run.launched += 1
                begin = run.now + 2
                called = {"correlation": run.launched}
                name = "cudaLaunchKernel"
                run.events += [
                    make.span("cuda_runtime", name, run.now, begin + 31, **called),
                    make.kernel("gemm", begin, begin + 30, run.launched),
                ]
                run.now = begin + 32
                run.events.append(make.op("aten::mm", start, run.now))
    (row,) = found(RULE, run.trace())
    assert row.events == 90
    assert row.saving_share is not None
    assert 0.2 < row.saving_share < 0.35


def test_a_host_that_runs_ahead() -> None:
    assert found(RULE, device_bound().trace()) == []


def test_a_slow_host_is_not_blocked() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(30):
                run.op("aten::mm", 100, kernel=20)
    assert found(RULE, run.trace()) == []
