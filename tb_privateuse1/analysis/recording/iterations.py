"""Find the iterations of a recording: by its steps, annotations, optimizer, or by what repeats.

Repetition is of the sequence of launches (by kernel), or of outermost operators if nothing is
launched. A name that occurs once per iteration, at equal distances, marks its borders. Layers
repeat within a single iteration, too; but beside them it has work that occurs only once. What
occurs only once at the beginning is a start, behind which a loop may repeat; so is compilation.

torch marks the optimizer's steps, which end the iterations of training. A loop may take several of
them per iteration: then their operators repeat only after as many.
"""

from __future__ import annotations

import math
import re
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.capture_and_compilation import compilations
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.call_tree import starts_with
from tb_privateuse1.trace.columns import following, mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, OPERATOR, Trace
from tb_privateuse1.trace.step_names import is_of_schedule
from tb_privateuse1.trace.table import I32, I64

IterationSource = Literal["steps", "annotations", "optimizer", "repetition"]

STEP = "ProfilerStep#"

_COVERS = 0.5
"""Annotations are the iterations if they cover this share of the recording's host time."""

_MATCHES = 0.9
"""Share of a periodic sequence that equals the sequence one period later."""

_ONCE = 0.1
"""Share of the names that may occur only once in repeated iterations."""

_FEWEST_LATER = 3
"""Iterations behind a start that does not repeat: two alike may be parts of the start."""

_OF_OPTIMIZER = "Optimizer."
_OPTIMIZER = "Optimizer.step#"
_FEWEST_STEPS = 3
"""Steps; two show one distance only, which nothing repeats."""
_MOST_PER_ITERATION = 4
"""Optimizer steps: a GAN takes one or two for each of its two networks."""
_ALIKE = 0.9
"""Share of the segments between steps that equal the one an iteration later, and of a segment's
operators that the first one may not lack."""

_DIGITS = re.compile(r"\d+")


class Iterations(Struct, frozen=True):
    """The iterations in order of time: ns on the host, and the ranges that name them."""

    source: IterationSource
    start_ns: I64
    end_ns: I64
    ops: I64
    """Rows of ``trace.ops`` for annotations and steps; empty by repetition."""


def has_steps(trace: Trace) -> bool:
    """Return whether the recording has steps of the profiler's schedule, or of serving's phases."""
    return any(is_of_schedule(trace.text(name)) for name in trace.steps.name[:1])


@memoize
def iterations(trace: Trace) -> Iterations | None:
    """Return the iterations of the recording; None if nothing repeats and nothing names them."""
    steps = trace.steps
    if has_steps(trace):
        named = mask_of(steps.name, len(trace.strings) + 1)
        rows = np.flatnonzero(named[trace.ops.name])
        return Iterations("steps", steps.start_ns, steps.end_ns, rows)
    return _annotations(trace) or _optimizer(trace) or _repetition(trace)


def _optimizer(trace: Trace) -> Iterations | None:
    found = optimizer_iterations(trace)
    return found and Iterations("optimizer", *found, np.empty(0, np.int64))


def _annotations(trace: Trace) -> Iterations | None:
    """Return outermost annotations of one thread that repeat and cover most of the time.

    What torch marks by itself is no iteration: its compilers, and parts of the optimizer's step.
    """
    ops = trace.ops
    rows = np.flatnonzero((ops.kind == ANNOTATION) & (ops.parent < 0))
    rows = rows[~starts_with(trace, _OF_OPTIMIZER)[ops.name[rows]]]
    rows = np.setdiff1d(rows, compilations(trace)[1])
    if len(rows) < 2:
        return None
    texts = {
        n: _DIGITS.sub("#", trace.text(n)) for n in groupby.distinct_values(ops.name[rows]).tolist()
    }
    number = {text: i for i, text in enumerate(dict.fromkeys(texts.values()))}
    plain = np.array([number[texts[n]] for n in ops.name[rows].tolist()])
    _, group = groupby.group_rows(plain, ops.thread[rows])
    count = np.bincount(group)
    rows = rows[count[group] > 1]
    if not len(rows):
        return None
    length = ops.end_ns[rows] - ops.start_ns[rows]
    threads = np.bincount(ops.thread[rows], weights=length)
    rows = rows[ops.thread[rows] == np.argmax(threads)]
    host_ns = int(ops.end_ns.max() - ops.start_ns.min())
    if threads.max() < _COVERS * host_ns:
        return None
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    return Iterations("annotations", ops.start_ns[rows], ops.end_ns[rows], rows)


def optimizer_iterations(trace: Trace) -> tuple[I64, I64] | None:
    """Return starts and ends of the iterations, in ns on the host; None without a loop."""
    ops = trace.ops
    rows = np.flatnonzero((ops.kind == ANNOTATION) & starts_with(trace, _OPTIMIZER)[ops.name])
    if len(rows) < _FEWEST_STEPS:
        return None
    rows = rows[ops.thread[rows] == np.argmax(np.bincount(ops.thread[rows]))]
    ends = np.sort(ops.end_ns[rows])
    own = np.flatnonzero((ops.kind == OPERATOR) & (ops.thread == ops.thread[rows[0]]))
    own = own[np.argsort(ops.start_ns[own], kind="stable")]
    segment = np.searchsorted(ends, ops.start_ns[own], side="right")
    if len(ends) < _FEWEST_STEPS or not len(own):
        return None
    ends = ends[:: _per_iteration(segment, ops.name[own], len(ends))]
    if len(ends) < _FEWEST_STEPS:
        return None
    segment = np.searchsorted(ends, ops.start_ns[own], side="right")
    first = _first_start(segment, ops.name[own], ops.start_ns[own], len(ends))
    starts = ends[:-1] if first is None else np.concatenate(([first], ends[:-1]))
    return starts, ends[len(ends) - len(starts) :]


def _per_iteration(segment: I64, name: I32, count: int) -> int:
    """Return how many optimizer steps an iteration takes: 1 if nothing repeats exactly."""
    inner = (segment > 0) & (segment < count)
    texts = [tuple(part.tolist()) for part in _parts(segment[inner], name[inner], count)[1:]]
    _, kind = np.unique([hash(text) for text in texts], return_inverse=True)
    for steps in range(1, _MOST_PER_ITERATION + 1):
        alike = kind[steps:] == kind[:-steps]
        if len(alike) and alike.mean() >= _ALIKE:
            return steps
    return 1


def _parts(segment: I64, name: I32, count: int) -> list[I32]:
    """Return the names of each segment in front of a step."""
    return np.split(name, np.searchsorted(segment, np.arange(1, count)))


def _first_start(segment: I64, name: I32, start_ns: I64, count: int) -> int | None:
    """Return when the first iteration begins; None if the recording began in the middle of it.

    It has about as many operators as later ones (what follows an optimizer step, such as the loss's
    reading, is the end of the iteration before), and begins behind the last one before these that
    no later iteration has. Its own operators may be new: the first optimizer step makes state.
    """
    later = (segment > 0) & (segment < count)
    least = math.ceil(_ALIKE * int(np.bincount(segment[later], minlength=count)[1:].min()))
    first = np.flatnonzero(segment == 0)
    alien = np.flatnonzero(~np.isin(name[first], groupby.distinct_values(name[later])))
    alien = alien[alien < len(first) - least]
    begun = int(alien[-1]) + 1 if len(alien) else 0
    if len(first) < least or not len(first):
        return None
    return int(start_ns[first[begun]])


def _repetition(trace: Trace) -> Iterations | None:
    """Return the periods of the sequence of launches or outermost operators."""
    token, at_ns, end_ns = _sequence(trace)
    anchors = _anchors(token)
    compiled = compilations(trace)[0][1]
    behind = int(np.searchsorted(at_ns, compiled[-1])) if len(compiled) else 0
    for begun in (_start_length(token), behind):
        if anchors is None and begun:
            anchors = _anchors(token[begun:])
            anchors = None if anchors is None or len(anchors) < _FEWEST_LATER else anchors + begun
    if anchors is None:
        return None
    start = at_ns[anchors]
    end = following(start, end_ns)
    return Iterations("repetition", start, end, np.empty(0, np.int64))


def _sequence(trace: Trace) -> tuple[I64, I64, int]:
    """Return names as numbers, their times, and the end of the last one."""
    launches, kernels, ops = trace.launches, trace.kernels, trace.ops
    rows = np.flatnonzero(kernels.launch >= 0)
    if len(rows):
        # One launch may run many kernels (a graph's replay): the first one names it.
        call, first = np.unique(kernels.launch[rows], return_index=True)
        order = np.argsort(launches.start_ns[call], kind="stable")
        call, first = call[order], rows[first[order]]
        return kernels.name[first].astype(np.int64), launches.start_ns[call], trace.end_ns
    top = np.flatnonzero((ops.kind == OPERATOR) & (ops.parent < 0))
    if not len(top):
        return np.empty(0, np.int64), np.empty(0, np.int64), 0
    main = np.argmax(np.bincount(ops.thread[top]))
    top = top[ops.thread[top] == main]
    _, group = groupby.group_rows(ops.name[top], ops.shapes[top])
    return group, ops.start_ns[top], int(ops.end_ns[top].max())


def _start_length(token: I64) -> int:
    """Return the length of the beginning up to its last name that occurs once, at most half."""
    _, place, count = np.unique(token, return_index=True, return_counts=True)
    early = place[(count == 1) & (place < len(token) // 2)]
    return int(early.max()) + 1 if len(early) else 0


def _anchors(token: I64) -> I64 | None:
    """Return the places in a sequence where its period begins; None without a period.

    The period is the distance of names that occur least often, but more than once.
    """
    if not len(token):
        return None
    values, count = np.unique(token, return_counts=True)
    several = count[count > 1]
    if not len(several) or (count == 1).mean() > _ONCE:
        return None
    least = int(several.min())
    rare = values[count == least]
    places = np.flatnonzero(np.isin(token, rare[:1]))
    period = round(float(np.median(np.diff(places))))
    if period < 2 or period >= len(token) or np.ptp(np.diff(places)) > (1 - _MATCHES) * period:
        return None
    if (token[period:] == token[:-period]).mean() < _MATCHES:
        return None
    first = np.argmax(np.isin(token, rare))
    return np.flatnonzero(token == token[first])
