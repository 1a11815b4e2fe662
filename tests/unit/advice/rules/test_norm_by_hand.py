"""Normalization by hand, and by one kernel."""

import pytest

from tb_privateuse1.advice.rules.norm_by_hand import RULE
from tests.support import chains
from tests.support.program import found
from tests.support.sized import SizedProgram


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
