"""Rotary embedding by hand, and by one kernel."""

from tb_privateuse1.advice.rules.rotary_by_hand import RULE
from tb_privateuse1.trace.vendor import GENERIC
from tests.support import chains
from tests.support.program import found


def test_the_chain_is_found() -> None:
    (row,) = found(RULE, chains.program(chains.rotary).trace())
    assert row.events == 4 * 12
    assert row.saving_share is not None
    assert row.saving_share > 0.15
    assert row.severity == "high"
    assert len(row.evidence) > 1


def test_the_fused_operator_is_fine() -> None:
    assert found(RULE, chains.program(chains.fused_rotary).trace()) == []


def test_other_chains_are_other_rules() -> None:
    assert found(RULE, chains.program(chains.rms_norm).trace()) == []


def test_a_backend_of_its_own_may_have_no_fused_kernel() -> None:
    run = chains.program(chains.rotary)
    (known,), (row,) = found(RULE, run.trace()), found(RULE, run.trace(known=(GENERIC,)))
    assert row.saving_ns == known.saving_ns
    assert known.saving_low_ns is not None
    assert known.saving_low_ns > 0
    assert row.saving_low_ns == 0
    assert (known.confidence, row.confidence) == ("high", "low")
