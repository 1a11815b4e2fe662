"""What a new rule forgot: its line, its tests on both sides, its words, its place in the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import CAUSES, Rule
from tb_privateuse1.trace.model import Trace
from tests.support import chinese
from tests.support.program import check, device_bound

ROOT = Path(__file__).parents[4]
FILES = {path.stem for path in (ROOT / "tb_privateuse1" / "advice" / "rules").glob("*.py")}


def test_every_rule_is_registered_once() -> None:
    wanted = "a line in tb_privateuse1/advice/rules/__init__.py"
    assert sorted(RULES) == sorted(FILES - {"__init__", "rule"}), wanted


def test_rules_stand_by_cause() -> None:
    order = [CAUSES.index(rule.cause) for rule in RULES.values()]
    assert order == sorted(order)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_is_complete(rule: Rule) -> None:
    assert rule.check.__module__ == f"tb_privateuse1.advice.rules.{rule.name}"
    assert rule.title[:1].isupper()
    words = (rule.looks_for, rule.why, rule.fix, rule.threshold, rule.reference)
    for text in words:
        assert text.endswith("."), text
    chinese.check_rule(rule.name, (rule.title, *words, *(LACKS[need] for need in rule.needs)))
    assert set(rule.needs) <= set(LACKS)


CODED = [rule for rule in RULES.values() if rule.code is not None]
_OTHER = re.compile(r"^(m\.impl|m\.fallback|//|([A-Z_]+=\S+ )?python )")
"""Beginnings of code for the shell and in C++."""


@pytest.mark.parametrize("rule", CODED, ids=lambda rule: rule.name)
def test_code_before_and_after_is_code(rule: Rule) -> None:
    assert rule.code is not None
    assert rule.code.before != rule.code.after
    for code in (rule.code.before, rule.code.after):
        assert max(map(len, code.split("\n"))) <= 80, code
        if not _OTHER.match(code):
            compile(code, rule.name, "exec")


def test_most_rules_have_code() -> None:
    """Others have a fix that is no change of code: a setting, a look at what ran then."""
    assert set(RULES) - {rule.name for rule in CODED} == {
        "blocked_call", "coarse_events", "launch_blocking", "new_pages", "uneven_steps",
        "unrecorded_pauses", "unseen_device", "waiting_ranks",
    }  # fmt: skip


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_is_tested_on_both_sides(rule: Rule) -> None:
    source = Path(__file__).with_name(f"test_{rule.name}.py").read_text()
    assert re.search(r"\(row,\) = |== 1\b", source), "a trace where it speaks"
    assert re.search(r"== \[\]|== 0\b", source), "a trace where it is silent"


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_is_silent_on_nothing(rule: Rule) -> None:
    told = advise(Trace(), rules=(rule,))
    assert told.rows == ()
    assert told.asked[0].answer in ("nothing", "not_asked")


def test_a_program_without_faults() -> None:
    """A busy device."""
    told = advise(device_bound(steps=5).trace())
    check(told)
    assert [row.rule for row in told.rows] == []
