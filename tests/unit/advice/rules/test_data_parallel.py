"""DataParallel with several devices."""

from tb_privateuse1.advice.rules.data_parallel import RULE
from tests.support import make
from tests.support.program import Program, found


def program(name: str, devices: int) -> Program:
    run = Program()
    for _ in range(3):
        with run.step():
            with run.around(name):
                run.op("aten::copy_", 50, kernel=100)
            for device in range(devices):
                run.launched += 1
                run.events.append(make.launch(run.now, run.now + 1, run.launched))
                kernel = make.kernel("gemm", run.device, run.device + 100, run.launched)
                kernel["args"]["device"] = device
                kernel["pid"] = device
                run.events.append(kernel)
            run.device += 100
            run.wait()
    return run


def test_it_is_found() -> None:
    (row,) = found(RULE, program("Broadcast", devices=2).trace())
    assert row.title.startswith("DataParallel feeds 2 devices")
    assert row.saving_ns is not None
    assert row.saving_ns > 0


def test_one_device_is_fine() -> None:
    assert found(RULE, program("Broadcast", devices=1).trace()) == []


def test_other_operators_are_fine() -> None:
    assert found(RULE, program("aten::linear", devices=2).trace()) == []
