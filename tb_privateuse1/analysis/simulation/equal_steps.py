"""Choose a few steps of a long recording that stand for all of them, or none.

Steps stand for all if they run the same operators and activities in the same proportions, take as
long, vary as much, and have as much work of host and device. What such a block lacks takes less
time than a finding needs.
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
    until = np.concatenate((np.zeros((len(measures), 1)), measures.cumsum(axis=1)), axis=1)
    whole, best = until[:, -1:] / len(judged.steps), None
    while count <= (most if best is None else min(most, 2 * least)):
        means = (until[:, count:] - until[:, :-count]) / count
        differs = np.abs(means - whole).max(axis=0)
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


def _measures(trace: Trace, judged: JudgedPart) -> Floats | None:
    """Return figures of each judged step, in mean steps; None if the steps are of many kinds.

    They are its length, the square of that, the work of the device and of the host, and by kind of
    steps its length again: the mean over steps is the share of time of that kind.
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
    return np.vstack((length, length**2, host, device, each))


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
