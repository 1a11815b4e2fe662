"""Every answer names the part of the recording that its figures are about."""

from __future__ import annotations

import pytest

from tb_privateuse1.views import VIEWS
from tests.support.invariants import QUICK_OPTIONS
from tests.support.results import result
from tests.unit.analysis.recording.test_window import START_UP

OF_SEVERAL = {
    "distributed": "it reads one recording a rank, each with its own window",
    "history": "it reads all recordings of the logdir",
}
"""Views that name no window, and why."""

WHOLE = {
    "timeline": "what is left out of figures is looked at here",
    "memory": "what is alive was allocated at any time before",
    "counters": "samples come at their own times; a row a step is beside them",
    "serving": "its phases are what it divides the recording into",
    "compilation": "most of it comes before what repeats",
    "quality": "problems of the file are of all of it",
    "method": "one timeline is inferred from all of it",
}
"""Views of the whole recording unless a step is asked for, and why."""


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_an_answer_names_its_window(name: str) -> None:
    answer = result(VIEWS[name], START_UP, **QUICK_OPTIONS.get(name, {}))
    source = getattr(answer, "provenance", None)
    if name in OF_SEVERAL:
        assert source is None or source.window is None
        return
    assert source is not None
    facts = source.window
    assert facts is not None
    assert facts.kind == ("all" if name in WHOLE else "steady")
    assert facts.text.startswith(f"{facts.kind}: ")
    assert facts.recording_ns == START_UP.end_ns
    assert 0 < facts.time_ns <= facts.recording_ns


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_a_step_is_the_window_where_it_is_asked_for(name: str) -> None:
    step = START_UP.text(START_UP.steps.name[2])
    answer = result(VIEWS[name], START_UP, step=int(step.rpartition("#")[2]))
    assert answer.provenance.window.text.startswith(step)
