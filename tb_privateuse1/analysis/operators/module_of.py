"""The nn.Module that a range belongs to, for a few ranges out of many.

Of an operator of the backward pass it is the module of its forward operator, of what was launched
the module of its operator. Nothing but the ranges asked for is looked at, so that it costs what
is shown and not what the trace holds.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.timeline import appearance
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I32, Bools


@memoize
def has_modules(trace: Trace) -> bool:
    """Whether there are calls of modules among the frames."""
    return bool(call_tree.is_module(trace).any())


@memoize
def forward_operators(trace: Trace) -> I32:
    """``calltree.forward_of`` of all operators, kept: it has to look at every one."""
    return call_tree.forward_of(trace.ops)


def modules_of(trace: Trace, table: I8, index: I32) -> I32:
    """The string that names the innermost module of rows of several tables (``looks.TABLES``).

    ``NONE`` outside of modules; a step has none.
    """
    found = np.full(len(index), NONE, np.int32)
    for number, rows_of in ((appearance.OPS, None), (appearance.LAUNCHES, trace.launches.op),
                            (appearance.KERNELS, trace.kernels.op)):  # fmt: skip
        here = table == number
        rows = index[here]
        found[here] = operator_modules(trace, rows if rows_of is None else rows_of[rows])
    here = table == appearance.FRAMES
    found[here] = frame_modules(trace, index[here])
    return found


def operator_modules(trace: Trace, rows: I32) -> I32:
    """The string that names the innermost module of each row of ``trace.ops``; ``NONE`` for none.

    Rows that are ``NONE`` have none.
    """
    ahead = call_tree.take(forward_operators(trace), rows)
    return frame_modules(trace, call_tree.take(trace.ops.frame, np.where(ahead >= 0, ahead, rows)))


def frame_modules(trace: Trace, rows: I32) -> I32:
    """The same of rows of ``trace.frames``; that of a module's call is the module itself."""
    frames, named = trace.frames, _named(trace)
    found = rows.copy()
    at = np.flatnonzero(found >= 0)
    while len(at):
        at = at[~named[frames.name[found[at]]]]
        found[at] = frames.parent[found[at]]
        at = at[found[at] >= 0]
    return call_tree.take(frames.name, found)


@memoize
def _named(trace: Trace) -> Bools:
    """Which of the trace's strings name a module."""
    return call_tree.starts_with(trace, call_tree.MODULE)
