"""Advice as text, Markdown and SARIF."""

from __future__ import annotations

import json

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.export.reports import advice as export
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import AdviceTable, advice
from tests.unit.views.test_advice import program

MARKUP = "a[x](http://evil)*<b>\x1b[31m.py(3): f|g"


def result(frame: str | None = None) -> AdviceTable:
    run = program()
    for event in run.events:
        if frame is not None and event["name"].startswith("train.py"):
            event["name"] = frame
    return advice(run.trace())


def test_text_has_the_fix() -> None:
    text = export.advice_text(result())
    first, second = text.splitlines()[:2]
    assert first.endswith(" analyzed.")
    assert second.startswith("About ")
    assert "Where: step (train.py:7)" in text
    assert "Fix: " in text
    row = result().rows[0]
    low, high = row.saving_low_share, row.saving_high_share
    assert low is not None
    assert high is not None
    assert f"({percent(low)} to {percent(high)}), behind those above" in text
    assert "checks could not look, or only in part: they need" in text


def test_names_of_a_trace_are_no_markup_and_no_control() -> None:
    table = result(MARKUP)
    file = MARKUP.partition("(3)")[0]
    assert any(row.where is not None and row.where.file == file for row in table.rows)
    for words in (
        export.advice_text(table),
        export.advice_markdown(table),
        export.advice_sarif(table),
    ):
        assert "\x1b" not in words
    markdown = export.advice_markdown(table)
    assert "<b>" not in markdown.replace("\\<b\\>", "")
    assert "[x](" not in markdown


def test_sarif_has_rules_levels_and_places() -> None:
    log = json.loads(export.advice_sarif(result()))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    names = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert names == set(RULES)
    assert {one["ruleId"] for one in run["results"]} <= names
    assert {one["level"] for one in run["results"]} <= {"error", "warning", "note"}
    (item,) = (one for one in run["results"] if one["ruleId"] == "item_sync")
    (place,) = item["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "train.py"},
        "region": {"startLine": 7},
    }
    assert item["properties"]["saving_ns"] > 0


def test_no_findings() -> None:
    empty = advice(Trace())
    assert "\nNo findings in the analyzed time.\n" in export.advice_text(empty)
    assert "\n**No findings" in export.advice_markdown(empty)
    assert json.loads(export.advice_sarif(empty))["runs"][0]["results"] == []
