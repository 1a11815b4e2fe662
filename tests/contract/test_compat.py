"""Users' rules and notebooks of the last version still run, with a warning."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tb_privateuse1.advice.rules.base import RuleFinding
from tb_privateuse1.advice.user_rules import Rules
from tb_privateuse1.views.advice import advice
from tests.support.make import annotation, kernel, launch, op, step, trace

RULE = """
from tb_privateuse1.rules.base import Case, Found, Rule, listed, say, sentences


def check(case: Case):
    rows = case.ops(r"^save_checkpoint$")
    claim = case.of_host(case.time(rows))
    if len(rows) and claim is not None:
        yield Found(
            title=f"{len(rows)} checkpoints", explanation="Slow.", events=len(rows),
            evidence=case.examples("ops", rows), how="Their time.", claim=claim,
            removes=case.without(ops=rows), source=case.source(rows),
        )


RULE = Rule(
    name="checkpoints", title="Checkpoints", cause="launching", looks_for="Ranges.",
    why="It waits.", fix="Write in a thread.", threshold="None.", reference="Our own.", check=check,
    needs=("operators",), rank="symptom",
)
"""


@pytest.mark.filterwarnings("ignore:tb_privateuse1.rules.base:DeprecationWarning")
def test_a_rule_of_the_last_version_runs(tmp_path: Path) -> None:
    file = tmp_path / "checkpoints.py"
    file.write_text(RULE)
    steps = [step(n, n * 100, n * 100 + 100) for n in range(3)]
    work = [
        event
        for n in range(3)
        for event in (
            op("aten::mm", n * 100, n * 100 + 10, id=n),
            launch(n * 100 + 2, n * 100 + 4, n),
            kernel("gemm", n * 100 + 5, n * 100 + 20, n),
            annotation("save_checkpoint", n * 100 + 30, n * 100 + 90),
        )
    ]
    found = trace(*steps, *work)
    rules = Rules([str(file)]).load()
    assert [rule.precedence for rule in rules if rule.name == "checkpoints"] == ["symptom"]
    row = next(row for row in advice(found, rules).rows if row.rule == "checkpoints")
    assert row.title == "3 checkpoints"


@pytest.mark.parametrize("old", ["tb_privateuse1.rules.base", "tb_privateuse1.notebook"])
def test_old_modules_name_the_new_ones(old: str) -> None:
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=r"is now tb_privateuse1\."):
        module = importlib.import_module(old)
    assert set(module.__all__) <= set(vars(module))


@pytest.mark.filterwarnings("ignore:tb_privateuse1.rules.base:DeprecationWarning")
def test_old_names_are_the_new_classes() -> None:
    assert importlib.import_module("tb_privateuse1.rules.base").Found is RuleFinding
