"""Each large class of the account is a finding's, or is said to have no remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.advice import unexplained_classes
from tb_privateuse1.advice.engine import Advice, advise, built_in_advice
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.analysis.account.classes import CLASSES, Group
from tb_privateuse1.analysis.account.table import account_table
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.trace.model import Trace
from tests.support import chinese
from tests.support.program import Program, device_bound
from tests.support.repeats import sampled
from tests.support.shared_traces import MORE, TRACES, load, needs_traces


def gaps(*, fill_us: int) -> Trace:
    """Build steps whose activities start late though their work is queued."""
    run = Program()
    for _ in range(4):
        with run.step():
            for _ in range(60):
                run.op("aten::mm", 2, kernel=50)
            run.wait()
            run.rest(fill_us)
    return run.trace()


def names(found: Advice) -> list[str]:
    chinese.check(row.statement for row in found.open)
    return [row.name for row in found.open]


def test_a_busy_device_without_a_finding_has_a_line() -> None:
    assert names(advise(device_bound().trace())) == ["kernel"]


def test_a_class_with_a_finding_has_none() -> None:
    made = gaps(fill_us=1500)
    found = advise(made)
    assert {row.rule for row in found.rows} & {"host_bound", "unrecorded_pauses", "synchronize"}
    assert "python" not in names(found)
    assert "python" in names(advise(made, rules=()))


@pytest.mark.parametrize("group", sorted({one.group for one in CLASSES}))
def test_each_class_has_words(group: Group) -> None:
    assert unexplained_classes.ADVICE[group]


def test_notes_are_of_causes_that_rules_have() -> None:
    assert set(unexplained_classes.NOTES) <= {rule.cause for rule in RULES.values()}


def check(made: Trace) -> None:
    """Classes with a tenth of the account are a finding's or have a line of the same figure."""
    found, part = built_in_advice(made), judged_part(made)
    shares = {one.name: one.share for one in account_table(made, part.window).classes}
    for row in found.open:
        assert row.share == pytest.approx(shares[row.name])
    if not found.rows and part.is_steady and shares:
        assert {name for name, share in shares.items() if share > 0.05} <= set(names(found))


@needs_traces
@pytest.mark.parametrize("path", sampled([*TRACES, *MORE]), ids=lambda path: path.parent.name)
def test_of_recordings(path: Path) -> None:
    check(load(path))
