"""The account of a diff is the difference of the accounts of two windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.overview import overview
from tests.support.repeats import sampled
from tests.support.shared_traces import MORE, TRACES, load, needs_traces
from tests.unit.analysis.recording.test_phases import slow_launch
from tests.unit.analysis.recording.test_window import drained


def check(made: Trace) -> None:
    """STORY 1.4: the classes of a diff were those of whole steps, drain and start-up included."""
    found, page = diff(made, made), overview(made)
    steps = Window(made, "steady").compared_steps
    if page.account is None or not len(steps):
        return
    sums = sum(one.now_ns or 0 for one in found.account)
    (step,) = (one for one in found.figures if one.name == "step")
    assert step.now_ns == pytest.approx(sums, abs=len(found.account))
    if len(steps) == len(Window(made, "steady").steps):
        account: dict[str, float] = {one.name: one.ns / len(steps) for one in page.account.classes}
        for one in found.account:
            assert one.now_ns == one.base_ns
            assert one.now_ns == pytest.approx(account.get(one.name, 0), abs=1)
        known = {one.name for one in found.account}
        assert all(name in known or ns < 1 for name, ns in account.items())
    if found.explanation is not None:
        assert found.explanation.change_ns == 0


@pytest.mark.parametrize("made", [drained(), slow_launch("gemm", 20_000).trace()])
def test_it_is_of_the_same_window(made: Trace) -> None:
    check(made)


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("path", sampled([*TRACES, *MORE]), ids=lambda path: path.parent.name)
def test_it_is_of_the_same_window_in_a_recording(path: Path) -> None:
    check(load(path))
