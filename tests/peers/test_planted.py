"""Planted faults: how the advice is judged by value, and that the document has every fault."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.planted import value_table
from benchmarks.planted.__main__ import MODULES, REPORTS, modules
from benchmarks.planted.expected import BLIND, LATER, RULES_OF
from benchmarks.planted.table import Row
from tb_privateuse1.advice.engine import AdviceRow
from tb_privateuse1.advice.rules import RULES

ROOT = Path(__file__).parents[2]
INTERNALS = ROOT / "docs" / "internals"
DOCUMENTS = (INTERNALS / "advice.md", INTERNALS / "advice-programs.md")


def finding(rule: str, share: float) -> AdviceRow:
    """Return a finding that saves a share of a step of 1000 ns."""
    saving = round(1000 * share)
    return AdviceRow(
        rule=rule, title="T", severity="low", cause="waiting", explanation="E", fix="F",
        saving_ns=saving, saving_per_step_ns=saving, saving_share=share, behind_ns=saving, how="H",
        confidence="high", events=1, evidence=(), where=None, lacks=(), reference="R",
        code=None, next=None, change=None, saving_low_ns=None, saving_high_ns=None,
        saving_low_share=None, saving_high_share=None,
        behind_share=share, trial=None,
    )  # fmt: skip


def row(gain: float, *expected: AdviceRow) -> Row:
    """Return a fault that gains a share of a step of 1000 ns."""
    return Row(
        name="tokenizer", what="text", step_ns=1000, gain_ns=round(1000 * gain), gain_error_ns=1,
        recorded_gain=gain, found=expected, others=(), without=(), remains=False,
    )  # fmt: skip


def test_of_each_fault_a_rule_is_expected() -> None:
    assert [name for name, rules in RULES_OF.items() if not set(rules) <= set(RULES)] == []
    assert len(LATER) >= 20
    assert len(BLIND) >= 16
    assert not LATER.keys() & BLIND.keys()


@pytest.mark.parametrize(
    ("found", "right", "times", "near"),
    [
        (row(0.2, finding("item_sync", 0.1), finding("casts", 0.05)), 0.15, 0.75, True),
        (row(0.2, finding("item_sync", 0.5)), 0.2, 2.5, False),
        (row(0.2), 0.0, None, False),
        (row(-0.1, finding("item_sync", 0.1)), 0.0, None, False),
        (row(-0.1), 0.0, None, True),
    ],
)
def test_a_claim_is_right_up_to_the_gain(
    found: Row, right: float, times: float | None, near: bool
) -> None:
    assert value_table.right(found) == pytest.approx(right)
    assert found.ratio == (times if times is None else pytest.approx(times))
    assert found.is_right is near


def test_a_claim_on_a_fault_without_a_rule_is_not_right() -> None:
    other = replace(row(0.2), others=(finding("casts", 0.1),))
    known = row(0.2, finding("item_sync", 0.2))
    assert value_table.figures("all", [known, other]) == (
        "all", "2", "1", "1", "2", "50%", "67%",
    )  # fmt: skip


def test_without_a_gain_and_a_claim_there_is_no_share() -> None:
    assert value_table.figures("all", [row(-0.1)])[-2:] == ("", "")


def test_each_set_that_is_judged_by_value_has_rules_for_its_faults() -> None:
    """A fault without an entry ends the table with an error; names stand in the sources."""
    judged = [name for name in MODULES if REPORTS[name] is value_table.report]
    missing = [
        f"{name}: {fault}"
        for name in judged
        for module in modules(name)
        for fault in _faults(ROOT / (module.replace(".", "/") + ".py"))
        if fault not in RULES_OF
    ]
    assert missing == []


def _faults(file: Path) -> list[str]:
    """Return the functions that build both forms of a program."""
    tree = ast.parse(file.read_text())
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.returns, ast.Name)
        and node.returns.id == "Forms"
        and not node.name.startswith("_")
    ]


def test_every_fault_is_documented() -> None:
    text = "".join(path.read_text() for path in DOCUMENTS)
    assert [name for name in RULES_OF if f"| `{name}`: " not in text] == []
