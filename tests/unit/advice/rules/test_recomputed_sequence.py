"""Generation that computes the whole sequence for each token, and what looks like it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.advice.rules.recomputed_sequence import RULE
from tb_privateuse1.readers import chrome
from tests.support.autograd import TrainingProgram
from tests.support.program import found
from tests.support.sized import SizedProgram, full, recorded

BATCH, WIDTH = 64, 2048
COMPILED = Path(__file__).parents[3] / "traces/without_device/compiled/train.1.pt.trace.json.gz"


def block(run: SizedProgram, rows: int) -> None:
    """A block of a transformer for some rows."""
    run.product(rows, WIDTH, WIDTH)
    run.run("aten::relu", full(rows, WIDTH))
    run.product(rows, WIDTH, WIDTH)
    run.run("aten::add", full(rows, WIDTH), full(rows, WIDTH), "1")


def program(lengths: Iterable[int], steps: int = 3, layers: int = 2) -> SizedProgram:
    """Rounds over sequences of these lengths, then one row of scores for each sequence."""
    run = SizedProgram()
    for _ in range(steps):
        with run.step():
            for length in lengths:
                for _ in range(layers):
                    block(run, BATCH * length)
                run.product(BATCH, WIDTH, 8 * WIDTH)
            run.wait()
    return run


@pytest.mark.long
def test_generation_without_a_cache() -> None:
    before, after = program(range(32, 64)), program([32, *([1] * 31)])
    (row,) = found(RULE, before.trace())
    assert row.saving_ns is not None
    assert row.saving_ns == pytest.approx(1000 * (before.now - after.now), rel=0.25)
    assert row.events == 3 * 31


def test_the_same_with_a_token_for_each_step() -> None:
    """The profiler's step may be one token: rounds go on over the borders of steps."""
    run = SizedProgram()
    for length in range(32, 40):
        with run.step():
            block(run, BATCH * length)
            run.wait()
    assert len(found(RULE, run.trace())) == 1


def test_two_sequences_one_after_the_other() -> None:
    (row,) = found(RULE, program([*range(32, 40), *range(32, 40)]).trace())
    assert row.events == 3 * 14


@pytest.mark.parametrize(
    "lengths",
    [
        [1] * 32,  # with a cache
        [64] * 32,  # steps of diffusion
        [16, 32, 64, 128, 256],  # a sweep over sizes
        [17, 40, 33, 58, 21, 90, 47, 66],  # texts as they come
        [8, 9, 11, 14, 18, 23, 31, 47],  # texts sorted by their length
        range(64, 32, -1),  # the longest ones first
        [32, 64, 96],  # three sizes
        [224, 256],  # two of them
        [64, 65, 64, 65, 64, 65],
    ],
)
def test_rounds_that_do_not_grow_evenly(lengths: Iterable[int]) -> None:
    assert found(RULE, program(lengths).trace()) == []


def test_three_tokens_a_step_are_enough_if_each_step_has_them() -> None:
    (row,) = found(RULE, program([256, 257, 258]).trace())
    assert row.saving_share is not None
    assert 0.4 < row.saving_share < 0.7  # the first round of each step is the prompt
    assert found(RULE, program([256, 257, 258], steps=1).trace()) == []


def test_rounds_that_read_their_weights_only() -> None:
    """Rows grow by a little, and the weights are read at the rate of memory."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            run.run("aten::add", full(8192, 8192), full(8192, 8192), "1")
            for rows in (32, 33, 34):
                run.product(rows, 8192, 8192)
            run.wait()
    assert found(RULE, run.trace()) == []


def test_rounds_that_take_no_longer_cost_nothing() -> None:
    """A few rows wait for the weights: each round takes as long as one with a single row."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            for rows in range(1, 33):
                run.op("aten::mm", 3, kernel=50, device="mm", **sized(rows))
            run.wait()
    assert found(RULE, run.trace()) == []


def sized(rows: int) -> dict[str, Any]:
    return {
        "Input Dims": [[rows, WIDTH], [WIDTH, WIDTH]],
        "Input type": ["c10::BFloat16", "c10::BFloat16"],
    }


def test_a_batch_that_grows_is_no_sequence() -> None:
    """Each round's rows are drawn anew: none was there before."""
    run = SizedProgram()
    for rows in range(BATCH, BATCH + 8):
        with run.step():
            run.op("aten::randn", 1, **recorded(f"[{rows}, {WIDTH}]", "", "", "", "False"))
            block(run, rows)
            run.wait()
    assert found(RULE, run.trace()) == []
    trace = inference.build_trace(chrome.read(str(COMPILED)), None, worker="w", files=("f",))
    assert found(RULE, trace) == []


def curriculum(run: TrainingProgram) -> None:
    """Each size is trained on: its backward pass needs all rows."""
    for length in range(32, 40):
        run.backward(run.forward(BATCH * length, WIDTH, WIDTH))
        run.optimize((WIDTH, WIDTH))


def cached(run: TrainingProgram) -> None:
    """One token for each round; the keys that it is compared with grow."""
    for length in range(32, 64):
        run.product(BATCH, WIDTH, WIDTH)
        heads, keys = full(BATCH, 1, 128), full(BATCH, 128, length)
        run.run("aten::bmm", heads, keys)
        run.run("aten::bmm", full(BATCH, 1, length), full(BATCH, length, 128))


@pytest.mark.parametrize("step", [curriculum, cached])
def test_work_that_is_needed(step: Callable[[TrainingProgram], None]) -> None:
    run = TrainingProgram()
    for _ in range(3):
        with run.step():
            step(run)
            run.wait()
    assert found(RULE, run.trace()) == []


def test_a_recurrent_network_that_starts_anew_without_a_device() -> None:
    """An agent gives its network all of the episode for each action."""
    run = SizedProgram()
    for _ in range(3):
        with run.step():
            for length in range(32, 64):
                run.op("aten::mm", 10 * length, **sized(length))
                run.op("aten::sigmoid", length, **sized(length))
            run.rest(5)
    (row,) = found(RULE, run.trace())
    assert row.saving_share is not None
    assert row.saving_share > 0.8
