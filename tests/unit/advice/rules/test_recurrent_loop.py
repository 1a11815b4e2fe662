"""A loop over a sequence with a state."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.indexing_loop import RULE as INDEXING
from tb_privateuse1.advice.rules.recurrent_loop import RULE
from tests.support.autograd import HostTraining, TrainingProgram
from tests.support.program import found
from tests.support.sized import FP32, full, recorded

STATE, WEIGHT = full(16, 128, dtype=FP32), full(128, 128, dtype=FP32)


def cells(rounds: int = 32, *, carries: bool = True, caches: bool = False) -> TrainingProgram:
    """Steps with a product of each item of a sequence and one of the state, and their sum."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(rounds):
                whole = full(16, rounds, 128, dtype=FP32)
                run.op("aten::select", 2, **recorded(whole, "1", str(i)))
                run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                if carries:
                    run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                    run.op("aten::add", 40, **recorded(STATE, STATE, "1"))
                run.op("aten::tanh", 40, **recorded(STATE))
                if caches:
                    run.op("aten::copy_", 5, **recorded(STATE, STATE, "False"))
            run.rest(1)
    return run


def test_a_state_that_is_carried_on_is_fused() -> None:
    """One of two products and one of two other operators remain in each round."""
    (row,) = found(RULE, cells().trace())
    assert row.saving_share is not None
    assert 0.3 < row.saving_share < 0.7
    assert found(INDEXING, cells().trace()) == []


def test_rounds_that_need_no_other_are_one_batch() -> None:
    assert found(RULE, cells(carries=False).trace()) == []
    (row,) = found(INDEXING, cells(carries=False).trace())
    assert row.saving_share is not None


def test_a_round_that_writes_a_cache_is_right() -> None:
    assert found(RULE, cells(caches=True).trace()) == []


def test_a_few_rounds_are_layers() -> None:
    assert found(RULE, cells(rounds=4).trace()) == []


def test_a_number_of_a_schedule_is_no_item_of_a_sequence() -> None:
    """A sampler runs its whole network in each round; only a number changes."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(32):
                run.op("aten::select", 2, **recorded(full(32, dtype=FP32), "0", str(i)))
                run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                run.op("aten::mul", 40, **recorded(STATE, full(dtype=FP32)))
                run.op("aten::add", 40, **recorded(STATE, STATE, "1"))
            run.rest(1)
    assert found(RULE, run.trace()) == []


def experts(modules: int) -> TrainingProgram:
    """Steps that add up what a layer makes of all tokens, times a column of the gate in turn."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(8):
                run.op("aten::select", 2, **recorded(full(16, 8, dtype=FP32), "1", str(i)))
                with run.frame(f"nn.Module: Linear_{i % modules}"):
                    run.rest(1)
                    run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                    run.rest(1)
                run.op("aten::tanh", 40, **recorded(STATE))
                run.op("aten::mul", 40, **recorded(STATE, full(16, 1, dtype=FP32)))
                run.op("aten::add", 40, **recorded(STATE, STATE, "1"))
            run.rest(1)
    return run


def test_a_layer_for_each_round_is_no_cell() -> None:
    assert found(RULE, experts(modules=8).trace()) == []
    assert len(found(RULE, experts(modules=1).trace())) == 1


def test_a_sum_or_the_best_so_far_is_no_state_of_a_product() -> None:
    """Each round multiplies the same questions with another part of a table."""
    run = HostTraining()
    questions, scores = full(64, 48, dtype=FP32), full(64, 500, dtype=FP32)
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(16):
                table = recorded(full(8000, 48, dtype=FP32), "0", f"{500 * i}", f"{500 * i + 500}")
                run.op("aten::slice", 2, **table)
                run.op("aten::mm", 60, **recorded(questions, full(48, 500, dtype=FP32)))
                run.op("aten::maximum", 40, **recorded(scores, scores))
                run.op("aten::mul", 40, **recorded(scores, "0.5"))
            run.rest(1)
    assert found(RULE, run.trace()) == []


def test_layers_within_a_round_carry_nothing_on() -> None:
    """A batch in parts: each part's layers read what was made in the same round, and weights."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(8):
                item = recorded(full(128, 32, dtype=FP32), "0", f"{16 * i}", f"{16 * i + 16}")
                run.op("aten::slice", 2, **item)
                for inner, width in ((32, 256), (256, 16)):
                    hidden = full(16, inner, dtype=FP32)
                    weight = full(inner, width, dtype=FP32)
                    run.op("aten::mm", 60, **recorded(hidden, weight))
                    run.op("aten::relu", 40, **recorded(full(16, width, dtype=FP32)))
                run.op("aten::sum", 40, **recorded(full(16, 16, dtype=FP32), ""))
                run.op("aten::add", 5, **recorded(full(dtype=FP32), full(dtype=FP32), "1"))
            run.rest(1)
    assert found(RULE, run.trace()) == []


def test_a_state_beside_its_item_or_on_the_right_is_one() -> None:
    """A product of both joined, and one of a matrix with states as columns."""
    run = HostTraining()
    both, column = full(16, 256, dtype=FP32), full(128, 16, dtype=FP32)
    for _ in range(4):
        with run.step():
            for joined in (True, False):
                run.rest(1)
                for i in range(32):
                    whole = full(16, 32, 128, dtype=FP32)
                    run.op("aten::select", 2, **recorded(whole, "1", str(i)))
                    if joined:
                        run.op("aten::cat", 40, **recorded([STATE, STATE], "1"))
                        run.op("aten::mm", 60, **recorded(both, full(256, 128, dtype=FP32)))
                    else:
                        mixed = recorded(full(192, 128, dtype=FP32), column)
                        mixed["Input Strides"] = [[128, 1], [16, 1]]
                        run.op("aten::mm", 60, **mixed)
                        run.op("aten::narrow", 1, **recorded(STATE, "0", "0", "16"))
                    run.op("aten::tanh", 40, **recorded(STATE))
                    run.op("aten::mul", 40, **recorded(STATE, "0.9"))
                run.rest(1)
    (row,) = found(RULE, run.trace())
    assert row.events == 4 * 2 * 32


@pytest.mark.parametrize(("choice", "is_said"), [("aten::argmax", False), ("aten::neg", True)])
def test_words_that_are_chosen_by_their_round_are_not_known_ahead(
    choice: str, is_said: bool
) -> None:
    """Labels are taken in turn, but the next word is the round's own now and then."""
    run = HostTraining()
    for _ in range(4):
        with run.step():
            run.rest(1)
            for i in range(16):
                words = full(16, dtype="long int")
                table = full(512, 128, dtype=FP32)
                run.op("aten::select", 2, **recorded(full(16, 16, dtype="long int"), "1", str(i)))
                run.op("aten::embedding", 9, **recorded(table, words, "-1", "False", "False"))
                run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                run.op("aten::mm", 60, **recorded(STATE, WEIGHT))
                run.op("aten::add", 40, **recorded(STATE, STATE, "1"))
                run.op("aten::tanh", 40, **recorded(STATE))
                run.op(choice, 20, **recorded(STATE, "1", "False"))
            run.rest(1)
    assert bool(found(RULE, run.trace())) is is_said
