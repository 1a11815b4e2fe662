"""Division of the time that several findings claim, and the ranking of findings."""

from __future__ import annotations

from collections.abc import Iterable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from msgspec.structs import replace

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.judged_trace import LACKS
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.advice.rules.rule import Precedence, Rule, RuleFinding
from tb_privateuse1.advice.savings import Saving, Savings
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import intervals, uncertainty
from tests.support import chinese, make
from tests.support.program import Program, check
from tests.support.repeats import repeats
from tests.support.simulate import Op, simulate, step

US = 1000
TRACE = make.trace(make.op("aten::mm", 0, 1000), make.kernel("gemm", 0, 1000))


def rule(
    name: str,
    *claims: tuple[int, int] | None,
    precedence: Precedence = "cause",
    urgent: bool = False,
    title: str = "T",
    lacks: tuple[str, ...] = (),
    least: float = 1.0,
) -> Rule:
    """Build a rule with a finding for each claim, in µs."""

    def check(case: RuleContext) -> Iterable[RuleFinding]:
        for claim in claims:
            spent = None
            if claim is not None:
                begin, end = claim
                spent = intervals.union(np.array([begin * US]), np.array([end * US]))
            yield RuleFinding(
                title, "E", events=1, evidence=(), how="H", claim=spent, urgent=urgent, lacks=lacks,
                least=least,
            )  # fmt: skip

    return replace(RULES["data_loader"], name=name, check=check, needs=(), precedence=precedence)


def savings(*rules: Rule) -> dict[str, int | None]:
    result = advise(TRACE, rules=rules)
    check(result)
    return {row.rule: row.behind_ns for row in result.rows}


def test_no_instant_counts_twice_behind_another_finding() -> None:
    rules = (rule("short", (100, 300)), rule("long", (200, 900)))
    assert savings(*rules) == {"long": 700 * US, "short": 100 * US}
    alone = {row.rule: row.saving_ns for row in advise(TRACE, rules=rules).rows}
    assert alone == {"long": 700 * US, "short": 200 * US}


def test_a_symptom_gets_the_time_without_a_cause() -> None:
    assert savings(rule("idle", (0, 900), precedence="symptom"), rule("item", (100, 300))) == {
        "idle": 700 * US,
        "item": 200 * US,
    }


def test_the_rest_comes_after_symptoms_though_it_is_greater() -> None:
    result = savings(
        rule("idle", (0, 900), precedence="rest"), rule("short", (100, 300), precedence="symptom")
    )
    assert result == {"idle": 700 * US, "short": 200 * US}


def test_an_explained_symptom_is_not_reported() -> None:
    assert savings(rule("idle", (100, 300), precedence="symptom"), rule("item", (100, 300))) == {
        "item": 200 * US
    }


def test_a_cause_without_a_gain_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a replay found another wait in its place."""
    monkeypatch.setattr(Savings, "of", lambda _, claims: [Saving(0, "R") for _ in claims])
    assert advise(TRACE, rules=(rule("a", (0, 500)),)).rows == ()


def test_the_title_has_the_share_of_the_saving(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule claims a half, and the replay gains a quarter."""
    monkeypatch.setattr(Savings, "of", lambda _, claims: [Saving(250 * US, "R") for _ in claims])
    made = rule("a", (0, 500), title=say("{n} reads{cost}", n=2, cost=say(": {share}", share="9")))
    (row,) = advise(TRACE, rules=(made,)).rows
    assert (row.title, row.saving_share) == ("2 reads: 25.0 %", 0.25)


def test_the_missing_data_of_findings_is_one_sentence() -> None:
    """Only what would change a finding with a saving counts."""
    made = [rule(n, (0, 500), lacks=(LACKS[n],)) for n in ("stacks", "shapes")]
    note = rule("memory", None, lacks=(LACKS["memory"],))
    assert advise(TRACE, rules=(*made, note)).missing == (
        "Record input shapes (record_shapes=True), Python stacks (with_stack=True) to make "
        "findings surer."
    )
    assert advise(TRACE, rules=(note,)).missing == ""


def test_what_may_save_nothing_is_no_severe_finding() -> None:
    """It comes behind a smaller one that is sure."""
    made = rule("unsure", (0, 500), least=0), rule("sure", (500, 800))
    rows = advise(TRACE, rules=made).rows
    assert [(row.rule, row.severity) for row in rows] == [("sure", "high"), ("unsure", "medium")]


def test_rules_that_could_not_look_are_told_with_what_they_need() -> None:
    """A device is no matter of a switch: a rule that needs one is not counted."""
    made = [
        replace(rule(n, (0, 500)), needs=needs)
        for n, needs in (
            ("a", ("shapes",)), ("b", ("shapes", "stacks")), ("c", ("counters", "shapes")),
            ("d", ()),
        )
    ]  # fmt: skip
    assert advise(TRACE, rules=made).unasked == (
        "2 of 4 checks could not look, or only in part: they need input shapes "
        "(record_shapes=True), Python stacks (with_stack=True)."
    )
    assert advise(TRACE, rules=made[-1:]).unasked == ""


def test_a_rule_that_looks_in_part_says_so_unless_it_finds_something() -> None:
    """A finding names what would make it surer itself."""
    seeing = replace(rule("a", (0, 500)), partly=("shapes",))
    silent = replace(seeing, name="b", check=lambda _: ())
    advice = advise(TRACE, rules=(seeing, silent))
    assert [one.answer for one in advice.asked] == ["found", "nothing"]
    assert advice.unasked == (
        "1 of 2 checks could not look, or only in part: they need input shapes "
        "(record_shapes=True)."
    )
    assert advice.rows[0].lacks == (LACKS["shapes"],)
    assert advice.missing == "Record input shapes (record_shapes=True) to make findings surer."


def test_activities_alone_lack_operators_before_all_else() -> None:
    """Shapes are of operators: to ask for them alone would change nothing."""
    without = make.trace(make.kernel("gemm", 0, 1000))
    made = [replace(rule("a", (0, 500)), needs=("operators", "shapes"))]
    assert advise(without, rules=made).unasked.startswith(
        "1 of 1 checks could not look, or only in part: they need operators (ProfilerActivity.CPU)"
    )


def test_a_cause_stands_though_another_has_its_time() -> None:
    result = advise(TRACE, rules=(rule("a", (0, 500)), rule("b", (100, 300))))
    (row,) = (one for one in result.rows if one.rule == "b")
    assert (row.saving_ns, row.behind_ns, row.severity) == (200 * US, 0, "high")


def test_time_outside_of_the_steps_saves_nothing() -> None:
    assert savings(rule("late", (900, 5000))) == {"late": 100 * US}


def test_next_to_nothing_is_left_out() -> None:
    result = advise(TRACE, rules=(rule("little", (0, 4)),))
    assert result.rows == ()
    assert [one.answer for one in result.asked] == ["nothing"]


def test_severity_and_rank() -> None:
    result = advise(
        TRACE,
        rules=(
            rule("note", None), rule("low", (0, 20)), rule("medium", (30, 70)),
            rule("high", (100, 300)), rule("danger", None, urgent=True), rule("more", (300, 900)),
        ),
    )  # fmt: skip
    assert [(row.rule, row.severity) for row in result.rows] == [
        ("more", "high"), ("high", "high"), ("medium", "medium"), ("danger", "medium"),
        ("low", "low"), ("note", "note"),
    ]  # fmt: skip


def test_a_rule_that_fails_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    def fails(case: RuleContext) -> Iterable[RuleFinding]:
        raise ValueError("a mistake")

    broken = replace(RULES["data_loader"], name="broken", check=fails, needs=())
    result = advise(TRACE, rules=(broken, rule("fine", (0, 500))))
    assert [(one.rule, one.answer) for one in result.asked] == [
        ("broken", "failed"),
        ("fine", "found"),
    ]
    check(result)
    fine, note = result.rows
    assert (fine.rule, note.rule) == ("fine", "broken")
    assert (note.severity, note.saving_ns, note.events) == ("note", None, 0)
    assert note.title == f"A check failed: {broken.title}"
    assert "ValueError: a mistake" in note.explanation
    chinese.check((note.title, note.explanation, note.how, note.fix))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError


def test_a_rule_does_not_run_without_its_data() -> None:
    picky = replace(rule("picky", (0, 500)), needs=("memory", "operators"))
    (status,) = advise(TRACE, rules=(picky,)).asked
    assert status.answer == "not_asked"
    assert status.lacks == ("memory events (profile_memory=True)",)


@settings(max_examples=repeats(60))
@given(
    st.lists(
        st.tuples(st.integers(0, 1200), st.integers(0, 1200), st.booleans()), min_size=1, max_size=8
    )
)
def test_savings_never_exceed_the_step(claims: list[tuple[int, int, bool]]) -> None:
    rules = tuple(
        rule(f"r{i}", (min(a, b), max(a, b)), precedence="symptom" if general else "cause")
        for i, (a, b, general) in enumerate(claims)
    )
    result = advise(TRACE, rules=rules)
    check(result)
    whole = intervals.union(
        np.array([min(a, b) for a, b, _ in claims]) * US,
        np.minimum(np.array([max(a, b) for a, b, _ in claims]), 1000) * US,
    )
    assert sum(row.behind_ns or 0 for row in result.rows) <= intervals.length(whole)


@pytest.mark.parametrize("steps", [1, 3])
def test_savings_are_those_of_the_judged_steps(steps: int) -> None:
    run = Program()
    for _ in range(3):
        with run.step():
            for _ in range(60):
                run.op("aten::mm", 100, kernel=20)
    trace = run.trace()
    result = advise(trace, judged_part(trace, 1 if steps == 1 else None))
    assert result.steps == steps
    (row,) = (one for one in result.rows if one.rule == "host_bound")
    assert row.saving_ns == pytest.approx(steps * 60 * 80_000, rel=0.03)
    assert row.saving_per_step_ns == pytest.approx(60 * 80_000, rel=0.03)


def test_an_inferred_gain_counts_by_its_estimate_and_says_what_it_may_be() -> None:
    """The bounds allow that the device was never idle: that silences nothing."""
    work = [Op("aten::add", 36 * US, 1_000, 14 * US)] * 60
    wait = "tb_privateuse1::window_start"
    edge = Op(wait, 3_000, 1_000, blocking=True, category="user_annotation")
    trace = simulate([edge, *(step(i, *work) for i in range(4)), edge]).trace
    possibly = uncertainty.possibly_running(trace.kernels, int(trace.kernels.end_ns[-1]))
    idle = intervals.subtract(intervals.union(trace.steps.start_ns, trace.steps.end_ns), possibly)
    assert intervals.length(idle) < 0.01 * int(trace.kernels.end_ns[-1])
    (row,) = (one for one in advise(trace).rows if one.rule == "host_bound")
    assert row.saving_low_ns is not None
    assert row.saving_ns is not None
    assert row.saving_high_ns is not None
    assert (
        row.saving_low_ns < 0.005 * advise(trace).judged_net_ns < row.saving_ns < row.saving_high_ns
    )
    assert "may also be nothing" in row.how
