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
    assert row.title.startswith("The host is blocked in cudaFree in aten::copy_: 3")
    assert str(row.where) == "next_batch (serve.py:9)"
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
    assert str(row.where) == "poll (serve.py:20)"


def test_a_call_beside_a_busy_device_costs_nothing() -> None:
    assert found(RULE, program("cudaEventRecord").trace()) == []


def test_the_wait_behind_all_work_is_the_recordings_end() -> None:
    run = Program()
    for step in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            run.now = max(run.now, run.device)
            if step == 3:
                run.wait("cudaDeviceSynchronize")
                run.rest(400)
                run.events[-1]["dur"] += 400
    assert found(RULE, run.trace()) == []


def server(call: str) -> Program:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("serve.py(20): next_request"):
            run.op("aten::mm", 10, kernel=100)
            run.wait()
            with run.frame(f"<built-in method {call} of object at 0x7f>"):
                run.rest(500)
            run.op("aten::mm", 10, kernel=100)
            run.wait()
    return run


def test_a_server_without_requests_has_nothing_to_save() -> None:
    (row,) = found(RULE, server("recv_into").trace())
    assert row.saving_ns is None
    assert row.title.startswith("The program waits for others in recv_into() ")
    assert str(row.where) == "next_request (serve.py:20)"


def test_a_server_that_sleeps_could_work() -> None:
    (row,) = found(RULE, server("sleep").trace())
    assert row.saving_ns is not None


def test_training_that_waits_for_another_process_could_work() -> None:
    run = server("recv_into")
    run.op("autograd::engine::evaluate_function: MmBackward0", 10)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None
