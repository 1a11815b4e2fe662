"""Find the nn.Module around some ranges, without the whole module tree.

For an operator of the backward pass it is the module of its forward operator; for launches and
kernels that of their operator, or of the launch call. Only the given ranges are read, so the cost
depends on the rows shown and not on the size of the trace.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.timeline import appearance
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I32, Bools


@memoize
def has_modules(trace: Trace) -> bool:
    """Return whether the frames contain calls of modules."""
    return bool(call_tree.is_module(trace).any())


@memoize
def forward_operators(trace: Trace) -> I32:
    """Return the memoized ``call_tree.forward_of`` all operators: it reads every one."""
    return call_tree.forward_of(trace)


def modules_of(trace: Trace, table: I8, index: I32) -> I32:
    """Return by row the string that names its innermost module, ``NONE`` outside of modules.

    ``table`` is an index into ``appearance.TABLES``, ``index`` the row in that table. A step has no
    module.
    """
    found = np.full(len(index), NONE, np.int32)
    here = table == appearance.OPS
    found[here] = operator_modules(trace, index[here])
    here = table == appearance.FRAMES
    found[here] = frame_modules(trace, index[here])
    here = table == appearance.LAUNCHES
    found[here] = _called_modules(trace, trace.launches.op[index[here]], index[here])
    here = table == appearance.KERNELS
    kernels, rows = trace.kernels, index[here]
    found[here] = _called_modules(trace, kernels.op[rows], kernels.launch[rows])
    return found


def _called_modules(trace: Trace, op: I32, launch: I32) -> I32:
    """Return the module of each operator, or without one that of its launch call."""
    called = frame_modules(trace, lookup(trace.launches.frame, launch, NONE))
    return np.where(op >= 0, operator_modules(trace, op), called).astype(np.int32)


def operator_modules(trace: Trace, rows: I32) -> I32:
    """Return the string that names the innermost module of rows of ``trace.ops``, or ``NONE``.

    A row that is ``NONE`` has no module.
    """
    ahead = lookup(forward_operators(trace), rows, NONE)
    return frame_modules(trace, lookup(trace.ops.frame, np.where(ahead >= 0, ahead, rows), NONE))


def frame_modules(trace: Trace, rows: I32) -> I32:
    """Return the same for rows of ``trace.frames``; a module's call belongs to that module."""
    frames, named = trace.frames, _named(trace)
    found = rows.copy()
    at = np.flatnonzero(found >= 0)
    while len(at):
        at = at[~named[frames.name[found[at]]]]
        found[at] = frames.parent[found[at]]
        at = at[found[at] >= 0]
    return lookup(frames.name, found, NONE)


@memoize
def _named(trace: Trace) -> Bools:
    """Return by string of the trace whether it names a module."""
    return call_tree.starts_with(trace, call_tree.MODULE)
