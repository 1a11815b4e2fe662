"""Gated activations as two operators, and as one."""

from tb_privateuse1.advice.rules.gate_by_hand import RULE
from tests.support import chains
from tests.support.program import found


def test_the_chain_is_found() -> None:
    (row,) = found(RULE, chains.program(chains.gate).trace())
    assert row.events == 4 * 6
    assert row.saving_share is not None
    assert row.saving_share > 0.05
    assert row.severity in ("high", "medium")
    assert len(row.evidence) > 1


def test_the_fused_operator_is_fine() -> None:
    assert found(RULE, chains.program(chains.fused_gate).trace()) == []


def test_other_chains_are_other_rules() -> None:
    assert found(RULE, chains.program(chains.rms_norm).trace()) == []
