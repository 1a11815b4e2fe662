"""Find the iterations of a training loop by its optimizer's steps, which end them.

torch marks each with ``Optimizer.step#…``. A loop may take several optimizer steps per iteration
(a GAN, clipping by parts): then their operators repeat only after as many steps. What precedes the
first iteration does not repeat: imports, contexts, compilation.
"""

from __future__ import annotations

import math

import numpy as np

from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.call_tree import starts_with
from tb_privateuse1.trace.model import ANNOTATION, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64

STEP = "Optimizer.step#"
_FEWEST = 3
"""Steps; two show one distance only, which nothing repeats."""
_MOST_PER_ITERATION = 4
_ALIKE = 0.9
"""Share of the stretches between steps that equal the one an iteration later, and of a stretch's
operators that the first one may not lack."""


def optimizer_iterations(trace: Trace) -> tuple[I64, I64] | None:
    """Return starts and ends of the iterations, in ns on the host; None without a loop."""
    ops = trace.ops
    rows = np.flatnonzero((ops.kind == ANNOTATION) & starts_with(trace, STEP)[ops.name])
    if len(rows) < _FEWEST:
        return None
    rows = rows[ops.thread[rows] == np.argmax(np.bincount(ops.thread[rows]))]
    ends = np.sort(ops.end_ns[rows])
    own = np.flatnonzero((ops.kind == OPERATOR) & (ops.thread == ops.thread[rows[0]]))
    own = own[np.argsort(ops.start_ns[own], kind="stable")]
    stretch = np.searchsorted(ends, ops.start_ns[own], side="right")
    if len(ends) < _FEWEST or not len(own):
        return None
    ends = ends[:: _per_iteration(stretch, ops.name[own], len(ends))]
    if len(ends) < _FEWEST:
        return None
    stretch = np.searchsorted(ends, ops.start_ns[own], side="right")
    first = _first_start(stretch, ops.name[own], ops.start_ns[own], len(ends))
    starts = ends[:-1] if first is None else np.concatenate(([first], ends[:-1]))
    return starts, ends[len(ends) - len(starts) :]


def _per_iteration(stretch: I64, name: I32, count: int) -> int:
    """Return how many optimizer steps an iteration takes: 1 if nothing repeats exactly."""
    inner = (stretch > 0) & (stretch < count)
    texts = [tuple(part.tolist()) for part in _parts(stretch[inner], name[inner], count)[1:]]
    _, kind = np.unique([hash(text) for text in texts], return_inverse=True)
    for steps in range(1, _MOST_PER_ITERATION + 1):
        alike = kind[steps:] == kind[:-steps]
        if len(alike) and alike.mean() >= _ALIKE:
            return steps
    return 1


def _parts(stretch: I64, name: I32, count: int) -> list[I32]:
    """Return the names of each stretch in front of a step."""
    return np.split(name, np.searchsorted(stretch, np.arange(1, count)))


def _first_start(stretch: I64, name: I32, start_ns: I64, count: int) -> int | None:
    """Return when the first iteration begins; None if the recording began in the middle of it.

    It has about as many operators as later ones (what follows an optimizer step, such as the loss's
    reading, is the end of the iteration before), and begins behind the last one before these that
    no later iteration has. Its own operators may be new: the first optimizer step makes state.
    """
    later = (stretch > 0) & (stretch < count)
    least = math.ceil(_ALIKE * int(np.bincount(stretch[later], minlength=count)[1:].min()))
    first = np.flatnonzero(stretch == 0)
    alien = np.flatnonzero(~np.isin(name[first], groupby.distinct_values(name[later])))
    alien = alien[alien < len(first) - least]
    begun = int(alien[-1]) + 1 if len(alien) else 0
    if len(first) < least or not len(first):
        return None
    return int(start_ns[first[begun]])
