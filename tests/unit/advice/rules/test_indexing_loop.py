"""A loop that indexes a tensor."""

from tb_privateuse1.advice.rules.indexing_loop import RULE
from tests.support.program import Program, found


def program(rounds: int, others: int = 1) -> Program:
    run = Program()
    for _ in range(3):
        with run.step(), run.frame("train.py(3): normalise"):
            for _ in range(rounds):
                run.op("aten::select", 5, **{"Input Dims": [[64, 8], [], []]})
                for _ in range(others):
                    run.op("aten::mul", 10, kernel=3)
            run.op("aten::mm", 10, kernel=100)
    return run


def test_a_loop_is_found_with_its_line() -> None:
    (row,) = found(RULE, program(64).trace())
    assert (row.events, row.source) == (192, "train.py(3): normalise")
    assert row.saving_share is not None
    assert row.saving_share > 0.5


def test_loops_over_two_tensors_take_turns() -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(30):
                run.op("aten::select", 5, **{"Input Dims": [[64, 8], [], []]})
                run.op("aten::sum", 10, kernel=3)
                run.op("aten::select", 5, **{"Input Dims": [[64], [], []]})
                run.op("aten::copy_", 10, kernel=3)
    (row,) = found(RULE, run.trace())
    assert row.events == 3 * 60


def test_samples_of_a_data_loader_are_its_own_matter() -> None:
    run = Program()
    for _ in range(3):
        with run.step(), run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
            for _ in range(64):
                run.op("aten::select", 5, **{"Input Dims": [[64, 8], [], []]})
    assert found(RULE, run.trace()) == []


def test_a_few_rounds_are_fine() -> None:
    assert found(RULE, program(12).trace()) == []


def test_one_index_among_much_else_is_fine() -> None:
    assert found(RULE, program(30, others=8).trace()) == []
