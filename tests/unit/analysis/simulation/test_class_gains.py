"""What the steps gain without a class, and the verdict by it: of programs and of recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from tb_privateuse1.advice.engine import built_in_advice
from tb_privateuse1.analysis.account.classes import CLASSES, ClassName
from tb_privateuse1.analysis.account.table import account_table, has_account
from tb_privateuse1.analysis.recording.judged_part import judged_part
from tb_privateuse1.analysis.simulation import class_gains
from tb_privateuse1.analysis.simulation.verdict import steady_verdict
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.whatif import whatif
from tests.support.program import device_bound
from tests.support.repeats import sampled
from tests.support.results import result
from tests.support.shared_traces import MORE, TRACES, load, needs_traces
from tests.unit.analysis.account.test_properties import ACTIONS, Action, program


def check(made: Trace) -> None:
    """The verdict is the class that gains most, and its figures are those of other answers."""
    found = steady_verdict(made)
    if not has_account(made):
        assert found is None
        return
    if found is None:
        return
    part = judged_part(made)
    account = account_table(made, part.window)
    assert sum(one.ns for one in account.classes) == account.window_ns == found.judged_ns
    (row,) = (one for one in account.classes if one.name == found.time_class)
    assert (found.ns, found.judged_share) == (row.ns, row.share)
    replayed = class_gains.class_gains(made, part, account) if found.gains else None
    if replayed is None:
        return
    gains = {one.name: one.gain_ns for one in found.gains}
    assert gains == replayed.classes
    most = {group: replayed.most(group) for group in replayed.groups}
    assert replayed.may_exceed(most[row.group], max(most.values()))
    own = [ns for name, ns in gains.items() if name in {c.name for c in account.classes if
           c.group == row.group}]  # fmt: skip
    assert replayed.may_exceed(gains[found.time_class], max(own))
    assert set(found.alike) == {
        name
        for name, ns in gains.items()
        if name != row.name and replayed.may_exceed(ns, gains[row.name])
    }
    if replayed.steps < len(part.steps):
        return
    for one in found.gains:
        if one.gain_ns:  # a class without time changes nothing
            asked = result(whatif, made, changes=f"class:{one.name}=0", ranking=False)
            assert asked.gain_ns == one.gain_ns, one.name


@given(ACTIONS)
def test_the_verdict_of_a_program_gains_most(actions: list[Action]) -> None:
    check(program(actions).trace())


def test_long_recordings_are_replayed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = steady_verdict(device_bound().trace())
    made = device_bound().trace()
    size = len(made.ops) + len(made.launches) + len(made.kernels)
    monkeypatch.setattr(class_gains, "_EVENTS", size // 2)
    few = steady_verdict(made)
    assert whole is not None
    assert few is not None
    assert 0 < few.replayed_steps < whole.replayed_steps == len(judged_part(made).steps)
    assert few.time_class == whole.time_class
    assert f"({few.replayed_steps} of {whole.replayed_steps} steps replayed)" in few.sentence
    assert "replayed" not in whole.sentence
    monkeypatch.setattr(class_gains, "_EVENTS", 1)
    monkeypatch.setattr(class_gains, "_STEP_EVENTS", 1)
    none = steady_verdict(device_bound().trace())
    assert none is not None
    assert none.gains == ()
    assert "Not replayed: a step is too long for that" in none.sentence


@needs_traces
@pytest.mark.long
@pytest.mark.parametrize("path", sampled([*TRACES, *MORE]), ids=lambda p: f"{p.parent.name}")
def test_the_verdict_of_a_recording_gains_most(path: Path) -> None:
    made = load(path)
    check(made)
    check_fine(made)


@needs_traces
@pytest.mark.parametrize("name", ["v100_ddp_small_collectives", "xdit_sd35"])
def test_a_device_that_idles_is_not_the_limit(name: str) -> None:
    """STORY 1.2: device-bound at 42.4 % and 40 % idle, with findings on launches on top."""
    (path,) = (path for path in MORE if path.parent.name == name)
    found = steady_verdict(load(path))
    assert found is not None
    assert (found.kind, found.time_class) == ("host", "dispatch")
    assert found.gains[0].gain_share > 0.25


def test_both_gains_are_off_by_a_share_of_themselves() -> None:
    """By 20 % each: 70 may be 84 and 100 may be 80; 60 is 72 at most."""
    gains = class_gains.ClassGains(100, 100, 1, {"host": 100}, 0, {}, 1)
    assert gains.may_exceed(70, 100)
    assert not gains.may_exceed(60, 100)
    assert not gains.may_exceed(-50, 100)


@needs_traces
def test_of_gains_that_are_alike_that_with_most_time_is_named() -> None:
    """The loader with 33 % of the time, not operators with 7 %: their gains are 32 and 43 %."""
    (path,) = (path for path in TRACES if path.parent.name == "v100_resnet50_workers0")
    found = steady_verdict(load(path))
    assert found is not None
    assert (found.kind, found.time_class) == ("host", "input")


def check_fine(made: Trace) -> None:
    """Nothing is fine that takes a hundredth of the account, whose figure it has."""
    part = judged_part(made)
    fine = {one.name: one.share for one in built_in_advice(made).fine}
    shares = {one.name: one.share for one in account_table(made, part.window).classes}
    for row, names in FINE_CLASSES.items():
        if row in fine:
            share = sum(shares.get(name, 0.0) for name in names)
            assert share < class_gains.LITTLE, row
            assert fine[row] == pytest.approx(share), row


FINE_CLASSES: dict[str, tuple[ClassName, ...]] = {
    "blocking": tuple(one.name for one in CLASSES if one.group == "blocked"),
    "loader": ("input",),
    "communication": ("exposed_communication",),
    "copies": ("exposed_copy",),
    "allocator": ("device_memory",),
}
"""By row of "checked and fine", the classes of the account that it is about."""
