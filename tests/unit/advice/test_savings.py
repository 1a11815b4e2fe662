"""Savings of findings: at most their claim, and less if the replay gains less."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from msgspec.structs import replace

from tb_privateuse1.advice import savings
from tb_privateuse1.advice.engine import Advice, AdviceRow, advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import item_sync, python_overhead
from tb_privateuse1.advice.rules.rule import RuleFinding
from tb_privateuse1.analysis.simulation import replayed_part
from tb_privateuse1.trace.interruption import Interrupted
from tb_privateuse1.trace.model import Trace
from tests.support import chinese
from tests.support.program import Program, check
from tests.support.repeats import repeats

US = 1000
STEPS = 4


def reading(*, again: bool) -> Trace:
    """Build steps that read a value while the device works, and then work on the host.

    ``again``: a second wait for the device follows at once, and only the replay finds it.
    """
    run = Program()
    for _ in range(STEPS):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::item"):
                run.wait()
            if again:
                run.wait()
            run.rest(300)
            run.op("aten::relu", 10, kernel=20)
            run.wait()
    return run.trace()


def the(result: Advice, name: str) -> AdviceRow:
    (row,) = (one for one in result.rows if one.rule == name)
    return row


def test_a_gain_of_the_replay_is_saved() -> None:
    result = advise(reading(again=False), rules=(item_sync.RULE,))
    row = the(result, "item_sync")
    assert row.saving_ns == pytest.approx(STEPS * 310 * US, rel=0.05)
    assert row.change == "finding:item_sync=0"
    assert "in a replay without it" in row.how


@pytest.mark.parametrize(
    ("own", "confidence"),
    [({}, "high"), ({"most": 2.5}, "medium"), ({"least": 0.4}, "medium")],
    ids=["within", "above", "below"],
)
def test_no_saving_is_sure_whose_range_goes_beyond_a_factor_of_two(
    own: dict[str, float], confidence: str
) -> None:
    def unsure(case: RuleContext) -> Iterator[RuleFinding]:
        yield from (replace(one, **own) for one in item_sync.check(case))

    rule = replace(item_sync.RULE, check=unsure)
    assert the(advise(reading(again=False), rules=(rule,)), "item_sync").confidence == confidence


def test_time_that_becomes_another_wait_is_not_promised() -> None:
    assert advise(reading(again=True), rules=(item_sync.RULE,)).rows == ()


@pytest.mark.parametrize("at", ["build_graph", "predict"])
def test_a_replay_that_fails_leaves_the_claim(
    at: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The finding stays, says why it was not replayed, and the log has the traceback."""

    def fails(*_: object) -> None:
        raise IndexError("a mistake")

    trace = reading(again=False)
    if at == "build_graph":
        monkeypatch.setattr(replayed_part, at, fails)
    else:
        monkeypatch.setattr(replayed_part.ReplayedPart, at, fails)
    result = advise(trace, rules=(item_sync.RULE,))
    check(result)
    row = the(result, "item_sync")
    assert row.saving_ns == pytest.approx(STEPS * 310 * US, rel=0.05)
    assert (row.next, row.change, row.behind_ns) == (None, None, row.saving_ns)
    assert row.how.endswith("Not replayed: the replay failed (IndexError: a mistake).")
    chinese.check((row.how,))
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is IndexError


def test_a_replay_that_is_interrupted_ends_the_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> None:
        raise Interrupted

    monkeypatch.setattr(replayed_part.ReplayedPart, "predict", ends)
    with pytest.raises(Interrupted):
        advise(reading(again=False), rules=(item_sync.RULE,))


def program(kernels: list[int], rest: int, again: str, *, reads: bool) -> Trace:
    """Build steps that launch, perhaps read a value, perhaps wait again, and work on the host."""
    run = Program()
    for _ in range(STEPS):
        with run.step():
            for length in kernels:
                run.op("aten::mm", 10, kernel=length)
            if reads:
                with run.around("aten::item"):
                    run.wait()
            if again == "at once":
                run.wait()
            run.rest(rest)
            run.op("aten::relu", 10, kernel=20)
            if again == "later":
                run.wait()
            run.rest(rest // 2)
    return run.trace()


@pytest.mark.long
@settings(max_examples=repeats(40))
@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=8),
    st.integers(0, 800),
    st.sampled_from(["never", "at once", "later"]),
)
@example([400, 400], 300, "at once")
def test_a_saving_is_at_most_the_true_gain_of_the_fix(
    kernels: list[int], rest: int, again: str
) -> None:
    """Compare with the same program without the read."""
    before = program(kernels, rest, again, reads=True)
    truth = before.end_ns - program(kernels, rest, again, reads=False).end_ns
    for row in advise(before, rules=(item_sync.RULE,)).rows:
        assert row.saving_ns is not None
        assert row.saving_ns <= 1.02 * truth + 0.01 * before.end_ns


def test_a_claim_without_a_removal_stands() -> None:
    def bare(case: RuleContext) -> Iterable[RuleFinding]:
        for found in item_sync.RULE.check(case):
            yield replace(found, removes=None)

    result = advise(reading(again=True), rules=(replace(item_sync.RULE, check=bare),))
    row = the(result, "item_sync")
    assert row.saving_ns == pytest.approx(STEPS * 310 * US, rel=0.05)
    assert "replayed" not in row.how


def test_of_many_steps_some_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Program()
    for _ in range(40):
        with run.step():
            run.op("aten::mm", 10, kernel=500)
            with run.around("aten::item"):
                run.wait()
            run.rest(300)
            run.op("aten::relu", 10, kernel=20)
    trace = run.trace()
    whole = the(advise(trace, rules=(item_sync.RULE,)), "item_sync")
    monkeypatch.setattr(replayed_part, "_EVENTS", 100)
    few = the(advise(trace, rules=(item_sync.RULE,)), "item_sync")
    assert "of 40 steps were replayed" in few.how
    assert whole.saving_ns is not None
    assert few.saving_ns == pytest.approx(whole.saving_ns, rel=0.05)


def test_a_step_that_is_too_long_is_not_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_part, "_EVENTS", 5)
    row = the(advise(reading(again=True), rules=(item_sync.RULE,)), "item_sync")
    assert row.saving_ns == pytest.approx(STEPS * 310 * US, rel=0.05)
    assert "too long" in row.how


def test_only_some_findings_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(savings, "_MOST_REPLAYS", 0)
    row = the(advise(reading(again=True), rules=(item_sync.RULE,)), "item_sync")
    assert row.saving_ns == pytest.approx(STEPS * 310 * US, rel=0.05)
    assert "greater findings" in row.how


def measured(calls: int) -> Trace:
    """Build steps with a metric of many short Python calls, each of which the profiler records."""
    run = Program()
    for _ in range(STEPS):
        with run.step():
            run.op("aten::mm", 10, kernel=20)
            with run.frame("metrics.py(9): update"):
                for _ in range(calls):
                    with run.frame("<built-in function len>"):
                        run.rest(0.5)
                    run.rest(0.5)
                run.rest(300 - calls)
    return run.trace()


def test_the_profilers_own_time_is_not_saved() -> None:
    """By the median distance of starts and ends, each call costs the profiler 1 us."""
    (quiet,) = advise(measured(10), rules=(python_overhead.RULE,)).rows
    (noisy,) = advise(measured(200), rules=(python_overhead.RULE,)).rows
    assert quiet.saving_ns == pytest.approx(STEPS * 290 * US, rel=0.05)
    assert noisy.saving_ns is not None
    assert noisy.saving_ns < STEPS * 150 * US
    assert "profiler's own time" in noisy.how
    assert "profiler's own time" not in quiet.how


def test_a_claim_that_is_not_replayed_is_net_of_the_profiler_too() -> None:
    def bare(case: RuleContext) -> Iterable[RuleFinding]:
        for found in python_overhead.RULE.check(case):
            yield replace(found, removes=None)

    rule = replace(python_overhead.RULE, check=bare)
    (row,) = advise(measured(200), rules=(rule,)).rows
    assert row.saving_ns is not None
    assert row.saving_ns < STEPS * 150 * US
    assert "profiler's own time" in row.how
