"""Copies that block the host."""

import contextlib
from collections.abc import Sequence
from typing import Any

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import blocked_call
from tb_privateuse1.advice.rules.blocking_copy import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.program import Program, found
from tests.support.sized import recorded, unshaped


def program(blocking: bool, around: str = "aten::copy_") -> Program:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::to"), run.around(around):
                run.copy("HtoD", 20, blocking=blocking)
            run.rest(200)
    return run


def test_it_is_found_and_the_memory_named() -> None:
    (row,) = found(RULE, program(blocking=True).trace())
    assert row.events == 4
    assert "4 copies used pageable memory" in row.explanation
    assert row.saving_ns is not None
    assert row.saving_ns > 3 * 180_000


def test_a_copy_that_does_not_block_is_fine() -> None:
    assert found(RULE, program(blocking=False).trace()) == []


def results(copies: int, *, marked: bool = True) -> Trace:
    """Results of a step that are read by some copies; the profiler marks its steps, or not."""
    run = Program()
    for _ in range(4):
        with run.step() if marked else contextlib.nullcontext():
            for _ in range(10):
                run.op("aten::mm", 10, kernel=100)
            for _ in range(copies):
                with run.around("aten::copy_"):
                    run.copy("DtoH", 1)
            run.rest(40)
    return run.trace()


def test_results_of_a_step_in_one_copy_are_together_already() -> None:
    assert found(RULE, results(1)) == []


def test_steps_that_only_repeat_are_steps_as_well() -> None:
    assert found(RULE, results(1, marked=False)) == []
    assert len(found(RULE, results(4, marked=False))) == 1


def late(run: Program, us: float) -> None:
    """Let the last call return later."""
    run.rest(us)
    run.events[-1]["dur"] += us


def test_the_one_copy_of_a_step_is_no_blocked_call_either() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(10):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::copy_"):
                run.copy("DtoH", 1)
                late(run, 70)
    trace = run.trace()
    assert advise(trace, rules=(RULE, blocked_call.RULE)).rows == ()
    assert advise(trace, rules=(blocked_call.RULE,)).rows == ()


def test_awaited_answers_are_no_blocked_call_however_short() -> None:
    trace = environment(8, rest=0, work=400).trace()
    assert advise(trace, rules=(RULE, blocked_call.RULE)).rows == ()


def test_the_results_of_a_step_can_only_be_read_later() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            with run.around("aten::copy_"):
                run.copy("DtoH", 1)
            run.rest(200)
    (row,) = found(RULE, run.trace())
    assert row.fix.startswith("One copy has all results of a step")


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("trains", [False, True])
def test_requests_may_need_their_results_before_the_next_one(copies: int, trains: bool) -> None:
    """Whether there is a next request to launch meanwhile is not recorded; a training step is."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=100)
            if trains:
                with run.around("autograd::engine::evaluate_function: MmBackward0"):
                    run.op("aten::mm", 10, kernel=100)
            for _ in range(copies):
                with run.around("aten::copy_"):
                    run.copy("DtoH", 20)
            run.rest(200)
    (row,) = found(RULE, run.trace())
    assert "has all results" in row.fix or "have all results" in row.fix
    assert row.saving_low_ns is not None
    assert (row.saving_low_ns > 0) is trains
    assert row.confidence == ("high" if trains else "medium")


def test_results_read_one_by_one_are_found() -> None:
    assert len(found(RULE, results(4))) == 1


def test_the_copy_of_another_finding_is_not_reported_twice() -> None:
    assert found(RULE, program(blocking=True, around="aten::_local_scalar_dense").trace()) == []


def test_its_line_is_that_of_the_wait_that_costs_time() -> None:
    """A long wait for a busy device costs nothing, if the next launch follows at once."""
    run = Program()
    for _ in range(4):
        with run.step():
            for line, kernels, pause in (("(3): load", 20, 5), ("(9): step", 5, 400)):
                for _ in range(kernels):
                    run.op("aten::mm", 10, kernel=100)
                with run.frame(f"train.py{line}"):
                    with run.around("aten::copy_"):
                        run.copy("DtoH", 20)
                    run.rest(pause)
    (row,) = found(RULE, run.trace())
    assert str(row.where) == "step (train.py:9)"


def wrap(run: Program, *shape: int) -> None:
    """Make a tensor of data from outside of torch."""
    arguments: dict[str, Any] = {"Input Dims": [[*shape]]}
    run.op("aten::lift_fresh", 2, **arguments)


def environment(
    items: int, *, answers: bool = True, rest: float = 200, work: float = 100
) -> Program:
    """A policy whose actions code on the host answers with the next states, as new data."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.op("aten::mm", 10, kernel=work)
                with run.frame("rollout.py(8): act"):
                    with run.around("aten::copy_"):
                        run.copy("DtoH", 20)
                        late(run, work / 20)
                    run.op("aten::detach", 2)
                run.rest(rest)
                if answers:
                    wrap(run, items, 24)
                with run.around("aten::to"), run.around("aten::copy_"):
                    run.copy("HtoD", 20, blocking=False)
    return run


def test_single_items_could_be_many() -> None:
    (row,) = found(RULE, environment(1).trace())
    assert row.saving_ns is not None
    assert row.fix.startswith("Each trip is for a single item")


def test_answers_to_many_items_have_to_be_waited_for() -> None:
    trace = environment(8).trace()
    (row,) = found(RULE, trace)
    assert (row.saving_ns, row.severity) == (None, "note")
    assert row.title.startswith("The program waits for answers of the host: 3")
    assert str(row.where) == "act (rollout.py:8)"
    whole = advise(trace, rules=(RULE, blocked_call.RULE))
    assert [row.rule for row in whole.rows] == ["blocking_copy"]


def test_a_host_that_was_held_up_behind_a_copy_is_no_fault_of_it() -> None:
    """The copy was done: the thread did not run for the rest."""
    run = Program()
    for step in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=300)
            run.now = max(run.now, run.device)
            with run.around("aten::to"), run.around("aten::copy_"):
                run.copy("HtoD", 1)
                late(run, 800 if step == 2 else 2)
    trace = run.trace()
    assert advise(trace, rules=(RULE, blocked_call.RULE)).rows == ()


def read_at_the_end(delays: Sequence[int]) -> Trace:
    """Results that each step reads at its end, with the time from there to the call's return."""
    run = Program()
    for delay in delays:
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=300)
            with run.around("aten::to"), run.around("aten::copy_", **read([8, 24], [8, 24])):
                run.copy("DtoH", 1)
                late(run, delay)
    return run.trace()


def test_a_host_that_was_held_up_behind_results_is_no_fault_of_the_read() -> None:
    """Of one step the copy was long done: the thread did not run for the rest."""
    for delays in ((4, 4, 4, 4, 2000, 4), (4, 2000, 4)):
        held = advise(read_at_the_end(delays), rules=(RULE, blocked_call.RULE))
        assert held.rows == ()


def test_results_that_all_return_late_are_found() -> None:
    (row,) = found(RULE, read_at_the_end((400,) * 6))
    assert row.events == 6


def test_copies_that_all_return_late_are_found() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(5):
                run.op("aten::mm", 10, kernel=300)
            run.now = max(run.now, run.device)
            with run.around("aten::to"), run.around("aten::copy_"):
                run.copy("HtoD", 1)
                late(run, 200)
    (row,) = found(RULE, run.trace())
    assert row.events == 4


def read(*shapes: list[int]) -> dict[str, Any]:
    """The arguments of an event that describe the sizes of its inputs."""
    return {"Input Dims": list(shapes)}


def moved(answer: str, sent: list[int]) -> Program:
    """A policy whose actions operators on the host make the next states of; or they do not."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.op("aten::mm", 10, kernel=100)
                with run.around("aten::to"), run.around("aten::copy_", **read([8], [8])):
                    run.copy("DtoH", 20)
                run.op("aten::unsqueeze", 2, **read([8]))
                run.op(answer, 100, **read([8, 24], [8, 1]))
                run.op("aten::remainder_", 100, **read([8, 24]))
                sends = read(sent, sent)
                with run.around("aten::to", **sends), run.around("aten::copy_", **sends):
                    run.copy("HtoD", 20, blocking=False)
    return run


def test_answers_that_operators_on_the_host_compute_have_to_be_waited_for() -> None:
    (row,) = found(RULE, moved("aten::add_", [8, 24]).trace())
    assert (row.saving_ns, row.severity) == (None, "note")


def test_results_that_only_a_log_reads_could_come_later() -> None:
    """What is sent next has another size than all that the result went into."""
    (row,) = found(RULE, moved("aten::add_", [64, 3, 32]).trace())
    assert row.saving_ns is not None


def test_results_without_an_answer_could_come_later() -> None:
    (row,) = found(RULE, environment(8, answers=False).trace())
    assert row.saving_ns is not None
    assert "pinned memory" in row.fix


def experts(parts: Sequence[Sequence[int]], kind: str = "long int") -> Program:
    """Counts are read, and a tensor is divided into parts of some sizes, in turn."""
    run = Program()
    counts = recorded(((3,), kind), ((3,), kind), "False")
    for step in range(4):
        with run.step():
            for layer in range(6):
                run.op("aten::mm", 10, kernel=100)
                with run.around("aten::to"), run.around("aten::copy_", **counts):
                    run.copy("DtoH", 20)
                run.rest(200)
                run.op("aten::index", 10, kernel=20)
                sizes = str(list(parts[(step + layer) % len(parts)]))
                run.op("aten::split_with_sizes", 5, **recorded(((64, 8), "float"), sizes, "0"))
    return run


def test_sizes_of_what_follows_have_to_be_waited_for() -> None:
    (row,) = found(RULE, experts([(20, 24, 20), (30, 4, 30)]).trace())
    assert (row.saving_ns, row.severity) == (None, "note")


@pytest.mark.parametrize(
    ("parts", "kind"),
    [([(20, 24, 20)], "long int"), ([(32, 32), (30, 34)], "long int"),
     ([(20, 24, 20), (30, 4, 30)], "float")],
)  # fmt: skip
def test_parts_of_equal_sizes_or_other_numbers_are_not_of_what_is_read(
    parts: Sequence[Sequence[int]], kind: str
) -> None:
    (row,) = found(RULE, experts(parts, kind).trace())
    assert row.saving_ns is not None


@pytest.mark.parametrize("sizes", [{"a": 1}, [10**22], [1e300]])
def test_sizes_that_are_none_answer_nothing(sizes: object) -> None:
    """A file may have anything there."""
    run = Program()
    given: dict[str, Any] = {"Input Dims": [sizes], "Input type": ["float"]}
    for _ in range(4):
        with run.step():
            run.op("aten::mm", 10, kernel=100)
            with run.around("aten::copy_"):
                run.copy("DtoH", 20)
            run.rest(200)
            run.op("aten::lift_fresh", 2, **given)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None


def test_lists_that_are_copied_one_after_another_are_no_answers() -> None:
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.op("aten::mm", 10, kernel=100)
                wrap(run, 64)
                with run.around("aten::to"), run.around("aten::copy_"):
                    run.copy("to the device", 20)
                run.rest(200)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is not None


def simulated(*work: str) -> Trace:
    """A policy without shapes, whose actions the host works on before it sends anything."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(6):
                run.op("aten::mm", 10, kernel=100)
                with run.around("aten::to"), run.around("aten::copy_"):
                    run.copy("DtoH", 20)
                for name in work:
                    run.op(name, 100)
                with run.around("aten::to"), run.around("aten::copy_"):
                    run.copy("HtoD", 20, blocking=False)
    return run.trace()


def test_without_shapes_what_the_host_computes_may_be_the_answer() -> None:
    (row,) = found(RULE, simulated("aten::unsqueeze", "aten::add_"))
    assert (row.saving_ns, row.severity) == (None, "note")


def test_without_shapes_views_alone_answer_nothing() -> None:
    (row,) = found(RULE, simulated("aten::unsqueeze", "aten::resolve_conj"))
    assert row.saving_ns is not None


def test_without_shapes_new_data_is_an_answer_of_several_items() -> None:
    (row,) = found(RULE, unshaped(environment(1)))
    assert (row.saving_ns, row.severity) == (None, "note")
