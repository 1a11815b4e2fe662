"""What every rule over ranks has, and what none of them does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tb_privateuse1.advice.rank_engine import advise_ranks
from tb_privateuse1.advice.rank_rules import RANK_RULES
from tb_privateuse1.advice.rank_rules.rank_rule import RankRule
from tb_privateuse1.views.distributed import distributed
from tests.support import chinese
from tests.support.make import op, trace
from tests.support.rank_runs import FINE, run
from tests.support.results import ranks

ROOT = Path(__file__).parents[4]
FILES = {p.stem for p in (ROOT / "tb_privateuse1" / "advice" / "rank_rules").glob("*.py")}


def test_every_rule_is_registered_once() -> None:
    assert sorted(RANK_RULES) == sorted(FILES - {"__init__", "rank_rule"})


@pytest.mark.parametrize("rule", RANK_RULES.values(), ids=lambda rule: rule.name)
def test_a_rule_is_complete(rule: RankRule) -> None:
    assert rule.check.__module__ == f"tb_privateuse1.advice.rank_rules.{rule.name}"
    words = (rule.looks_for, rule.why, rule.fix, rule.threshold, rule.reference)
    for text in words:
        assert text.endswith("."), text
    chinese.check((rule.title, *words))
    source = (
        ROOT / "tests" / "unit" / "advice" / "rank_rules" / f"test_{rule.name}.py"
    ).read_text()
    assert re.search(r"\(row,\) = |== \[\"", source), "a run where it speaks"
    assert re.search(r"== \[\]|== \(\)|False\)", source), "a run where it is silent"


def test_all_are_silent_on_nothing(caplog: pytest.LogCaptureFixture) -> None:
    for result in (
        distributed(()),
        distributed(ranks(trace())),
        distributed(ranks(trace(op("aten::mm", 0, 10)))),
        run(FINE, FINE, FINE),
    ):
        assert result.advice == ()
    assert caplog.text == ""  # nor does one fail


def test_a_rule_that_fails_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(case: object) -> list[object]:
        raise ValueError

    broken = RankRule("broken", "", "", "", "", "", "", check=fail)  # type: ignore[arg-type]
    (row,) = advise_ranks(None, (broken,))  # type: ignore[arg-type]
    assert (row.rule, row.saving_ns) == ("broken", None)
    assert "broken failed" in caplog.text
