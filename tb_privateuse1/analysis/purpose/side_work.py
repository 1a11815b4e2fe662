"""Find work beside the training in a step: neither its passes nor its optimizer need the results.

It is what a step does behind its last backward pass, apart from the optimizer, loading and
communication, and apart from what writes parameters or gradients. Where the recording has Python
frames or annotations, each function is one piece of work; else what is done in a row.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.account.state_writes import named_writes
from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.operators import library_frames
from tb_privateuse1.analysis.purpose.pieces import (
    BEHIND,
    BETWEEN,
    OTHER,
    Pieces,
    pieces,
)
from tb_privateuse1.analysis.purpose.side_effects import Effects, effects
from tb_privateuse1.analysis.steps.training_phases import STEPPING, phase_kinds
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import containing, ends_run, flag_names, mask_of, starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import ANNOTATION, NONE, Trace
from tb_privateuse1.trace.table import I64

SideKind = Literal["pass", "averages", "copies", "writes", "reads", "statistics", "host"]
"""What work is, by what it does: it applies the model, averages its parameters or copies them,
writes its state, reads numbers on the host, computes statistics, or runs no operator."""

MANY = 8
"""Calls of a kind in a step that are a loop, as ``idioms.parameter_loops`` counts rounds."""


_MOST_OF = 0.5
"""Share of the parameters: a few tensors of such a shape are no averages of weights."""


class SideWork(Struct, frozen=True, eq=False):
    """Work of one kind and one function, in all steps."""

    kind: SideKind
    name: int
    """The string of its function or annotation; ``NONE`` for operators of the loop itself."""
    start_ns: I64
    end_ns: I64
    steps: I64
    """The steps in which it is."""
    ops: I64
    """Its outermost operators, rows of ``trace.ops``."""
    share: float
    """The share of its time that goes without it, or with one operator for all tensors."""

    @property
    def time(self) -> intervals.Set:
        """Return its ranges on the main thread."""
        return intervals.union(self.start_ns, self.end_ns)


class _Runs(Struct, frozen=True, eq=False):
    """Pieces of one function in a row."""

    name: I64
    start_ns: I64
    end_ns: I64
    step: I64
    place: I64


@memoize
def side_work(trace: Trace) -> tuple[SideWork, ...]:
    """Return the work beside the training, the longest first; none without shapes of parameters."""
    found = pieces(trace)
    if not len(found):
        return ()
    top = _main_operators(trace)
    runs = _runs(trace, found, trace.ops.start_ns[top])
    at = containing(runs.start_ns, runs.end_ns, trace.ops.start_ns[top])
    top, at = top[at >= 0], at[at >= 0]
    does = effects(trace, top)
    rows = (
        _work(trace, runs, some, (top, at, does)) for _, some in groupby.split_by_value(runs.name)
    )
    work = [one for one in rows if one is not None]
    return tuple(sorted(work, key=lambda one: -intervals.length(one.time)))


def _main_operators(trace: Trace) -> I64:
    """Return the outermost operators of the main thread, by start."""
    ops = trace.ops
    outer = groupby.outermost_operators(ops) & (ops.thread == thread_roles(trace).main)
    rows = np.flatnonzero(outer)
    return rows[np.argsort(ops.start_ns[rows], kind="stable")]


def _runs(trace: Trace, found: Pieces, operators_ns: I64) -> _Runs:
    """Return the other work of steps, by start: pieces of one function in a row are one."""
    name = _names(trace, found.row)
    first, last = np.searchsorted(operators_ns, (found.start_ns, found.end_ns))
    works = last > first
    # Of what has no operators, only the loop's own functions count: around it others measure it.
    chosen = (found.purpose == OTHER) & (found.place != NONE)
    chosen &= works | (found.loop & (name != NONE))
    rows = np.flatnonzero(chosen)
    between = found.purpose != OTHER
    interrupted = np.cumsum(between)[rows]
    keys = name[rows], found.step[rows], found.place[rows], interrupted
    new = starts_run(*keys)
    at, until = rows[new], rows[ends_run(*keys)]
    return _Runs(
        name=name[at],
        start_ns=found.start_ns[at],
        end_ns=found.end_ns[until],
        step=found.step[at].astype(np.int64),
        place=found.place[at].astype(np.int64),
    )


def _names(trace: Trace, rows: I64) -> I64:
    """Return the string of each row that is a function of the user or an annotation, or NONE."""
    ops, frames = trace.ops, trace.frames
    own = flag_names(trace.strings, _is_own)
    annotated = np.where(ops.kind == ANNOTATION, ops.name, NONE)
    called = np.where(own[frames.name], frames.name, NONE)
    names: I64 = np.concatenate((annotated, called)).astype(np.int64)[rows]
    return names


def _is_own(text: str) -> bool:
    return bool(library_frames.LINED.match(text)) and not library_frames.is_library(text)


def _work(
    trace: Trace, runs: _Runs, some: I64, operators: tuple[I64, I64, Effects]
) -> SideWork | None:
    """Return the work of some runs of one name; None if training may need it."""
    top, at, does = operators
    inside = np.flatnonzero(mask_of(some, len(runs.name))[at])
    ops, does = top[inside], does.take(inside)
    name, steps = int(runs.name[some[0]]), groupby.distinct_values(runs.step[some])
    averages = _is_average(trace, does, len(steps)) and (runs.place[some] == BEHIND).all()
    needed = does.lists if averages else does.writes
    kind = _kind(trace, runs, some, does, averages=bool(averages), steps=len(steps))
    if kind is None or _is_gradient_work(runs, some, does):
        return None
    kept = intervals.union(trace.ops.start_ns[ops[needed]], trace.ops.end_ns[ops[needed]])
    time = intervals.subtract(intervals.union(runs.start_ns[some], runs.end_ns[some]), kept)
    if intervals.length(kept) > intervals.length(time):
        return None
    share = 1 - _one_pass_ns(trace, ops, does) / intervals.length(time) if averages else 1.0
    return SideWork(kind, name, *time, steps, ops[~needed], max(share, 0.0))


def _is_average(trace: Trace, does: Effects, steps: int) -> bool:
    """Return whether operators average most parameters, one tensor at a time.

    Without an optimizer of torch they may be its updates.
    """
    if not (phase_kinds(trace) == STEPPING).any():
        return False
    joined = np.count_nonzero(does.joins & does.writes & ~does.lists)
    return bool(joined >= steps * max(MANY, _MOST_OF * _parameters(trace)))


def _parameters(trace: Trace) -> float:
    """Return how many parameters get a gradient in a backward pass."""
    found = accumulations(trace)
    return len(found.op) / max(len(found.passes.backward_ns), 1)


def _least_copies(trace: Trace) -> float:
    """Return how many copies in a step are those of parameters: without shapes, one for each."""
    if accumulations(trace).shapes:
        return MANY
    return _parameters(trace) or np.inf


def _is_gradient_work(runs: _Runs, some: I64, does: Effects) -> bool:
    """Return whether work ahead of the optimizer has new gradients as its result."""
    if not (runs.place[some] == BETWEEN).any():
        return False
    changed, reduced = np.count_nonzero(does.scales | does.joins), np.count_nonzero(does.reduces)
    return bool(does.writes.any() or (not does.applies.any() and changed > reduced))


def _kind(
    trace: Trace, runs: _Runs, some: I64, does: Effects, *, averages: bool, steps: int
) -> SideKind | None:
    """Return what work is; None if nothing says that it is no part of the training."""
    if len(_writes_in(trace, runs, some)):
        return "writes"
    if does.applies.any():
        return "pass"
    if averages:
        return "averages"
    many, named = MANY * steps, runs.name[some[0]] != NONE
    if np.count_nonzero(does.reads) >= many:
        return "reads"
    reduced = np.count_nonzero(does.reduces)
    if reduced >= many or (named and reduced and does.reads.any()):
        return "statistics"
    if np.count_nonzero(does.copies) >= max(many, steps * _least_copies(trace)):
        return "copies"
    return "host" if named and not len(does) else None


def _writes_in(trace: Trace, runs: _Runs, some: I64) -> I64:
    """Return the frames in some runs that write bytes."""
    rows = named_writes(trace)
    rows = rows[trace.frames.thread[rows] == thread_roles(trace).main]
    inside = containing(runs.start_ns[some], runs.end_ns[some], trace.frames.start_ns[rows]) >= 0
    found: I64 = rows[inside]
    return found


def _one_pass_ns(trace: Trace, ops: I64, does: Effects) -> int:
    """Return the time of one pass over all tensors: the costliest operator without its start-up.

    An operator's start-up is its usual time with the inputs for which that is shortest.
    """
    rows = ops[does.joins | does.scales]
    length = trace.ops.end_ns[rows] - trace.ops.start_ns[rows]
    first, call = groupby.group_rows(trace.ops.name[rows], trace.ops.shapes[rows])
    usual = np.array([np.median(length[call == i]) for i in range(len(first))])
    passes = (
        float((usual[some] - usual[some].min()) @ np.bincount(call)[some])
        for _, some in groupby.split_by_value(trace.ops.name[rows[first]])
    )
    return round(max(passes, default=0.0))
