"""Chains on a host, where compiled code takes a call, and its arithmetic as long as before."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.advice.rules.elementwise_chain import RULE
from tests.support.program import found
from tests.support.sized import FP32, Input, SizedProgram, matrix, recorded

X = matrix(256, 1024)
Call = tuple[str, float]
CHEAP: tuple[Call, ...] = (("mul", 1), ("add", 1), ("abs", 1), ("neg", 1), ("sqrt", 1))


def call(run: SizedProgram, name: str, us: float, *inputs: Input) -> None:
    run.op(f"aten::{name}", us, **recorded(*inputs))


def program(
    calls: tuple[Call, ...], us: float, rounds: int = 1, x: Input = X, module: str | None = None
) -> SizedProgram:
    """Four steps of rounds of a product and a chain, each call as long as ``us`` times its own."""
    run = SizedProgram()

    def step() -> None:
        for _ in range(rounds):
            call(run, "mm", 2 * us, matrix(64, 64), matrix(64, 64))
            for name, length in calls:
                more = ("3.5",) if name == "pow" else ()
                call(run, name, length * us, x, *more)

    for _ in range(4):
        with run.step():
            if module is None:
                step()
            else:
                with run.frame(module):
                    step()
    return run


def only(run: SizedProgram) -> AdviceRow:
    (row,) = found(RULE, run.trace())
    return row


def test_rounds_that_save_less_than_their_calls_are_no_finding() -> None:
    """Shortest paths: four passes of 2 us save 8 us, and a compiled call takes 25."""
    assert found(RULE, program(CHEAP, us=2, rounds=40).trace()) == []


def test_rounds_that_save_more_are() -> None:
    row = only(program(CHEAP, us=40, rounds=40))
    assert row.saving_share is not None
    # Of 280 us each round 160 go, and a call of 25 comes.
    assert 0.4 < row.saving_share < 0.55
    assert row.saving_low_share is not None
    assert row.saving_low_share > 0
    assert row.confidence == "medium"
    assert "40 calls" in row.how


def test_where_dear_calls_would_take_all_of_it_the_range_begins_at_nothing() -> None:
    row = only(program(CHEAP, us=12, rounds=40))
    assert row.saving_low_ns == 0
    assert row.confidence == "low"


def test_layers_of_a_module_are_one_call() -> None:
    assert found(RULE, program(CHEAP, us=2, rounds=40).trace()) == []
    row = only(program(CHEAP, us=2, rounds=40, module="nn.Module: Net_0"))
    assert "1 call" in row.how


def test_few_rounds_are_layers_of_one_function() -> None:
    row = only(program(CHEAP, us=6, rounds=8))
    assert "1 call" in row.how
    assert row.saving_low_ns == 0
    assert found(RULE, program(CHEAP, us=2, rounds=9).trace()) == []


def test_what_is_called_once_pays_for_itself_beside_a_loop_that_does_not() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for _ in range(40):
                call(run, "mm", 4, matrix(64, 64), matrix(64, 64))
                for name in ("mul", "add", "abs", "neg"):
                    call(run, name, 2, matrix(8, 8))
            call(run, "mm", 4, matrix(64, 64), matrix(64, 64))
            for name in ("abs", "mul", "neg", "sqrt"):
                call(run, name, 100, X)
    row = only(run)
    assert row.events == 4 * 4
    assert "1 call" in row.how


def test_exponentials_take_as_long_in_compiled_code() -> None:
    """A pass of 100 us goes for each of them but one; what exp takes beyond it stays."""
    row = only(program((*CHEAP, ("exp", 6), ("log", 6)), us=100))
    assert row.saving_share is not None
    # Of 1,900 us, 600 are passes that go.
    assert 0.25 < row.saving_share < 0.35


def test_a_cosine_of_each_row_is_one_of_each_pair_in_compiled_code() -> None:
    def pairs(name: str) -> SizedProgram:
        run = SizedProgram()
        for _ in range(4):
            with run.step():
                call(run, "mm", 200, matrix(64, 64), matrix(64, 64))
                call(run, "abs", 1, matrix(256, 1))
                call(run, name, 5, matrix(256, 1))
                call(run, "mul", 100, matrix(256, 1), X)
                for each in ("neg", "add", "sqrt"):
                    call(run, each, 100, X)
        return run

    assert found(RULE, pairs("cos").trace()) == []
    assert len(found(RULE, pairs("neg").trace())) == 1


@pytest.mark.parametrize(("exponent", "stays"), [("-3", False), ("2.0", False), ("1.7", True)])
def test_whole_powers_are_products_in_compiled_code(exponent: str, stays: bool) -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            call(run, "mm", 200, matrix(64, 64), matrix(64, 64))
            for name, _ in CHEAP:
                call(run, name, 100, X)
            call(run, "pow", 800, X, exponent)
    share = only(run).saving_share
    assert share is not None
    assert (share < 0.4) == stays


def test_no_code_is_made_for_complex_numbers() -> None:
    x = ((256, 1024), "c10::complex<float>")
    assert found(RULE, program(CHEAP, us=100, x=x).trace()) == []


def test_nor_for_views_of_them() -> None:
    def spectra(view: str) -> SizedProgram:
        run = SizedProgram()
        for _ in range(4):
            with run.step():
                call(run, "_fft_r2c", 200, X)
                call(run, view, 1, X)
                for name, _ in CHEAP:
                    call(run, name, 100, X)
        return run

    assert found(RULE, spectra("view_as_real").trace()) == []
    assert len(found(RULE, spectra("view").trace())) == 1


def test_time_of_the_machine_pays_for_no_calls() -> None:
    """Once the process is not run for 20 ms: that is no saving of that round."""
    run = SizedProgram()
    for number in range(4):
        with run.step():
            for at in range(40):
                call(run, "mm", 4, matrix(64, 64), matrix(64, 64))
                for name, _ in CHEAP:
                    with run.around("aten::to", host=20_000 if (number, at) == (2, 20) else 0.5):
                        call(run, name, 2, X)
    assert found(RULE, run.trace()) == []


def test_a_fill_that_touches_new_memory_is_not_saved() -> None:
    """The first write of a page takes as long in compiled code, whose results are new as well."""
    share = only(program((*CHEAP, ("fill_", 40), ("mul", 1)), us=100)).saving_share
    assert share is not None
    # Of 4,800 us, 600 are passes that go, and 200 of the fill.
    assert share < 0.2


def test_without_sizes_calls_count_as_well() -> None:
    def unsized(us: float, rounds: int) -> SizedProgram:
        run = SizedProgram()
        for _ in range(4):
            with run.step():
                for _ in range(rounds):
                    run.op("aten::mm", us)
                    for name, _ in CHEAP:
                        run.op(f"aten::{name}", us)
        return run

    assert found(RULE, unsized(2, 40).trace()) == []
    (row,) = found(RULE, unsized(100, 1).trace())
    # Neighbors may as well be independent of each other.
    assert (row.saving_low_ns, row.confidence) == (0, "low")


def test_sizes_that_change_are_one_function() -> None:
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            for size in range(40):
                call(run, "mm", 4, matrix(64, 64), matrix(64, 64))
                for name, _ in CHEAP:
                    call(run, name, 2, ((8 + size,), FP32))
    assert found(RULE, run.trace()) == []
