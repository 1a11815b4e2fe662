"""The saving of a finding is the what-if's gain of its change, alone and behind those above it."""

from __future__ import annotations

from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from tb_privateuse1.analysis.simulation import replayed_part
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.whatif import WhatIf, whatif
from tests.support.program import Program
from tests.support.repeats import repeats, sampled
from tests.support.results import result
from tests.support.shared_traces import MORE, TRACES, load, needs_traces
from tests.unit.views.test_one_definition import EXAMPLES


def check(trace: Trace, **window: int | str) -> int:
    """Return how many changes were compared: each alone, and all up to each row together."""
    answer = result(advice, trace, **window)
    made: list[str] = []
    for row in answer.rows:
        if row.change is None:
            assert (row.saving_low_ns, row.saving_high_ns, row.next) == (None, None, None)
            continue
        alone = ask(trace, [row.change], **window)
        assert row.saving_per_step_ns == alone.gain_ns, row.change
        assert row.saving_share == pytest.approx(alone.gain_share, rel=1e-6), row.change
        assert answer.judged_net_ns == pytest.approx(
            (alone.net_ns or 0) * max(answer.steps, 1), rel=1e-6
        )
        if alone.net_ns != alone.measured_ns:
            without = ask(trace, ["profiler=0"], **window)
            assert alone.net_ns == pytest.approx(without.predicted_ns, rel=1e-6, abs=2)
        assert row.saving_ns == (alone.gain_ns or 0) * max(answer.steps, 1)
        for ns, low in ((row.saving_low_ns, alone.gain_low_ns),
                        (row.saving_high_ns, alone.gain_high_ns)):  # fmt: skip
            assert ns == (None if low is None else low * max(answer.steps, 1))
        before = ask(trace, made, **window)
        made.append(row.change)
        both = ask(trace, made, **window)
        behind = (both.gain_ns or 0) - (before.gain_ns or 0)
        assert row.behind_ns == behind * max(answer.steps, 1), row.change
    assert answer.saving_ns == sum(row.behind_ns or 0 for row in answer.rows)
    assert 0 <= answer.saving_ns <= answer.judged_net_ns <= answer.judged_ns
    assert all(0 <= (row.saving_share or 0) <= 1 for row in answer.rows)
    return len(made)


def ask(trace: Trace, made: list[str], **window: int | str) -> WhatIf:
    found = result(whatif, trace, changes="\n".join(made), ranking=False, **window)
    assert isinstance(found, WhatIf)
    return found


def program(kernels: list[int], rest_us: int, *, loads: bool) -> Trace:
    """Build steps that launch, read a value, work on the host and perhaps load a batch."""
    run = Program()
    for _ in range(4):
        with run.step(), run.frame("train.py(7): step"):
            for length in kernels:
                run.op("aten::mm", 10, kernel=length)
            with run.around("aten::item"), run.around("aten::_local_scalar_dense"):
                run.copy("DtoH", 2)
            run.rest(rest_us)
            run.op("aten::relu", 10, kernel=20)
            with run.frame("metrics.py(9): update"):
                run.rest(rest_us)
            run.op("aten::relu", 10, kernel=20)
            if loads:
                with run.range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"):
                    run.rest(1500)
    return run.trace()


def test_each_kind_of_change_has_its_gain() -> None:
    made = program([40] * 30, 400, loads=True)
    changes = {row.rule: row.change for row in result(advice, made).rows}
    assert changes["single_process_loader"] == "data_loader=0"
    assert changes["item_sync"] == "finding:item_sync=0"
    assert changes["python_overhead"] == "function:metrics.py(9): update=0"
    assert check(made) >= 3
    assert check(made, step=2) >= 3
    assert check(made, window="all") >= 3


@pytest.mark.long
@settings(max_examples=repeats(10), deadline=None)
@given(st.lists(st.integers(1, 200), min_size=1, max_size=30), st.integers(0, 800), st.booleans())
def test_of_programs(kernels: list[int], rest_us: int, loads: bool) -> None:
    check(program(kernels, rest_us, loads=loads))


@pytest.mark.long
def test_of_a_long_recording_the_same_steps_are_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed_part, "_EVENTS", 250)
    made = program([40] * 30, 400, loads=True)
    (row, *_) = result(advice, made).rows
    assert "of 4 steps were replayed" in row.how
    assert check(made) >= 3


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_of_the_examples(path: Path) -> None:
    check(load(path))


@needs_traces
@pytest.mark.parametrize("path", sampled([*TRACES, *MORE]), ids=lambda path: path.parent.name)
def test_of_recordings(path: Path) -> None:
    check(load(path))
