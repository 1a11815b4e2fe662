"""Elementwise operators in a row."""

from tb_privateuse1.advice.rules.elementwise_chain import RULE
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.vendor import GENERIC
from tests.support import chains
from tests.support.program import Program, found
from tests.support.sized import SizedProgram


def program(names: tuple[str, ...], around: str = "forward") -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=300)
            with run.range(around):
                for name in names:
                    run.op(name, 10, kernel=100)
            run.op("aten::mm", 10, kernel=300)
            run.wait()
    return run


def test_a_run_is_found_less_one_of_its_kernels() -> None:
    (row,) = found(RULE, program(("aten::mul", "aten::add", "aten::relu")).trace())
    assert row.events == 12
    assert row.saving_ns is not None
    assert 4 * 150_000 < row.saving_ns <= 4 * 200_001


def test_others_in_between_are_no_run() -> None:
    names = ("aten::mul", "aten::mm", "aten::add", "aten::mm", "aten::relu", "aten::mul")
    assert found(RULE, program(names).trace()) == []


def test_two_are_no_run() -> None:
    assert found(RULE, program(("aten::mul", "aten::add")).trace()) == []


def test_the_optimizer_is_another_matter() -> None:
    names = ("aten::mul_", "aten::add_", "aten::addcdiv_")
    assert found(RULE, program(names, around="Optimizer.step#Adam.step").trace()) == []


def test_sizes_say_what_one_pass_needs() -> None:
    def layer(run: SizedProgram) -> None:
        for name in ("aten::mul", "aten::tanh", "aten::abs", "aten::exp"):
            run.run(name, chains.X)

    (row,) = found(RULE, chains.program(layer).trace())
    assert row.saving_share is not None
    assert "4 operators" in row.explanation
    # One product of 86 us beside four passes of 17 us each: three of them go, less 15 % of one.
    assert 0.2 < row.saving_share < 0.35


def network(around: str) -> Trace:
    def layer(run: SizedProgram) -> None:
        with run.around(around):
            for name in ("aten::mul", "aten::tanh", "aten::abs", "aten::exp"):
                run.run(name, chains.X)

    return chains.program(layer).trace()


def test_one_call_that_torch_builds_of_others_is_no_chain_of_the_program() -> None:
    assert found(RULE, network("aten::gru")) == []


def test_a_call_of_the_program_is() -> None:
    assert len(found(RULE, network("mine::gru"))) == 1


def test_idioms_have_rules_of_their_own() -> None:
    assert found(RULE, chains.program(chains.rms_norm).trace()) == []


def test_without_a_compiler_for_the_device_the_saving_may_be_nothing() -> None:
    """A backend of its own, as the reference device is: nothing says that a fused form exists."""

    def layer(run: SizedProgram) -> None:
        for name in ("aten::mul", "aten::tanh", "aten::abs", "aten::exp"):
            run.run(name, chains.X)

    run = chains.program(layer)
    (known,) = found(RULE, run.trace())
    (row,) = found(RULE, run.trace(known=(GENERIC,)))
    assert (known.confidence, row.confidence) == ("medium", "low")
    assert row.saving_ns == known.saving_ns
    assert known.saving_low_ns is not None
    assert known.saving_low_ns > 0
    assert row.saving_low_ns == 0
    assert row.fix != known.fix


def test_each_round_of_a_loop_is_a_pass_of_its_own() -> None:
    """A round may read other places of what the one before wrote, as shortest paths do."""

    def rounds(run: SizedProgram, count: int) -> None:
        run.run("aten::neg", chains.X)
        for _ in range(count):
            for name in ("aten::mul", "aten::exp", "aten::abs"):
                run.run(name, chains.X)

    (row,) = found(RULE, chains.program(lambda run: rounds(run, 8), layers=1).trace())
    assert "3 operators" in row.explanation
    (few,) = found(RULE, chains.program(lambda run: rounds(run, 3), layers=1).trace())
    assert "10 operators" in few.explanation
