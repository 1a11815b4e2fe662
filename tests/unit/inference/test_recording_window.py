"""The trace says why a running job recorded it, and what that cost."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.i18n import render
from tests.support.make import op, step, trace

SLOW = {"kind": "slow_step", "step": 812, "step_ns": 340_000_000, "usual_ns": 120_000_000}
FACTS = {"first_step": 810, "steps": 2, "request": None, "by": None, "reason": None,
         "usual_ns": 120_000_000, "recorded_ns": 131_000_000,
         "usual_range_ns": [118_000_000, 123_000_000],
         "recorded_range_ns": [129_000_000, 133_000_000]}  # fmt: skip


def findings(**changes: Any) -> dict[str, tuple[str, str | None]]:
    read = trace(step(810, 0, 10), op("aten::mm", 1, 2), tb_privateuse1_window={**FACTS, **changes})
    return {f.code: (f.message, f.hint) for f in read.meta.findings if f.severity == "info"}


def test_a_slow_step() -> None:
    message, hint = findings(reason=SLOW)["kept_recording"]
    assert message == (
        "This recording was kept because step 812 took 340.0 ms; a usual step took 120.0 ms."
    )
    assert hint == "It shows 2 steps, from step 810 on."
    assert "迭代 812" in render(message, "zh")


def test_a_loss_and_an_exception() -> None:
    message, _ = findings(reason={"kind": "loss", "step": 9})["kept_recording"]
    assert message.endswith("because the loss of step 9 was not finite.")
    message, _ = findings(reason={"kind": "error", "step": 9, "message": "KeyError"})[
        "kept_recording"
    ]
    assert message.endswith("because the program ended with KeyError.")


def test_a_request() -> None:
    message, _ = findings(request="0" * 16, by="command line")["requested_recording"]
    assert message == "This recording was requested while the job ran, by command line."
    message, _ = findings(request="0" * 16)["requested_recording"]
    assert message == "This recording was requested while the job ran."


def test_the_cost() -> None:
    message, hint = findings()["recording_cost"]
    assert hint == (
        "The difference, 6.0 ms to 15.0 ms, is what recording costs, "
        "and what the program did otherwise."
    )
    assert message == "While it was recorded, a step took 131.0 ms; before, it took 120.0 ms."
    assert "recording_cost" not in findings(usual_ns=None)


@pytest.mark.parametrize("recorded", [[119_000_000, 125_000_000], [90_000_000, 95_000_000]])
def test_a_difference_within_the_noise_or_below_is_no_cost(recorded: list[int]) -> None:
    _, hint = findings(recorded_range_ns=recorded)["recording_cost"]
    assert hint is not None
    assert hint.startswith("No cost of recording was seen")


@pytest.mark.parametrize("name", ["recorded_range_ns", "usual_range_ns"])
@pytest.mark.parametrize("odd", [None, [], [1], [2, 1], [-1, 2], ["a", "b"], {}, 1, [True, 2]])
def test_a_cost_without_enough_steps_is_unknown(name: str, odd: object) -> None:
    message, hint = findings(**{name: odd})["recording_cost"]
    assert message == "What recording costs is unknown."
    assert hint is not None
    assert "five" in hint


def test_other_recordings_say_nothing() -> None:
    read = trace(step(810, 0, 10), op("aten::mm", 1, 2))
    codes = {"kept_recording", "requested_recording", "recording_cost"}
    assert not codes & {f.code for f in read.meta.findings}


@pytest.mark.parametrize("odd", [None, 1, "x", [], -1, 1e300, 1 << 80, {"a": []}, True])
@pytest.mark.parametrize("key", ["reason", "usual_ns", "first_step", "steps", "request", "by"])
def test_odd_values_do_no_harm(key: str, odd: Any) -> None:
    findings(**{key: odd})
    findings(reason={**SLOW, "step": odd})
    findings(reason={"kind": odd, "step": odd, "message": odd})
