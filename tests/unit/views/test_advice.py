"""The view of advice: rows by severity, causes, and what became of each rule."""

from __future__ import annotations

import json

import pytest

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.export.reports import csv
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.encoding import encode
from tests.support.program import Program


def program() -> Program:
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for _ in range(30):
                run.op("aten::mm", 10, kernel=40)
            with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                run.copy("DtoH", 2)
            with run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                run.rest(1200)
    return run


def test_rows_causes_and_sums() -> None:
    result = advice(program().trace())
    assert [row.rule for row in result.rows][:2] == ["single_process_loader", "item_sync"] or [
        row.rule for row in result.rows
    ][:2] == ["item_sync", "single_process_loader"]
    assert result.saving_ns == sum(row.behind_ns or 0 for row in result.rows)
    assert result.saving_ns == sum(cause.saving_ns or 0 for cause in result.causes)
    assert result.saving_ns <= result.judged_ns
    assert result.saving_share == result.saving_ns / result.judged_ns
    assert result.steps == 4
    assert [one.rule for one in result.asked] == list(RULES)


def test_one_step() -> None:
    whole, one = advice(program().trace()), advice(program().trace(), step=2)
    assert (whole.steps, one.steps) == (4, 1)
    assert one.judged_ns < whole.judged_ns
    assert {row.rule for row in one.rows} >= {"single_process_loader"}


def test_an_unknown_step() -> None:
    with pytest.raises(TraceError, match="no step 9"):
        advice(program().trace(), step=9)


def test_the_contract_of_its_json_and_csv() -> None:
    result = advice(program().trace())
    told = json.loads(encode(result))["rows"][0]
    assert {"rule", "title", "severity", "evidence", "saving_ns", "fix", "where"} <= set(told)
    head, *lines = csv.csv_table(result).splitlines()
    assert head.startswith("rule,title,severity,cause")
    assert len(lines) == len(result.rows)
