"""Options that several views have in common: window and step, ranks, tracks, and pages of rows.

A view is a pure function. Its positional parameters are its inputs (``trace``: one trace;
``ranks``: all of a span; ``recordings``: the logdir's; ``base``: another trace to compare with).
Its keyword-only parameters are its options: routes, command line and TypeScript are made from that
signature. The help of an option is the text of its ``Annotated``, in one line.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tb_privateuse1.analysis.recording.window import Window
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.step_names import PHASES
from tb_privateuse1.trace.table import I64

StepOption = Annotated[int | None, "the N of ProfilerStep#N"]
WindowName = Literal["steady", "all", "prefill", "decode", "mixed"]
WindowOption = Annotated[WindowName, "steady: what repeats; or a phase"]
RanksWindowOption = Annotated[Literal["steady", "all"], "steady: what repeats"]
OffsetOption = Annotated[int, "rows to skip"]

MOST_STEPS = 500
"""An answer lists 500 steps by default: a chart of more has less than a pixel for each."""


def check_page(limit: int, offset: int) -> None:
    """Raise TraceError ``bad_option`` unless both can be numbers of rows."""
    if limit < 0 or offset < 0:
        raise TraceError("bad_option", say("limit and offset must be at least 0."))


def page_of(row: int | None) -> slice:
    """Return the rows of the page of ``MOST_STEPS`` steps that has a row; by default the first."""
    first = (row or 0) // MOST_STEPS * MOST_STEPS
    return slice(first, first + MOST_STEPS)


def chosen_ranks(only: str | None) -> frozenset[int] | None:
    """Return the ranks of the option ``only``, numbers with commas; None for all of them.

    A view of ``ranks`` with this option gets no other ranks, and no others are read. Raises
    TraceError ``bad_option``.
    """
    if only is None:
        return None
    if (ranks := _with_commas(only)) is None:
        message = say("only must be ranks with commas, not {only!r}.", only=only)
        raise TraceError("bad_option", message)
    return frozenset(ranks)


def chosen_tracks(name: str, text: str | None, tracks: int) -> I64:
    """Return the tracks of an option, numbers with commas below ``tracks``.

    Raises TraceError ``bad_option``.
    """
    message = say("There are {count} tracks, numbered from 0.", count=tracks)
    if (numbers := _with_commas(text) if text else []) is None:
        message = say("{name} must be numbers with commas, not {text!r}.", name=name, text=text)
    if numbers is None or max(numbers, default=-1) >= tracks:
        raise TraceError("bad_option", message)
    return np.array(numbers, np.int64)


def _with_commas(text: str) -> list[int] | None:
    """Return the numbers of a text like ``0,2,7``; None for other texts."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 10 for word in words):
        return None
    return [int(word) for word in words]


def chosen_window(trace: Trace, step: int | None = None, window: WindowName = "steady") -> Window:
    """Return the window of a request: a step, or what ``window`` names.

    Of a phase the steps are the iterations (``analysis.serving.phase_steps``), as ``Reader.run``
    gives the trace. Raises TraceError ``unknown_step`` or ``unknown_phase``.
    """
    row = step_row(trace, step)
    if row is not None:
        return Window(trace, "step", row)
    chosen = Window(trace, window)
    if window in PHASES and not len(chosen.steps):
        message = say("There is no iteration of the phase {phase} in this trace.", phase=window)
        raise TraceError("unknown_phase", message)
    return chosen


def step_row(trace: Trace, step: int | None) -> int | None:
    """Return the row in ``trace.steps`` of step number ``step`` (the N of ``ProfilerStep#N``).

    None selects all steps. Raises TraceError ``unknown_step`` if the trace has no such step.
    """
    if step is None:
        return None
    names = [trace.text(name) for name in trace.steps.name]
    for row, name in enumerate(names):
        if name.rpartition("#")[2] == str(step):
            return row
    have = ", ".join(names[:20]) or say("none")
    message = say("There is no step {step} in this trace.", step=step)
    raise TraceError("unknown_step", message, say("It has: {have}.", have=have))
