"""Graph breaks of torch's log in code that the steps call."""

from __future__ import annotations

from pathlib import Path

import tb_privateuse1 as tbp
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.graph_break import RULE
from tests.support.compile_logs import BREAK, artifact, beside, metrics, region
from tests.support.make import annotation, step
from tests.support.program import found

GOLDEN = Path(__file__).parents[3] / "traces" / "without_device" / "compiled"


def test_the_rules_of_the_compiler_speak_on_the_golden_recording() -> None:
    trace = tbp.open(GOLDEN).trace()
    rows = advise(trace, rules=(RULES["graph_break"],)).rows
    assert [row.rule for row in rows] == ["graph_break"]
    assert rows[0].saving_ns is None
    assert "At most " in rows[0].how
    assert "train.py:14: Failed to trace builtin operator." in rows[0].explanation
    (again,) = advise(trace, rules=(RULES["recompilation"],)).rows
    assert again.title.startswith("9 recompilations, 18.7 s of them in the recording")
    assert "3 of these compilations gave no code" in again.explanation
    assert "shapes: 3 of them, the last by the guard 4/2: tensor" in again.explanation
    assert again.saving_ns is None


def test_time_in_graphs_is_fine(tmp_path: Path) -> None:
    events = []
    for number in range(4):
        start = 1000 * number
        events += [step(number, start, start + 1000), region("0/0", start + 10, start + 910)]
        events += [annotation("## Call CompiledFxGraph f ##", start + 10, start + 910)]
    log = metrics() + artifact("dynamo_graph_break_reason", BREAK)
    assert found(RULE, beside(tmp_path, log, events=tuple(events))) == []
    apart = tuple(one for one in events if "Graph" not in one["name"])
    (row,) = found(RULE, beside(tmp_path, log, events=apart))
    assert row.events == 4
    assert row.how == "Not known: the recording has no graph in these calls."
