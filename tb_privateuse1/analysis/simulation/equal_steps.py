"""Choose a few steps of a long recording that stand for all of them, or none.

Steps stand for all if they run the same operators and activities in the same proportions, take as
long, vary as much, and spend as much in each operator, function and kernel. What such a block lacks
takes less time than a finding needs, whatever of these a finding is about.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation.excerpt import BEFORE, BEHIND
from tb_privateuse1.trace.groupby import sums
from tb_privateuse1.trace.model import NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64

LONG = 250_000
"""Events: all steps of a recording with no more are read."""

_ROWS, _FEWEST = 50_000, 4
"""Events and steps of the smallest block: for these events, the rules take 0.1 to 0.2 s."""

_MORE = 1.1
"""Each block that is tried is longer than the one before by this factor."""

_AGREES = 0.005
"""Of the mean step: a block and all steps differ by no more. It is ``thresholds.NOISE``: no finding
saves less, so that none is lost with what the block lacks."""
_EQUAL = _AGREES / 2
"""A block that differs by less is taken before longer ones are tried."""

_NAMED = _AGREES / 10
"""Of all time: names that take less are one, so that a long recording of many names is short
here."""

_SHORTER = (0.5, 0.75, 0.9, 0.95, 0.99)
"""Shares of the steps. Time beyond the lengths that these reach is compared: the slow steps are in
the block as often as in all."""

_MOST_KINDS = 16
"""Steps of more kinds, as with shapes of their own, are not equal."""

Floats = NDArray[np.float64]


class Block(Struct, frozen=True):
    """Neighboring judged steps that stand for all."""

    chosen: I64
    """Rows of ``trace.steps``."""
    differs: float
    """The greatest difference to all steps, as a share of the mean step."""


def equal_block(trace: Trace, judged: JudgedPart) -> Block | None:
    """Return the block that agrees best with all judged steps; None if all are to be read.

    Longer ones than twice the least are tried only while none agrees. A block has at most half of
    the steps.
    """
    rows = sum(
        len(table)
        for table in (trace.ops, trace.frames, trace.launches, trace.kernels, trace.memory)
    )
    if rows <= LONG or not judged.is_steady or len(judged.iterations_ns):
        return None
    each = rows / len(trace.steps)
    count = least = max(int(_ROWS / each), _FEWEST)
    most = min(len(judged.steps) // 2, int(LONG / each))
    measures = _measures(trace, judged) if count <= most else None
    if measures is None:
        return None
    sums_until = [_until(one) for one in (measures, *_parts(trace, judged))]
    best = None
    while count <= (most if best is None else min(most, 2 * least)):
        figures, *parts = (_differences(until, count) for until in sums_until)
        # A finding is about any of the names: those with more, or those with less, at most.
        differs = np.max([np.abs(figures).max(axis=0), *map(_of_names, parts)], axis=0)
        low, high = judged.steps[: len(differs)], judged.steps[count - 1 :]
        differs[(low < BEFORE) | (high >= len(trace.steps) - BEHIND)] = np.inf
        first = int(differs.argmin())
        found = Block(judged.steps[first : first + count], float(differs[first]))
        if found.differs <= _EQUAL:
            return found
        if found.differs <= (_AGREES if best is None else best.differs):
            best = found
        count = max(count + 1, int(_MORE * count))
    return best


def _until(measures: Floats) -> Floats:
    """Return the sums over the steps before each, and over all."""
    return np.concatenate((np.zeros((len(measures), 1)), measures.cumsum(axis=1)), axis=1)


def _differences(until: Floats, count: int) -> Floats:
    """Return the mean of each block of ``count`` steps less that of all."""
    means = (until[:, count:] - until[:, :-count]) / count
    differences: Floats = means - until[:, -1:] / (until.shape[1] - 1)
    return differences


def _of_names(differences: Floats) -> Floats:
    """Return how far any of the names can differ together."""
    more = np.maximum(differences, 0).sum(axis=0)
    less = np.maximum(-differences, 0).sum(axis=0)
    further: Floats = np.maximum(more, less)
    return further


def _measures(trace: Trace, judged: JudgedPart) -> Floats | None:
    """Return figures of each judged step, in mean steps; None if the steps are of many kinds.

    They are its length, the square of that, what it has beyond other lengths, the work of the
    device and of the host, and by kind of steps its length again: the mean over steps is the share
    of time of that kind.
    """
    steps, count = judged.steps, len(trace.steps)
    mean_ns = max(float(judged.lengths_ns.mean()), 1.0)
    length = judged.lengths_ns / mean_ns
    kinds, kind = np.unique(_kinds(trace)[:, steps], axis=1, return_inverse=True)
    if kinds.shape[1] > _MOST_KINDS:
        return None
    ops, kernels = trace.ops, trace.kernels
    top = (ops.parent < 0) & (ops.kind == OPERATOR)
    host = sums(ops.step[top], (ops.end_ns - ops.start_ns)[top], count)[steps] / mean_ns
    device = sums(kernels.step, kernels.end_ns - kernels.start_ns, count)[steps] / mean_ns
    each = (np.arange(kinds.shape[1])[:, None] == kind.reshape(-1)) * length
    beyond = np.maximum(length - np.quantile(length, _SHORTER)[:, None], 0)
    return np.vstack((length, length**2, beyond, host, device, each))


def _parts(trace: Trace, judged: JudgedPart) -> list[Floats]:
    """Return by name the time of operators, functions and kernels in each step, in mean steps."""
    ops, frames, kernels, steps = trace.ops, trace.frames, trace.kernels, trace.steps
    length_ns = ops.end_ns - ops.start_ns
    own_ns = length_ns - sums(ops.parent, length_ns, len(ops))
    # Frames that began before the first step are in none of them.
    step = np.searchsorted(steps.host_start_ns, frames.start_ns, side="right") - 1
    return [
        _by_name(judged, ops.step, np.where(ops.kind == OPERATOR, ops.name, NONE), own_ns),
        _by_name(judged, step, frames.name, frames.self_ns),
        _by_name(judged, kernels.step, kernels.name, kernels.end_ns - kernels.start_ns),
    ]


def _by_name(judged: JudgedPart, step: I32 | I64, name: I32, time_ns: I64) -> Floats:
    """Return the time of each name in each judged step; short ones together are the last."""
    all_ns = max(float(judged.lengths_ns.sum()), 1.0)
    names = int(name.max(initial=NONE)) + 1
    place = np.full(int(max(step.max(initial=NONE), judged.steps.max())) + 2, NONE)
    place[judged.steps] = np.arange(len(judged.steps))
    column = place[step]  # the last entry is of no step
    rows = np.flatnonzero((column >= 0) & (name >= 0))
    worth = sums(name[rows], time_ns[rows], names) >= _NAMED * all_ns
    line = np.where(worth, np.cumsum(worth) - 1, worth.sum())
    lines, count = int(worth.sum()) + 1, len(judged.steps)
    cell = line[name[rows]] * count + column[rows]
    total: Floats = np.bincount(cell, time_ns[rows], lines * count).astype(np.float64)
    return total.reshape(lines, count) * (count / all_ns)


def _kinds(trace: Trace) -> I64:
    """Return two numbers per step that are equal in steps with equal operators and activities.

    They are sums of hashes of the rows: threads may do them in another order.
    """
    ops, kernels, count = trace.ops, trace.kernels, len(trace.steps)
    rows = np.flatnonzero(ops.kind == OPERATOR)
    calls = _unsigned(ops.name[rows]) << np.uint64(32) | _unsigned(ops.shapes[rows])
    return np.stack((
        sums(ops.step[rows], _mixed(calls), count),
        sums(kernels.step, _mixed(_unsigned(kernels.name)), count),
    ))  # fmt: skip


def _unsigned(column: I32) -> NDArray[np.uint64]:
    return (column.astype(np.int64) - NONE).astype(np.uint64)


def _mixed(values: NDArray[np.uint64]) -> I64:
    """Return hashes by splitmix64's finalizer."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ values >> np.uint64(shift)) * np.uint64(factor)
    return (values ^ values >> np.uint64(31)).view(np.int64)
