"""Operators that torch ran on the CPU."""

from tb_privateuse1.advice.rules.cpu_fallback import RULE
from tests.support.program import Program, found


def program(fallback: bool) -> Program:
    run = Program()
    for _ in range(3):
        with run.step(), run.frame("train.py(5): step"):
            run.op("aten::mm", 10, kernel=50)
            if fallback:
                with run.around("aten::erfinv", 0):
                    with run.around("aten::_to_cpu"):
                        run.copy("DtoH", 20)
                    run.op("aten::erfinv", 100)
                    with run.around("aten::_copy_from_and_resize"):
                        run.copy("HtoD", 20)
            run.rest(50)
    return run


def test_they_are_found_by_name_and_line() -> None:
    trace = program(True).trace()
    (row,) = found(RULE, trace)
    assert "aten::erfinv (3 calls" in row.explanation
    assert str(row.where) == "step (train.py:5)"
    whole = sum(e.name == "aten::erfinv" for e in row.evidence)
    assert (row.events, whole) == (3, 3)
    assert row.saving_share is not None
    assert row.saving_share > 0.5


def test_the_cost_is_known_without_device_times() -> None:
    run = program(True)
    host = [e for e in run.events if e["cat"] not in ("kernel", "gpu_memcpy", "cuda_runtime")]
    run.events = host
    (row,) = found(RULE, run.trace())
    assert row.saving_share is not None


def test_copies_of_the_program_are_none() -> None:
    run = program(False)
    with run.step(), run.around("aten::_to_copy"), run.around("aten::copy_"):
        run.copy("DtoH", 20)
    assert found(RULE, run.trace()) == []
