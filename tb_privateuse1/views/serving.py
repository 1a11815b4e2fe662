"""Serving: the iterations of an engine or of a loop that generates, by phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.serving.announced import Kind
from tb_privateuse1.analysis.serving.figures import Figures, figures
from tb_privateuse1.analysis.serving.generations import Generation, generations
from tb_privateuse1.analysis.serving.iterations import Found, Iteration, serving_iterations
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64
from tb_privateuse1.views.result import Provenance, Result, provenance
from tb_privateuse1.views.shared_options import StepOption, chosen_window

_MOST_ROWS = 5000
"""A page draws them as bars; an engine that runs for minutes has more."""
_KINDS: tuple[Kind, ...] = ("prefill", "decode", "mixed", "unknown")
_LEAST_KNOWN = 0.5
"""A rate of less than half of the kernels' time says nothing of the iteration."""
_LATE = 0.95
"""The 95th percentile: what one of twenty iterations exceeds."""


class ServingPhase(Struct, frozen=True):
    """The iterations of one phase."""

    kind: Kind
    iterations: int
    requests: float | None
    """The mean of an iteration; null if one of them is not known."""
    tokens: int | None
    """Of all iterations; null if one of them is not known."""
    time_ns: int
    time_bound_ns: int | None
    median_ns: int
    """Of those that the next iteration ends; of all, if it ends none."""
    median_bound_ns: int | None
    p95_ns: int
    p95_bound_ns: int | None
    token_rate: float | None
    """Tokens per second of the phase's time."""
    device_ns: int | None
    device_bound_ns: int | None
    device_share: float | None
    """Of the phase's time, in which a device works."""
    exposed_ns: int | None
    exposed_bound_ns: int | None
    exposed_share: float | None
    """Of the phase's time, in which no device works: the host's, exposed."""
    bytes_per_s: float | None
    """Bytes per second of the kernels whose bytes are known, while they run; null of a part of the
    kernels' time below half."""
    bytes_share: float | None
    """The part of the kernels' time that these kernels have."""


class ServingIteration(Struct, frozen=True):
    """One iteration: a forward pass of a batch, and the choice of its tokens."""

    kind: Kind
    found: Found
    name: str
    """The annotation; empty without one."""
    op: int | None
    """Where it begins: a row of the trace's operators."""
    start_ns: int
    time_ns: int
    time_bound_ns: int | None
    ends: Literal["next", "work"]
    """``next``: with the start of the next iteration; ``work``: with its own work."""
    requests: int | None
    tokens: int | None
    context: int | None
    """Tokens that attention reads, of all requests; null where no lengths are recorded."""
    token_ns: int | None
    """Time by tokens."""
    device_ns: int | None
    device_bound_ns: int | None
    exposed_ns: int | None
    exposed_bound_ns: int | None
    bytes: int | None
    bytes_per_s: float | None
    bytes_share: float | None
    reason: str | None
    """Why the phase is unknown; null if it is known."""


class ServingGeneration(Struct, frozen=True):
    """A prompt of a plain loop, and the tokens that it gave."""

    start_ns: int
    requests: int
    prompt_tokens: int
    """Of each sequence."""
    new_tokens: int
    """Of each sequence: one by iteration."""
    first_token_ns: int
    """The time of the iteration that reads the prompt."""
    later_token_ns: int | None
    """The mean time of an iteration behind it; null without one."""
    total_ns: int


class ServingMissing(Struct, frozen=True):
    """Why a figure is null."""

    figure: str
    iterations: int
    reason: str


class Serving(Result, frozen=True):
    """The result of the view: nothing without an iteration."""

    provenance: Provenance
    phases: tuple[ServingPhase, ...]
    rows: tuple[ServingIteration, ...]
    """In order of time, at most 5,000."""
    total_rows: int
    generations: tuple[ServingGeneration, ...]
    """Of plain loops; of an engine no request is recorded from its first to its last token."""
    repeated: int
    """Iterations that compute all earlier tokens again: the loop has no cache of keys, values."""
    missing: tuple[ServingMissing, ...]


def serving(trace: Trace, *, step: StepOption = None) -> Serving:
    """The iterations of serving by phase: prefill, decode, mixed, or unknown.

    They come from annotations of engines, else from shapes, else from what repeats. Raises
    TraceError ``unknown_step``.
    """
    window = chosen_window(trace, step, "all")
    every = serving_iterations(trace)
    starts = window.starts(np.array([one.start_ns for one in every], np.int64)).tolist()
    found = [one for one, inside in zip(every, starts, strict=True) if inside]
    known = figures(trace, found)
    rows = [_row(one, own) for one, own in zip(found, known, strict=True)]
    return Serving(
        provenance=provenance(trace, window),
        phases=_phases(rows, known),
        rows=tuple(rows[:_MOST_ROWS]),
        total_rows=len(rows),
        generations=tuple(_generation(one, rows) for one in generations(found)),
        repeated=sum(one.repeats for one in found),
        missing=_missing(rows, found),
    )


def _row(one: Iteration, own: Figures) -> ServingIteration:
    return ServingIteration(
        kind=one.kind,
        found=one.found,
        name=one.name,
        op=one.op if one.op >= 0 else None,
        start_ns=one.start_ns,
        time_ns=own.time_ns,
        time_bound_ns=own.time_bound_ns,
        ends="work" if one.is_last else "next",
        requests=one.requests,
        tokens=one.tokens,
        context=one.context,
        token_ns=round(own.time_ns / one.tokens) if one.tokens else None,
        device_ns=own.device_ns,
        device_bound_ns=own.device_bound_ns,
        exposed_ns=own.exposed_ns,
        exposed_bound_ns=own.exposed_bound_ns,
        bytes=own.bytes,
        bytes_per_s=_bandwidth([own]),
        bytes_share=_share(own.bytes_ns, own.kernels_ns),
        reason=one.reason,
    )


def _phases(rows: Sequence[ServingIteration], known: Sequence[Figures]) -> tuple[ServingPhase, ...]:
    found = []
    for kind in _KINDS:
        members = [i for i, row in enumerate(rows) if row.kind == kind]
        if members:
            found.append(_phase(kind, [rows[i] for i in members], [known[i] for i in members]))
    return tuple(found)


def _phase(kind: Kind, rows: Sequence[ServingIteration], known: Sequence[Figures]) -> ServingPhase:
    # The last one before a pause has no next one: its time is another.
    timed = [row for row in rows if row.ends == "next"] or rows
    times, bounds = _column(timed, lambda row: row.time_ns), _column(timed, _time_bound)
    time = sum(row.time_ns for row in rows)
    exposed, device = (_sum(getattr(row, name) for row in rows) for name in _OF_DEVICE)
    tokens, requests = _sum(row.tokens for row in rows), _sum(row.requests for row in rows)
    return ServingPhase(
        kind=kind,
        iterations=len(rows),
        requests=None if requests is None else requests / len(rows),
        tokens=tokens,
        time_ns=time,
        time_bound_ns=uncertainty.bound_sum(_column(rows, _time_bound)),
        median_ns=round(_median(times)),
        median_bound_ns=uncertainty.bound_of(_median, times, bounds),
        p95_ns=round(_late(times)),
        p95_bound_ns=uncertainty.bound_of(_late, times, bounds),
        token_rate=None if tokens is None or not time else tokens / time * 1e9,
        device_ns=device,
        device_bound_ns=_sum(row.device_bound_ns for row in rows),
        device_share=None if exposed is None else _share(time - exposed, time),
        exposed_ns=exposed,
        exposed_bound_ns=_sum(row.exposed_bound_ns for row in rows),
        exposed_share=None if exposed is None else _share(exposed, time),
        bytes_per_s=_bandwidth(known),
        bytes_share=_share(
            sum(one.bytes_ns for one in known), sum(one.kernels_ns for one in known)
        ),
    )


_OF_DEVICE = ("exposed_ns", "device_ns")


def _time_bound(row: ServingIteration) -> int:
    return int(MISSING) if row.time_bound_ns is None else row.time_bound_ns


def _column(rows: Iterable[ServingIteration], value: Callable[[ServingIteration], int]) -> I64:
    return np.array([value(row) for row in rows], np.int64)


def _median(times: I64) -> float:
    return float(np.median(times))


def _late(times: I64) -> float:
    return float(np.quantile(times, _LATE, method="inverted_cdf"))


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum; None if one of the values is not known."""
    known = list(values)
    return None if None in known else sum(one for one in known if one is not None)


def _bandwidth(known: Sequence[Figures]) -> float | None:
    """Return the bytes per second of the kernels whose bytes are known; None of too few."""
    ns = sum(one.bytes_ns for one in known)
    if not ns or ns < _LEAST_KNOWN * sum(one.kernels_ns for one in known):
        return None
    return sum(one.bytes or 0 for one in known) / ns * 1e9


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _generation(one: Generation, rows: Sequence[ServingIteration]) -> ServingGeneration:
    own = rows[one.first : one.first + one.count]
    later = [row.time_ns for row in own[1:]]
    return ServingGeneration(
        start_ns=own[0].start_ns,
        requests=one.requests,
        prompt_tokens=one.prompt_tokens,
        new_tokens=one.count,
        first_token_ns=own[0].time_ns,
        later_token_ns=round(sum(later) / len(later)) if later else None,
        total_ns=sum(row.time_ns for row in own),
    )


def _missing(
    rows: Sequence[ServingIteration], found: Sequence[Iteration]
) -> tuple[ServingMissing, ...]:
    """Return why figures are null, a line for each reason."""
    fixed = sum(
        row.context is None for row, one in zip(rows, found, strict=True) if one.by_sequence
    )
    lengths = sum(row.context is None for row in rows) - fixed
    reasons = (
        ("requests", _nulls(rows, "requests"), say("Neither annotations nor shapes have them.")),
        ("tokens", _nulls(rows, "tokens"), say("Neither annotations nor shapes have them.")),
        ("context", lengths, say("Neither the annotation nor a shape has the lengths.")),
        ("context", fixed, say("No shape grows with the tokens: the cache may have a fixed size.")),
        ("device_ns", _nulls(rows, "device_ns"), say("The device's times are not recorded.")),
        (
            "bytes_per_s",
            _nulls(rows, "bytes_per_s"),
            say("The bytes of most kernels are not known, such as those of a replayed graph."),
        ),
    )
    lines = [ServingMissing(figure, count, reason) for figure, count, reason in reasons if count]
    if rows and not any(one.by_sequence for one in found):
        reason = say("No iteration says which requests it has.")
        lines.append(ServingMissing("generations", len(rows), reason))
    return tuple(lines)


def _nulls(rows: Sequence[ServingIteration], name: str) -> int:
    return sum(getattr(row, name) is None for row in rows)
