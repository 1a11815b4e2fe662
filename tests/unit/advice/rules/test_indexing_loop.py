"""A loop that indexes a tensor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tb_privateuse1.advice.rules.indexing_loop import RULE
from tests.support.autograd import HostTraining
from tests.support.program import Program, found
from tests.support.sized import BF16, FP32, SizedProgram, full, recorded


def program(rounds: int, others: int = 1, *, device: bool = True) -> Program:
    run = Program()
    for _ in range(3):
        with run.step(), run.frame("train.py(3): normalise"):
            for _ in range(rounds):
                run.op("aten::select", 5, **{"Input Dims": [[64, 8], [], []]})
                for _ in range(others):
                    run.op("aten::mul", 10, kernel=3 if device else 0)
            run.op("aten::mm", 10, kernel=100 if device else 0)
    return run


def test_a_loop_is_found_with_its_line() -> None:
    (row,) = found(RULE, program(64).trace())
    assert (row.events, str(row.where)) == (192, "normalise (train.py:3)")
    assert row.saving_share is not None
    assert row.saving_share > 0.5


def test_without_a_device_it_is_found_as_well() -> None:
    """Its time goes from the thread that the steps are made of: none launches."""
    (row,) = found(RULE, program(64, device=False).trace())
    assert (row.saving_share or 0) > 0.5


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


ROW, TABLE = full(1, 4096), full(64, 4096)


def sized(body: Callable[[SizedProgram], None]) -> SizedProgram:
    """Steps that keep the device busy, with a body for all rows of a table."""
    run = SizedProgram()
    for _ in range(4):
        with run.step():
            run.product(4096, 4096, 4096)
            run.run("aten::add", full(4096, 4096), full(4096, 4096))
            body(run)
            run.wait()
    return run


def by_rows(run: SizedProgram) -> None:
    for _ in range(64):
        run.op("aten::select", 1, **{"Input Dims": [[64, 4096], [], []]})
        run.run("aten::mul", ROW, ROW, host=1)


def at_once(run: SizedProgram) -> None:
    run.run("aten::mul", TABLE, TABLE, host=1)


def recurrent(run: SizedProgram) -> None:
    """Each round multiplies the state, which has the size of its result."""
    for _ in range(64):
        run.op("aten::select", 1, **{"Input Dims": [[64, 4096], [], []]})
        run.product(64, 64, 64)


def test_work_on_the_device_is_batched_too() -> None:
    """Each row takes a start-up of 2 us; all rows together take one."""
    before, after = sized(by_rows), sized(at_once)
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)


def test_products_that_may_need_the_round_before_are_not_batched() -> None:
    for row in found(RULE, sized(recurrent).trace()):
        assert row.saving_ns is not None
        assert row.saving_ns < 4 * 64 * 1000


def item(run: SizedProgram, index: int, name: str = "aten::slice") -> None:
    """Take a row of a table, as profilers record it."""
    values = ["", "0", str(index), *([str(index + 1), "1"] if name == "aten::slice" else [])]
    dims = [[8, 1024], *([] for _ in values[1:])]
    types = [BF16, *("Scalar" for _ in values[1:])]
    arguments = {"Input Dims": dims, "Input type": types, "Concrete Inputs": values}
    run.op(name, 1, **arguments)


def layer(run: SizedProgram, module: int, rows: int = 1) -> None:
    """Two modules, each with a product of its own."""
    for number, (width, wider) in enumerate(((1024, 4096), (4096, 1024)), module):
        with run.frame(f"nn.Module: Linear_{number}"):
            run.now += 1
            run.run("aten::mm", full(rows, width), full(width, wider), host=1)
            run.now += 1


def model(rounds: int = 8, first: int = 0, modules: int = 1, carries: bool = False) -> SizedProgram:
    def body(run: SizedProgram) -> None:
        for i in range(rounds):
            item(run, first * i)
            layer(run, 2 * (i % modules))
            if carries:
                run.run("aten::add", full(1, 1024), full(1, 1024), host=1)

    return sized(body)


def test_a_model_called_for_each_item_reads_its_weights_once() -> None:
    before, after = model(first=1), sized(lambda run: layer(run, 0, rows=8))
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.2)


def test_modules_of_their_own_have_weights_of_their_own() -> None:
    """Only start-ups are saved: each product still reads other weights."""
    assert found(RULE, model(first=1, modules=8).trace()) == []


def test_a_state_that_is_carried_on_is_no_item() -> None:
    """The sum may have the result of the round before as an operand."""
    assert found(RULE, model(first=1, carries=True).trace()) == []


def test_the_same_place_in_each_round_is_no_item() -> None:
    assert found(RULE, model(first=0).trace()) == []


def places(places: int) -> Program:
    """Take 64 places of a tensor, between rounds that are not equal."""
    run = Program()
    for _ in range(3):
        with run.step():
            for i in range(64):
                values = {"Input type": ["float", "Scalar", "Scalar"]}
                values |= {"Concrete Inputs": ["", "0", str(i % places)]}
                run.op("aten::select", 5, **{"Input Dims": [[64, 8], [], []]}, **values)
                for _ in range(1 + bin(i).count("1") % 2):  # never the same three times
                    run.op("aten::mul", 10, kernel=3)
            run.op("aten::mm", 10, kernel=100)
    return run


def test_layers_that_take_the_same_halves_are_no_loop_over_a_tensor() -> None:
    assert found(RULE, places(2).trace()) == []


def test_as_many_places_are_a_loop_even_if_its_rounds_are_not_equal() -> None:
    (row,) = found(RULE, places(64).trace())
    assert row.events == 3 * 64


def test_three_items_are_fine() -> None:
    assert found(RULE, model(rounds=3, first=1).trace()) == []


def parts(rounds: int, carries: bool = False) -> SizedProgram:
    def body(run: SizedProgram) -> None:
        values = {"Input type": [BF16, "Scalar"], "Concrete Inputs": ["", "0"]}
        run.op("aten::unbind", 1, **{"Input Dims": [[8, 1, 1024], []]}, **values)
        for _ in range(rounds):
            layer(run, 0)
            if carries:
                run.run("aten::add", full(1, 1024), full(1, 1024), host=1)
        run.run("aten::cat", [full(1, 1024)] * 8, "0", host=1)

    return sized(body)


def test_a_loop_over_the_parts_of_a_tensor_has_a_round_for_each() -> None:
    before, after = parts(8), sized(lambda run: layer(run, 0, rows=8))
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.25)


def test_other_numbers_of_rounds_are_of_something_else() -> None:
    assert found(RULE, parts(7).trace()) == []
    assert found(RULE, parts(12).trace()) == []


def test_cells_that_carry_a_state_take_parts_in_turn() -> None:
    assert found(RULE, parts(8, carries=True).trace()) == []


def cache(run: SizedProgram) -> None:
    """Each round writes a place and reads all places: the cache carries the state."""
    for i in range(8):
        item(run, i)
        run.run("aten::copy_", full(1, 1024), full(1, 1024), host=1)
        run.run("aten::mean", full(8, 1024), "[0]", host=1)
        layer(run, 0)


def test_a_cache_that_is_written_and_read_is_no_item() -> None:
    assert found(RULE, sized(cache).trace()) == []


def prefix(run: SizedProgram) -> None:
    """Each row needs the row before."""
    for i in range(1, 64):
        item(run, i - 1, name="aten::select")
        run.run("aten::mul", ROW, ROW, host=20)
        item(run, i, name="aten::select")
        run.run("aten::add", ROW, ROW, host=20)


def test_a_row_that_needs_the_row_before_is_no_item() -> None:
    assert found(RULE, sized(prefix).trace()) == []


def test_unmarked_steps_begin_such_a_loop_again() -> None:
    def steps(run: SizedProgram) -> None:
        for _ in range(5):
            prefix(run)

    assert found(RULE, sized(steps).trace()) == []


def test_a_loop_that_begins_again_is_still_one() -> None:
    def rows(run: SizedProgram) -> None:
        for i in range(8 * 5):
            item(run, i % 8)
            run.run("aten::exp", full(1, 1024), host=100)

    (row,) = found(RULE, sized(rows).trace())
    assert "20 loops indexed a tensor 8 times each" in row.explanation


def nested(run: SizedProgram, before: int = 0) -> None:
    """Classes of samples in turn; the first round is another one, and may read the class before."""
    for i in range(1, 8 * 6):
        run.op("aten::select", 1, **recorded(full(8, 6, 1024), "0", str(i // 6)))
        run.op("aten::select", 1, **recorded(full(6, 1024), "0", str(i % 6)))
        if before:
            run.op("aten::select", 1, **recorded(full(6, 1024), "0", str(i % 6 - before)))
        run.run("aten::exp", full(1024), host=100)


def test_an_inner_loop_begins_again_with_each_item_of_the_outer_one() -> None:
    (row,) = found(RULE, sized(nested).trace())
    assert "28 loops indexed a tensor 6 times each" in row.explanation
    assert (row.saving_share or 0) > 0.5


def test_an_inner_loop_whose_rounds_need_the_one_before_is_none() -> None:
    def needing(run: SizedProgram) -> None:
        nested(run, before=1)

    assert found(RULE, sized(needing).trace()) == []


def parts_of_items(run: SizedProgram, *, carried: bool = False) -> None:
    """A part of each item is read; with a state, the part's size is that of the state, too."""
    for time in range(32):
        run.op("aten::select", 1, **recorded(full(32, 8, 512), "0", str(time)))
        run.op("aten::select", 1, **recorded(full(8, 512), "0", "3"))
        if carried:
            run.run("aten::add", full(512), full(512), "1", host=60)
        else:
            run.run("aten::exp", full(512), host=60)


def test_a_place_of_an_item_is_what_the_round_reads() -> None:
    (row,) = found(RULE, sized(parts_of_items).trace())
    assert "4 loops indexed a tensor 32 times each" in row.explanation


def test_a_state_beside_a_place_of_an_item_is_carried_on() -> None:
    def carrying(run: SizedProgram) -> None:
        parts_of_items(run, carried=True)

    assert found(RULE, sized(carrying).trace()) == []


def bags(read: tuple[int, ...] = (12, 256)) -> SizedProgram:
    """Rows of a table that each text names, one text after the other; their numbers are unknown."""

    def body(run: SizedProgram) -> None:
        words = full(32, 12)
        for text in range(32):
            run.run("aten::select", words, "0", str(text))
            recording = recorded(full(4096, 256)) | {"Input Dims": [[4096, 256], []]}
            recording |= {"Input type": [BF16, ""], "Concrete Inputs": ["", ""]}
            run.op("aten::index", 3, kernel=40, device="index", **recording)
            run.run("aten::mean", full(*read), "[0]", "False", "")

    return sized(body)


def test_rows_of_a_table_need_one_pass_over_it() -> None:
    """32 lookups of 40 us and averages of 2 us, in steps of 2.9 ms, need 46 us together."""
    (row,) = found(RULE, bags().trace())
    assert row.saving_share == pytest.approx(0.45, abs=0.02)


def test_results_that_are_no_rows_of_the_table_are_unknown() -> None:
    """The start-ups of the averages remain, 2 us each."""
    (row,) = found(RULE, bags((12, 100)).trace())
    assert row.saving_share == pytest.approx(0.043, abs=0.01)


def test_without_shapes_no_gain_is_promised() -> None:
    """Rounds that carry a state look the same."""
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(64):
                run.op("aten::select", 5)
                run.op("aten::tanh", 10)
    (row,) = found(RULE, run.trace())
    assert row.saving_ns is None
    assert "shows with record_shapes" in str(row.explanation)


def test_work_of_a_processor_stays_where_its_sizes_are_recorded() -> None:
    """Parts of a table are looked at in turn to save memory: a batch takes as long."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            run.op("aten::split", 2, **recorded(full(64, 4096, dtype=FP32), "8", "0"))
            for _ in range(8):
                run.op("aten::topk", 500, **recorded(full(8, 4096, dtype=FP32), "5", "-1"))
            run.rest(1)
    assert found(RULE, run.trace()) == []


def test_a_processor_is_as_full_with_a_part() -> None:
    """Parts of a table, each with much work: one call is as fast as all, or slower beyond a cache.

    One product is twice as fast as the others, as parts of a busy machine's are.
    """
    run = HostTraining()
    questions, part = full(64, 48, dtype=FP32), full(48, 4000, dtype=FP32)
    scores = full(64, 4000, dtype=FP32)
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(16):
                values = "0", f"{4000 * i}", f"{4000 * i + 4000}", "1"
                run.op("aten::slice", 2, **recorded(full(64000, 48, dtype=FP32), *values))
                run.op("aten::t", 2, **recorded(full(4000, 48, dtype=FP32)))
                run.op("aten::mm", 150 if i == 3 else 300, **recorded(questions, part))
                run.op("aten::amax", 60, **recorded(scores, "[1]", "False"))
            run.rest(1)
    (row,) = found(RULE, run.trace())
    assert row.saving_share is not None
    assert row.saving_share < 0.05
    assert (row.confidence, row.saving_low_ns) == ("low", 0)
