"""A host that is blocked in a call while the device has no work."""

from tb_privateuse1.advice.rules.blocked_call import RULE
from tests.support import make
from tests.support.program import Program, found


def program(call: str, us: float = 300) -> Program:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("serve.py(7): loop"):
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            run.now = max(run.now, run.device)
            with run.frame("serve.py(9): next_batch"), run.around("aten::copy_"):
                start = run.now
                run.rest(us)
                run.events.append(make.span("cuda_runtime", call, start, run.now))
    return run


def test_the_call_the_operator_and_the_line_are_named() -> None:
    (row,) = found(RULE, program("cudaFree").trace())
    assert row.title.startswith("The host is blocked in `cudaFree` in aten::copy_: 3")
    assert row.source == "serve.py(9): next_batch"
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 290_000
    assert row.events == 4


def test_a_lock_is_named_by_its_frame() -> None:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("serve.py(20): poll"):
            run.op("aten::mm", 10, kernel=100)
            with run.frame("<built-in method acquire of _thread.lock object at 0x7f>"):
                run.rest(500)
            run.op("aten::mm", 10, kernel=100)
    (row,) = found(RULE, run.trace())
    assert "acquire" in row.title
    assert row.source == "serve.py(20): poll"


def test_a_call_beside_a_busy_device_costs_nothing() -> None:
    assert found(RULE, program("cudaEventRecord").trace()) == []
