"""Find loops of the program that call NumPy for one item after the other: the call is the cost.

NumPy takes some microseconds for a few numbers, and about as long for hundreds. Sizes of arrays are
not recorded, but the pace of the loop is.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.analysis.idioms.independent_rounds import ROUNDS
from tb_privateuse1.analysis.idioms.single_numbers import LEAST
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import ends_run, lookup, starts_run
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import Frames, Trace
from tb_privateuse1.trace.table import I64, Bools, MaybeFrameRow, Table, ThreadRow

_NUMPY = re.compile(r"(^|/)numpy/[\w/]+\.py\(")


class ArrayLoops(Table, frozen=True):
    """Loops in one call of a function of the program, from the first call of NumPy to the last.

    ``calls`` are those of NumPy, ``kinds`` the distinct ones among them, and ``caller`` is the call
    of the function, a row of ``trace.frames``.
    """

    thread: ThreadRow
    start_ns: I64
    end_ns: I64
    calls: I64
    kinds: I64
    caller: MaybeFrameRow


def array_loops(trace: Trace) -> ArrayLoops:
    """Return the loops that call NumPy directly and run no operator; none without stacks.

    A data loader's are its own. Calls that differ from each other are a formula, and no loop.
    """
    frames = trace.frames
    rows = np.flatnonzero(_called_by_the_program(trace, frames))
    rows = rows[np.lexsort((frames.start_ns[rows], frames.parent[rows]))]
    caller = frames.parent[rows]
    first, last = np.flatnonzero(starts_run(caller)), np.flatnonzero(ends_run(caller))
    loop = np.cumsum(starts_run(caller)) - 1
    distinct, _ = group_rows(loop, frames.name[rows])
    found = ArrayLoops(
        thread=frames.thread[rows[first]],
        start_ns=frames.start_ns[rows[first]],
        end_ns=frames.end_ns[rows[last]],
        calls=last - first + 1,
        kinds=np.bincount(loop[distinct], minlength=len(first)),
        caller=caller[first],
    )
    found = found.take(np.flatnonzero(found.calls >= np.maximum(LEAST, ROUNDS * found.kinds)))
    return found.take(~_with_operators(trace, found) & ~_in_loader(trace, found))


def _called_by_the_program(trace: Trace, frames: Frames) -> Bools:
    """Return which frames are functions of NumPy that a function of the program calls itself."""
    own = groupby.named_rows(
        trace.strings,
        frames.name,
        lambda name: bool(library_frames.LINED.match(name)) and not library_frames.is_library(name),
    )
    numpy = groupby.named_rows(trace.strings, frames.name, lambda name: bool(_NUMPY.search(name)))
    called: Bools = numpy & lookup(own & ~numpy, frames.parent, False)
    return called


def _with_operators(trace: Trace, loops: ArrayLoops) -> Bools:
    """Return in which loops operators of torch begin: other rules know them."""
    ops = trace.ops
    main = groupby.outermost_operators(ops)
    found = np.zeros(len(loops), np.bool_)
    for thread, some in groupby.split_by_value(loops.thread):
        at = np.sort(ops.start_ns[main & (ops.thread == thread)])
        begun = np.searchsorted(at, loops.end_ns[some]) - np.searchsorted(at, loops.start_ns[some])
        found[some] = begun > 0
    return found


def _in_loader(trace: Trace, loops: ArrayLoops) -> Bools:
    """Return which loops make a data loader's samples."""
    loader = call_tree.starts_with(trace, call_tree.LOADER)[trace.ops.name]
    at = trace.frames.op[loops.caller]
    found: Bools = call_tree.around(trace.ops.parent, at, loader) >= 0
    return found
