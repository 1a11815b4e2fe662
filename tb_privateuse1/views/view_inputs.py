"""Shared parts of the views: provenance, the selected step, ranks, option types.

A view is a pure function. Its positional parameters are its inputs (``trace``: one trace;
``ranks``: all of a span; ``recordings``: the logdir's; ``base``: another trace to compare with).
Its keyword-only parameters are its options: routes, command line and TypeScript are made from that
signature. The help of an option is the text of its ``Annotated``, in one line.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Struct, field

from tb_privateuse1.analysis.recording.window import Window, WindowFacts
from tb_privateuse1.discovery.catalog import Span
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import disk_cache
from tb_privateuse1.trace import device_times, groupby
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Timeline, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.trace.version import VERSION

calls, counted, grouped, sums, with_descendants = (
    groupby.outermost_calls,
    groupby.counted_operators,
    groupby.group_rows,
    groupby.sums,
    groupby.with_descendants,
)


StepOption = Annotated[int | None, "the N of ProfilerStep#N; by default no single step"]
WindowOption = Annotated[Literal["steady", "all"], "steady: steps that repeat; all: everything"]
OffsetOption = Annotated[int, "how many rows to skip"]


class Rank(Struct, frozen=True):
    """One rank in a view that reads ``ranks``: the reduction of its trace, or a problem.

    The view declares the reduction with ``signature.reduces``. Only reductions stay in memory, so
    that few traces are open at once.
    """

    rank: int
    worker: str
    part: Any
    """None if the trace is not there or cannot be read."""
    problem: Finding | None = None


class RunRecording(Struct, frozen=True):
    """A recording in a view that reads ``recordings``: the reduction of its trace, or a problem.

    The view declares the reduction with ``signature.reduces``.
    """

    run: str
    ranks: int
    """How many the run has."""
    rank: int
    span: Span
    part: Any
    """None if the trace has not been read yet, or cannot be."""
    problem: Finding | None = None


def check_page(limit: int, offset: int) -> None:
    """Raise TraceError ``bad_option`` unless both can be numbers of rows."""
    if limit < 0 or offset < 0:
        raise TraceError("bad_option", say("limit and offset must be at least 0."))


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


class Provenance(Struct, frozen=True):
    """The sources of a result's figures; part of every result."""

    timeline: Timeline
    """``measured`` by a device profiler, ``inferred`` from elapsed times, or ``none``: no device
    times at all."""
    missing_streams: tuple[str, ...]
    """The streams whose work has no times, while that of others has: sums of device times are lower
    bounds without an error bound, and idle times upper ones."""
    files: tuple[str, ...]
    warnings: tuple[Finding, ...]
    version: str = VERSION
    build: str = field(default_factory=disk_cache.build_digest)
    """A digest of the program's sources: the same build gives the same figures."""
    window: WindowFacts | None = None
    """The part of the recording that the figures are about, also where it is all of it; null of
    several recordings."""


def provenance(trace: Trace, window: Window | None = None) -> Provenance:
    """Return the provenance of a result that reads one trace."""
    meta = trace.meta
    missing = device_times.missing_streams(trace)
    facts = None if window is None else window.facts
    return Provenance(meta.timeline, missing, meta.files, meta.findings, window=facts)


def chosen_window(
    trace: Trace, step: int | None = None, window: Literal["steady", "all"] = "steady"
) -> Window:
    """Return the window of a request: a step, or what ``window`` names.

    Raises TraceError ``unknown_step``.
    """
    row = step_row(trace, step)
    return Window(trace, window) if row is None else Window(trace, "step", row)


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
