"""Normalization by hand, and by one kernel."""

import pytest

from tb_privateuse1.advice.rules.norm_by_hand import RULE
from tests.support import chains
from tests.support.chains import COLUMN, WIDTH, XF
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, full


def test_the_chain_is_found() -> None:
    (row,) = found(RULE, chains.program(chains.rms_norm).trace())
    assert row.events == 4 * 6
    assert row.saving_share is not None
    assert row.saving_share > 0.3
    assert row.severity == "high"
    assert len(row.evidence) > 1


def test_the_fused_operator_is_fine() -> None:
    assert found(RULE, chains.program(chains.fused_norm).trace()) == []


def test_other_chains_are_other_rules() -> None:
    assert found(RULE, chains.program(chains.rotary).trace()) == []


def scaled_rows(run: SizedProgram) -> None:
    """Rows are divided by weighted sums, as of a matrix whose rows are to add up to one."""
    run.run("aten::mul", XF, full(WIDTH, dtype=FP32))
    run.run("aten::sum", XF, "[-1]", "True", "")
    run.run("aten::reciprocal", COLUMN)
    run.run("aten::mul", XF, COLUMN)


def shares_of_squares(run: SizedProgram) -> None:
    """Squares are divided by their sums: no root is taken."""
    run.run("aten::mul", XF, XF)
    run.run("aten::sum", XF, "[-1]", "True", "")
    run.run("aten::reciprocal", COLUMN)
    run.run("aten::mul", XF, COLUMN)


def roots_of_weighted_sums(run: SizedProgram) -> None:
    """Nodes of a graph are scaled by the roots of their weighted degrees."""
    run.run("aten::mul", XF, COLUMN)
    run.run("aten::sum", XF, "[-1]", "True", "")
    run.run("aten::rsqrt", COLUMN)
    run.run("aten::mul", XF, COLUMN)


def scaled_as_a_whole(run: SizedProgram) -> None:
    """A matrix is divided by the root of the mean of all its squares."""
    run.run("aten::pow", XF, "2")
    run.run("aten::mean", XF, "")
    run.run("aten::rsqrt", full(dtype=FP32))
    run.run("aten::mul", XF, full(dtype=FP32))


@pytest.mark.parametrize(
    "layer", [scaled_rows, shares_of_squares, roots_of_weighted_sums, scaled_as_a_whole]
)
def test_scales_that_no_norm_has(layer: chains.Layer) -> None:
    assert found(RULE, chains.program(layer).trace()) == []


def test_squares_by_a_product_of_a_tensor_with_itself() -> None:
    def layer(run: SizedProgram) -> None:
        run.run("aten::mul", XF, XF)
        run.run("aten::mean", XF, "[-1]", "True", "")
        run.run("aten::sqrt", COLUMN)
        run.run("aten::reciprocal", COLUMN)
        run.run("aten::mul", XF, COLUMN)

    (row,) = found(RULE, chains.program(layer).trace())
    assert row.events == 4 * 6


@pytest.mark.long
def test_operators_around_it_are_not_claimed() -> None:
    """What stays beside the fused operator is another rule's chain."""

    def around(run: SizedProgram) -> None:
        for name in ("aten::neg", "aten::exp", "aten::sin"):
            run.run(name, chains.X)
        chains.rms_norm(run)

    (alone,) = found(RULE, chains.program(chains.rms_norm).trace())
    (row,) = found(RULE, chains.program(around).trace())
    assert row.saving_ns is not None
    assert alone.saving_ns is not None
    assert row.saving_ns <= alone.saving_ns * 1.02
