"""Find long gaps between operators in which a thread runs Python of the program.

On a recording of a host alone nothing is launched ahead: while Python tokenizes, draws or counts,
no operator works. A gap is long if several operators would fit into it; what is shorter is the
pace of calls. At one place of the program most gaps are long, or those that are had to wait
for a processor. Torch's own Python, and that of libraries that run operators, is left: a trainer's
loop is no code of the program. But what writes a tensor as text counts: the program asks for
it, and a logger may drop it.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.calls_without_launches import LONG, usual_operator_ns
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import containing, following, lookup, mask_of
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

_READS = re.compile(
    r"^<built-in method (tolist|item|numpy|__array__|__bool__|__float__|__int__) of Tensor"
)
"""Functions in C that hand a tensor's values to Python."""
_NUMBER = "aten::_local_scalar_dense"
"""The operator that hands a number to Python: ``int(x)`` is no function in the recording."""
_TEXT = re.compile(r"(^|/)torch/_tensor_str\.py\(\d+\): _str$")
_TEXT_CALL = re.compile(
    r"(^|/)torch/_tensor\.py\(\d+\): __(format|repr)__$|^<built-in method __format__ of Tensor "
)
"""The function of torch that writes a tensor as text, and what calls it for ``f"{x}"``."""
_LOGGER = re.compile(
    r"(^|/)logging/__init__\.py\(\d+\): (debug|info|warning|error|exception|critical|log)$"
)
_IN_C = re.compile("^<")
_LOGS = re.compile(r"(^|/)logging/__init__\.py\(\d+\): _log$")
"""Methods of Python's loggers, and what they call for a message that is wanted."""
_BEFORE, _BEHIND = 3, 3
"""Operators on both sides that tell a place from others: rounds of a loop have equal ones."""


class OwnPython(Struct, frozen=True):
    """The long gaps of one function of the program."""

    rows: I64
    """Its calls with such time, rows of ``trace.frames``."""
    time: intervals.Set
    reads: bool
    """It reads values of tensors, or most of it follows a read of a number in the same step."""

    @property
    def ns(self) -> int:
        """The length of ``time``."""
        return intervals.length(self.time)


def own_python(trace: Trace, times: intervals.Set) -> tuple[OwnPython, ...]:
    """Return the long gaps of each function of the program in some time, the longest first.

    ``times`` are those in which no operator runs. A gap is as long as five usual operators or
    longer. None without Python frames.
    """
    least_ns = max(LONG * usual_operator_ns(trace), 1)
    long = times[1] - times[0] >= least_ns
    gaps = times[0][long], times[1][long]
    often = _are_usual(trace, gaps[0], least_ns)
    usual = gaps[0][often], gaps[1][often]
    frames = trace.frames
    inside = intervals.covered_length(gaps, frames.start_ns, frames.end_ns) > 0
    rows = np.flatnonzero(inside & (frames.thread == thread_roles(trace).main))
    runs = _runs_operators(trace)
    owner = _owners(trace, runs)
    start, end, frame = _pieces(trace, rows)
    own = np.flatnonzero(owner[frame] != NONE)
    start, end, frame = start[own], end[own], owner[frame[own]]
    reads = rows[groupby.named_rows(trace.strings, frames.name[rows], _reads_tensor)]
    reading = groupby.distinct_values(owner[reads])
    found = []
    for _, some in groupby.split_by_value(frames.name[frame]):
        # Of a function that runs operators, Python is what is always long between two of them.
        chosen = usual if runs[frame[some]].any() else gaps
        time = intervals.intersect(intervals.union(start[some], end[some]), chosen)
        spent = intervals.covered_length(time, start[some], end[some]) > 0
        calls = groupby.distinct_values(frame[some][spent]).astype(np.int64)
        reads_any = bool(np.isin(calls, reading).any()) or _follows_reads(trace, time[0])
        found.append(OwnPython(calls, time, reads=reads_any))
    return tuple(sorted((one for one in found if one.ns), key=lambda one: -one.ns))


class TensorTexts(Struct, frozen=True):
    """The calls on the main thread that write a tensor as text, rows of ``trace.frames``."""

    rows: I64
    dropped: Bools
    """The text is for a message of a logger that drops it."""


def tensor_texts(trace: Trace) -> TensorTexts:
    """Return the outermost calls that write a tensor as text; none without Python frames."""
    frames = trace.frames
    is_text = groupby.named_rows(trace.strings, frames.name, _TEXT.search)
    is_text &= frames.thread == thread_roles(trace).main
    rows = np.flatnonzero(is_text)
    if not len(rows):
        return TensorTexts(rows, np.zeros(0, np.bool_))
    calls = is_text | groupby.named_rows(trace.strings, frames.name, _TEXT_CALL.search)
    # Numbers are written by calls of such a name, too: one that is inside of the text.
    outermost = np.flatnonzero(calls & ~lookup(calls, frames.parent, False))
    rows = call_tree.around(frames.parent, rows, mask_of(outermost, len(frames)))
    rows = groupby.distinct_values(rows)
    outer = call_tree.around(frames.parent, frames.parent[rows], mask_of(rows, len(frames)))
    rows = rows[outer == NONE]
    return TensorTexts(rows, _are_dropped(trace, rows))


def _are_dropped(trace: Trace, texts: I64) -> Bools:
    """Return for which texts the next call of their function is one of a logger that drops it."""
    frames = trace.frames
    logger, logs, in_c = (
        groupby.named_rows(trace.strings, frames.name, one.search)
        for one in (_LOGGER, _LOGS, _IN_C)
    )
    wanted = call_tree.around(frames.parent, np.flatnonzero(logs), logger)
    drops = logger & ~mask_of(wanted[wanted != NONE], len(frames))
    callers = mask_of(frames.parent[texts][frames.parent[texts] != NONE], len(frames))
    beside = lookup(callers, frames.parent, False) & ~in_c & ~mask_of(texts, len(frames))
    others = np.flatnonzero(beside & (frames.thread == thread_roles(trace).main))
    others = others[np.argsort(frames.start_ns[others], kind="stable")]
    others = np.append(others, NONE)
    behind = others[np.searchsorted(frames.start_ns[others[:-1]], frames.end_ns[texts])]
    parent = lookup(frames.parent, behind, NONE)
    found: Bools = (
        (behind != NONE) & (parent == frames.parent[texts]) & lookup(drops, behind, False)
    )
    return found


def _are_usual(trace: Trace, start_ns: I64, least_ns: float) -> Bools:
    """Return which gaps begin where at least half of the time between operators is long.

    A place is known by the operators of the step around it. One that does not come again is usual.
    """
    ops = trace.ops
    main = ops.thread == thread_roles(trace).main
    top = np.flatnonzero(groupby.outermost_operators(ops) & main)
    top = top[np.argsort(ops.start_ns[top], kind="stable")]
    usual = np.ones(len(start_ns), np.bool_)
    if len(top) < 2:
        return usual
    long = ops.start_ns[top[1:]] - np.maximum.accumulate(ops.end_ns[top])[:-1] >= least_ns
    sides, count = (_BEFORE - 1, _BEHIND - 1), len(long)
    names = np.pad(ops.name[top], sides, constant_values=NONE)
    steps = np.pad(ops.step[top], sides, constant_values=NONE)
    behind = ops.step[top[1:]]
    around = (
        np.where(steps[i : i + count] == behind, names[i : i + count], NONE)
        for i in range(_BEFORE + _BEHIND)
    )
    _, place = groupby.group_rows(*around)
    often = 2 * np.bincount(place, weights=long) >= np.bincount(place)
    before = np.searchsorted(ops.start_ns[top], start_ns, side="right") - 1
    inside = (before >= 0) & (before < count)
    usual[inside] = often[place[before[inside]]]
    return usual


def _follows_reads(trace: Trace, start_ns: I64) -> bool:
    """Return whether the host has read a number ahead of most gaps, in the step of each."""
    ops, steps = trace.ops, trace.steps
    reads = np.sort(ops.start_ns[call_tree.starts_with(trace, _NUMBER)[ops.name]])
    last = np.append(reads, -1)[np.searchsorted(reads, start_ns, side="right") - 1]
    step = containing(steps.host_start_ns, steps.host_end_ns, start_ns)
    behind = (last >= 0) & (last >= lookup(steps.host_start_ns, step, 0))
    return bool(2 * np.count_nonzero(behind) > len(behind))


def _reads_tensor(name: str) -> bool:
    return bool(_READS.match(name))


def _owners(trace: Trace, runs: Bools) -> I64:
    """Return by frame the call of the program's own function that it works for, or ``NONE``.

    Functions in C, and libraries that run no operator, work for their caller; so do own functions
    whose caller runs no operator either. ``runs`` are the frames that run operators.
    """
    frames = trace.frames
    lined = groupby.named_rows(
        trace.strings, frames.name, lambda name: bool(library_frames.LINED.match(name))
    )
    library = groupby.named_rows(trace.strings, frames.name, library_frames.is_library)
    torchs = groupby.named_rows(trace.strings, frames.name, library_frames.is_torch)
    own = lined & ~library
    nearest = np.append(
        call_tree.self_or_nearest(frames.parent, own | (lined & (torchs | runs))), NONE
    )
    owner = np.where(np.append(own, False)[nearest], nearest, NONE)
    caller = np.append(intervals.nearest(frames.parent, own), NONE)
    apart = np.append(own & ~runs, False)
    rising = np.flatnonzero(apart[owner])
    while len(rising):
        rising = rising[apart[caller[owner[rising]]]]
        owner[rising] = caller[owner[rising]]
    return owner


def _runs_operators(trace: Trace) -> Bools:
    """Return in which frames operators of the same thread begin."""
    ops, frames = trace.ops, trace.frames
    inner = np.zeros(len(frames), np.bool_)
    at = ops.frame[groupby.outermost_operators(ops)]
    inner[at[at >= 0]] = True
    return inner | intervals.enclosing(frames.parent, inner)


def _pieces(trace: Trace, rows: I64) -> tuple[I64, I64, I64]:
    """Return starts and ends of the time between the edges of frames, and the innermost of them.

    ``rows`` are frames of one thread, with those around them.
    """
    frames = trace.frames
    rows = rows[frames.end_ns[rows] > frames.start_ns[rows]]
    rows = rows[intervals.nesting_order(*_columns(trace, rows))]
    rank = np.arange(len(rows))
    at = np.concatenate((frames.end_ns[rows], frames.start_ns[rows]))
    begins = np.repeat([False, True], len(rows))
    # At one instant inner frames end first, and outer ones begin first.
    order = np.lexsort((np.concatenate((-rank, rank)), begins, at))
    inner = np.concatenate((frames.parent[rows], rows))[order].astype(np.int64)
    start = at[order]
    end = following(start, int(start[-1]) if len(start) else 0)
    some = np.flatnonzero((end > start) & (inner != NONE))
    return start[some], end[some], inner[some]


def _columns(trace: Trace, rows: I64) -> tuple[np.ndarray, I64, I64]:
    frames = trace.frames
    return frames.thread[rows], frames.start_ns[rows], frames.end_ns[rows]
