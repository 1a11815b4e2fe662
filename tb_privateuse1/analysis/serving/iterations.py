"""Find the iterations of serving: by annotations, by shapes, or by what repeats.

An iteration is one forward pass of a batch, with the sampling behind it: it goes from its start to
the start of the next one of its thread. The last one of its kind ends where its own work does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.serving import repeated
from tb_privateuse1.analysis.serving.announced import Announced, Kind, announced, bare_phase
from tb_privateuse1.analysis.serving.phases_by_shape import Shaped, by_shape, generates
from tb_privateuse1.analysis.serving.token_passes import Pass, token_passes
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, NONE, Trace
from tb_privateuse1.trace.table import I64

Found = Literal["annotation", "shape", "repetition"]


class Iteration(Struct, frozen=True):
    """One iteration; None is not recorded. Times are ns on the host."""

    found: Found
    kind: Kind
    name: str
    """The annotation; empty without one."""
    op: int
    """The row of ``trace.ops`` where it begins, or ``NONE``."""
    thread: int
    start_ns: int
    end_ns: int
    """The start of the next one; of the last, the end of its range or of its last operator."""
    is_last: bool
    """Whether its own work ends it, on the host or the device, and not the next one."""
    requests: int | None
    tokens: int | None
    """Those that it computes, of all requests."""
    context: int | None
    """Those that attention reads, of all requests."""
    by_sequence: bool
    """Whether the ids are (sequences, tokens of each): the batch of a plain loop."""
    repeats: bool
    """Whether it computes the tokens of the iteration before again."""
    reason: str | None
    """Why its kind is unknown; None if it is known."""


@memoize
def serving_iterations(trace: Trace) -> tuple[Iteration, ...]:
    """Return the iterations in order of time; none if nothing shows that the program generates."""
    found = _announced(trace) or _of_shapes(trace) or _repeated(trace)
    return tuple(sorted(found, key=lambda one: one.start_ns))


def _announced(trace: Trace) -> list[Iteration]:
    """Return the outermost annotations of engines, of the thread that has most of them."""
    ops = trace.ops
    said = {
        name: one
        for name in groupby.distinct_values(ops.name[ops.kind == ANNOTATION]).tolist()
        if (one := announced(trace.text(name))) is not None
    }
    if not said:
        return []
    chosen = (ops.kind == ANNOTATION) & np.isin(ops.name, list(said))
    rows = np.flatnonzero(chosen)
    rows = rows[ops.thread[rows] == np.argmax(np.bincount(ops.thread[rows]))]
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    outer = rows[~_are_inside(ops.start_ns[rows], ops.end_ns[rows])]
    inner = np.setdiff1d(rows, outer)
    words = [said[name] for name in ops.name[outer].tolist()]
    words = _with_inner(trace, outer, words, [(row, said[int(ops.name[row])]) for row in inner])
    return _of_ranges(trace, outer, words)


def _are_inside(start_ns: I64, end_ns: I64) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which ranges, in order of their start, end before an earlier one does."""
    latest = np.maximum.accumulate(end_ns)
    return np.append(False, end_ns[1:] <= latest[:-1]) & (start_ns < np.append(0, latest[:-1]))


def _with_inner(
    trace: Trace, outer: I64, words: list[Announced], inner: list[tuple[int, Announced]]
) -> list[Announced]:
    """Return what annotations say, where they say nothing with the words of one inside."""
    for row, other in inner:
        at = int(np.searchsorted(trace.ops.start_ns[outer], trace.ops.start_ns[row], "right")) - 1
        own = words[at]
        words[at] = Announced(
            other.kind if own.kind == "unknown" else own.kind,
            own.requests if own.requests is not None else other.requests,
            own.tokens if own.tokens is not None else other.tokens,
            own.context if own.context is not None else other.context,
        )
    return words


def _of_ranges(trace: Trace, rows: I64, words: Sequence[Announced]) -> list[Iteration]:
    """Return the iterations that ranges mark; shapes inside add what their words lack."""
    ops = trace.ops
    starts, ends = ops.start_ns[rows], ops.end_ns[rows]
    found = []
    shaped = _shapes_by_range(trace, starts)
    for i, (row, word) in enumerate(zip(rows.tolist(), words, strict=True)):
        last = i + 1 == len(rows)
        shape = shaped.get(i)
        kind, reason = word.kind, None
        if kind == "unknown":
            kind, reason = (shape.kind, shape.reason) if shape else ("unknown", _no_phase(word))
        found.append(
            Iteration(
                found="annotation",
                kind=kind,
                name=trace.text(ops.name[row]),
                op=row,
                thread=int(ops.thread[row]),
                start_ns=int(starts[i]),
                end_ns=int(ends[i] if last else starts[i + 1]),
                is_last=last,
                requests=_either(word.requests, shape.requests if shape else None),
                tokens=_either(word.tokens, shape.tokens if shape else None),
                context=_either(word.context, shape.context if shape else None),
                by_sequence=False,
                repeats=False,
                reason=reason,
            )
        )
    return found


def _no_phase(word: Announced) -> str:
    if word.requests == 0:
        return say("The annotation has no requests.")
    return say("The annotation does not tell the phase.")


def _either(first: int | None, second: int | None) -> int | None:
    return second if first is None else first


def _shapes_by_range(trace: Trace, starts: I64) -> dict[int, Shaped]:
    """Return what shapes say of the ranges that have exactly one forward pass."""
    passes = token_passes(trace)
    at = np.searchsorted(starts, np.array([one.start_ns for one in passes], np.int64), "right") - 1
    shaped = by_shape(passes)
    count = np.bincount(at[at >= 0], minlength=1)
    return {i: one for i, one in zip(at.tolist(), shaped, strict=True) if i >= 0 and count[i] == 1}


def _of_shapes(trace: Trace) -> list[Iteration]:
    """Return the forward passes of the threads that generate, with the program's own words."""
    passes = token_passes(trace)
    threads = np.array([one.thread for one in passes], np.int64)
    found: list[Iteration] = []
    for _, members in groupby.split_by_value(threads):
        own = [passes[i] for i in members.tolist()]
        if generates(own):
            found += _of_passes(trace, own)
    return _with_words(trace, found)


def _of_passes(trace: Trace, passes: Sequence[Pass]) -> list[Iteration]:
    shaped = by_shape(passes)
    starts = np.array([one.start_ns for one in passes], np.int64)
    names, begins, ends = repeated.outermost_work(trace, passes[0].thread)
    first = np.append(np.searchsorted(begins, starts), len(begins))
    found = []
    for i, (one, shape) in enumerate(zip(passes, shaped, strict=True)):
        other = i + 1 == len(passes) or _is_other(shape, shaped[i + 1])
        stop = int(first[i + 1])
        if other and i and not _is_other(shaped[i - 1], shape):
            stop = repeated.common_end(names, int(first[i - 1]), int(first[i]), stop)
        is_last = i + 1 == len(passes)
        cut = is_last or stop < first[i + 1]
        end = int(ends[max(stop, int(first[i]) + 1) - 1]) if cut else int(starts[i + 1])
        found.append(
            Iteration(
                found="shape",
                kind=shape.kind,
                name="",
                op=one.op,
                thread=one.thread,
                start_ns=one.start_ns,
                end_ns=max(end, one.start_ns),
                is_last=cut,
                requests=shape.requests,
                tokens=shape.tokens,
                context=shape.context,
                by_sequence=len(one.ids) == 2,
                repeats=shape.repeats,
                reason=shape.reason,
            )
        )
    return found


def _is_other(before: Shaped, after: Shaped) -> bool:
    """Return whether another generation, or another phase of it, begins."""
    if after.repeats:
        return False
    return before.kind != after.kind or after.kind == "prefill"


def _with_words(trace: Trace, found: list[Iteration]) -> list[Iteration]:
    """Return iterations with the phase that a range of the program around them names."""
    ops = trace.ops
    named = []
    for one in found:
        row, phase = int(ops.parent[one.op]), None
        while row != NONE and phase is None:
            phase = bare_phase(trace.text(ops.name[row])) if ops.kind[row] == ANNOTATION else None
            row = int(ops.parent[row])
        if phase is not None and one.kind == "unknown":
            named.append(replace(one, found="annotation", kind=phase, reason=None))
        else:
            named.append(one)
    return named


def _repeated(trace: Trace) -> list[Iteration]:
    """Return iterations whose phase nothing tells: launches or lookups that repeat."""
    found = repeated.repeated_iterations(trace)
    reason = say("No annotation and no shapes tell the phase.")
    return [
        Iteration(
            found="repetition",
            kind="unknown",
            name="",
            op=NONE,
            thread=thread,
            start_ns=start,
            end_ns=end,
            is_last=i + 1 == len(found),
            requests=None,
            tokens=None,
            context=None,
            by_sequence=False,
            repeats=False,
            reason=reason,
        )
        for i, (thread, start, end) in enumerate(found)
    ]
