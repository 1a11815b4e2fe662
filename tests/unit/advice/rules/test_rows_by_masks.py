"""Masks and comparisons that exclude each other, or do not; branches read beside a choice."""

from __future__ import annotations

import pytest

from tb_privateuse1.advice.rules.chosen_results import RULE
from tests.support.program import found
from tests.support.sized import SizedProgram, matrix, op, steps
from tests.unit.advice.rules.test_chosen_results import (
    MASK,
    NUMBERS,
    ONE_ROUND_US,
    TOKENS,
    WIDTH,
    Body,
    branch,
    where,
)


def queries_of_a_choice(run: SizedProgram) -> None:
    branch(run)
    branch(run, layer="Linear_1")
    where(run)
    for _ in range(3):
        op(run, "linear", matrix(TOKENS, 64), matrix(64, 64))
        op(run, "view", matrix(TOKENS, 64), "[8, 256, 4, 16]", us=0)
    query = matrix(8, 256, 4, 16)
    op(run, "scaled_dot_product_attention", query, query, query, "", "0.", "False", "", "False")


def mask_and_opposite(run: SizedProgram) -> None:
    op(run, "gt", matrix(TOKENS, 1), "0.5", us=0)
    branch(run)
    op(run, "mul", matrix(TOKENS, 64), MASK)
    op(run, "bitwise_not", MASK, us=0)
    branch(run, layer="Linear_1")
    op(run, "mul", matrix(TOKENS, 64), MASK)
    op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def mask_as_number(run: SizedProgram) -> None:
    """A mask of the batch becomes a number once: the other branch has one less it."""
    number = matrix(TOKENS, 1)
    op(run, "to", MASK, "6", "False", "False", "", us=0)
    branch(run)
    op(run, "mul", number, matrix(TOKENS, 64))
    op(run, "rsub", number, "1", "1", us=0)
    branch(run, layer="Linear_1")
    op(run, "mul", number, matrix(TOKENS, 64))
    op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def opposite_comparisons(run: SizedProgram) -> None:
    op(run, "linear", matrix(TOKENS, WIDTH), matrix(1, WIDTH))
    for comparison in ("gt", "le"):
        op(run, comparison, matrix(TOKENS, 1), "0.5", us=0)
        branch(run, layer=f"Linear_{comparison}")
        op(run, "mul", matrix(TOKENS, 64), MASK)
    op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


@pytest.mark.parametrize(
    "body", [queries_of_a_choice, mask_and_opposite, mask_as_number, opposite_comparisons]
)
def test_rows_of_one_branch_go(body: Body) -> None:
    (row,) = found(RULE, steps(body).trace())
    assert row.saving_ns == pytest.approx(3000 * ONE_ROUND_US, rel=0.03)


def heads_of_both(run: SizedProgram) -> None:
    """The choice and both results have a head and a loss each."""
    branch(run)
    branch(run, layer="Linear_1")
    where(run)
    for _ in range(3):
        op(run, "linear", matrix(TOKENS, 64), matrix(8, 64))
        op(run, "cross_entropy_loss", matrix(TOKENS, 8), NUMBERS, us=10)


def heads_in_a_row(run: SizedProgram) -> None:
    """The scores of the choice and of both results go to the program."""
    branch(run)
    branch(run, layer="Linear_1")
    where(run)
    for _ in range(3):
        op(run, "linear", matrix(TOKENS, 64), matrix(8, 64))


def two_senses(run: SizedProgram) -> None:
    """Has a text, and is not blank: masks of the batch that say nothing of each other."""
    branch(run)
    op(run, "mul", matrix(TOKENS, 64), MASK)
    branch(run, layer="Linear_1")
    op(run, "bitwise_not", MASK, us=0)
    op(run, "mul", matrix(TOKENS, 64), MASK)
    op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


def two_scores(run: SizedProgram) -> None:
    """Likely enough, and near enough: scores of two layers that are compared with one number."""
    for comparison in ("gt", "le"):
        op(run, "linear", matrix(TOKENS, WIDTH), matrix(1, WIDTH))
        op(run, comparison, matrix(TOKENS, 1), "0.5", us=0)
        branch(run, layer=f"Linear_{comparison}")
        op(run, "mul", matrix(TOKENS, 64), MASK)
    op(run, "add", matrix(TOKENS, 64), matrix(TOKENS, 64))


@pytest.mark.parametrize("body", [heads_of_both, heads_in_a_row, two_senses, two_scores])
def test_rows_of_both_are_needed(body: Body) -> None:
    assert found(RULE, steps(body).trace()) == []
