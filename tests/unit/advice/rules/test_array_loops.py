"""NumPy, called for one item after the other; and right programs that call it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.indexing_loop import RULE
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, full, recorded

ITEMS = 64
SMALL, LARGE = full(8, dtype=FP32), full(1024, 1024, dtype=FP32)
Body = Callable[[TrainingProgram], None]


def program(body: Body) -> TrainingProgram:
    """Steps on a processor with a product, some small operators, and a body of the user's."""
    run = HostTraining()
    for _ in range(4):
        with run.step(), run.frame("train.py(3): step"):
            run.rest(1)
            run.op("aten::mm", 400, **recorded(full(64, 64, dtype=FP32), full(64, 64, dtype=FP32)))
            run.op("aten::add", 100, **recorded(LARGE, LARGE, "1"))  # shows what memory reaches
            for _ in range(6):
                run.op("aten::add", 8, **recorded(SMALL, SMALL, "1"))
            with run.frame("train.py(9): mined"):
                run.rest(1)
                body(run)
                run.rest(1)
            run.rest(1)
    return run


def array_call(run: TrainingProgram, name: str = "where", us: float = 3) -> None:
    """Call a function of NumPy."""
    with run.frame(f"numpy/_core/multiarray.py(403): {name}"):
        run.rest(us)


def by_item(run: TrainingProgram, us: float = 3) -> None:
    """Two calls for each item."""
    for _ in range(ITEMS):
        array_call(run, us=us)
        array_call(run, "prod", us=us)
        run.rest(1)


def test_a_loop_of_calls_is_found_with_its_function() -> None:
    (row,) = found(RULE, program(by_item).trace())
    assert row.title.startswith("NumPy is called for one item after the other")
    assert (str(row.where), row.confidence) == ("mined (train.py:9)", "low")
    assert row.events == 4 * 2 * ITEMS
    loop = 7 * ITEMS - 1
    assert row.saving_share == pytest.approx(loop * (1 - 1 / ITEMS) / (loop + 555), rel=0.05)


def test_work_on_large_arrays_stays() -> None:
    """No more is claimed than as many calls of torch on a few numbers take: 8 us each."""
    (row,) = found(RULE, program(lambda run: by_item(run, us=60)).trace())
    assert row.saving_share == pytest.approx(2 * ITEMS * 8 / (2 * ITEMS * 60.5 + 555), rel=0.1)
    assert found(RULE, program(lambda run: by_item(run, us=300)).trace()) == []


def of_all(run: TrainingProgram) -> None:
    """The right form: a few calls that take longer."""
    for name in ("where", "prod", "argmax", "take"):
        array_call(run, name, 100)


def simulated(run: TrainingProgram) -> None:
    """A simulator's step needs the one before; it is a function of its own."""
    for _ in range(ITEMS):
        with run.frame("world.py(20): advance"):
            array_call(run)
            array_call(run, "clip")


def formula(run: TrainingProgram) -> None:
    """Many calls, each another one."""
    for i in range(2 * ITEMS):
        array_call(run, f"f{i}")


def loaded(run: TrainingProgram) -> None:
    """A sample of a data loader: what it takes is the loader's."""
    loader = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
    with run.range(loader), run.frame("data.py(5): __getitem__"):
        by_item(run)


def with_model(run: TrainingProgram) -> None:
    """A round asks the model."""
    for _ in range(ITEMS):
        array_call(run)
        array_call(run, "clip")
        run.op("aten::mv", 8, **recorded(full(8, 8, dtype=FP32), SMALL))


def of_a_library(run: TrainingProgram) -> None:
    """A package calls NumPy, not the program."""
    with run.frame("/usr/lib/python3.12/site-packages/scipy/optimize/_root.py(9): fit"):
        by_item(run)


@pytest.mark.parametrize("body", [of_all, simulated, formula, loaded, with_model, of_a_library])
def test_a_right_program_is_not_accused(body: Body) -> None:
    assert found(RULE, program(body).trace()) == []
