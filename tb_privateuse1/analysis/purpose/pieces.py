"""Divide the training steps of the main thread into pieces, each with one purpose.

A range that has several of forward pass, backward pass and optimizer in it is divided into the
ranges that it calls, and so on: an outermost range with at most one of them is a piece. What a
piece is for, its ranges and the links of autograd say; no names of users' functions decide.
"""

from __future__ import annotations

import functools
import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.purpose import rounds
from tb_privateuse1.analysis.recording.iterations import has_steps, iterations
from tb_privateuse1.analysis.steps.training_phases import (
    BACKWARD as IN_ENGINE,
)
from tb_privateuse1.analysis.steps.training_phases import (
    LOADING,
    RESETTING,
    STEPPING,
    Passes,
    find_passes,
    phase_kinds,
)
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import containing, latest_not_after, lookup, mask_of
from tb_privateuse1.trace.groupby import distinct_values, named_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I32, I64, Bools, MaybeStepRow, Table

FORWARD, BACKWARD, OPTIMIZER, DATA, COMMUNICATION, PROFILER, OTHER = range(7)
"""Values of ``Pieces.purpose``; ``OTHER`` is all that is left."""

BEHIND, BETWEEN = range(2)
"""Values of ``Pieces.place`` of other work: behind the last backward pass and optimizer of a step,
or between its last backward pass and the optimizer. ``NONE`` elsewhere."""

_LOADERS = "torch/utils/data/"
_UPDATES = ("torch/optim/", "amp/grad_scaler.py")
_RESET = re.compile(r"torch/nn/modules/module\.py\(\d+\): zero_grad$")
_PROFILERS = ("torch/profiler/", "torch/autograd/profiler", "tb_privateuse1/capture/")


class Pieces(Table, frozen=True):
    """The pieces of the steps of the main thread by start; no two overlap.

    ``row`` counts all rows of ``trace.ops``, then all of ``trace.frames``. ``loop`` says that the
    range around the piece has the forward and the backward pass of the step.
    """

    row: I64
    start_ns: I64
    end_ns: I64
    step: MaybeStepRow
    purpose: I8
    place: I8
    loop: Bools


class _Ranges(Struct, frozen=True, eq=False):
    """All ranges of a trace: rows of ``trace.ops``, then of ``trace.frames``."""

    start_ns: I64
    end_ns: I64
    op: I32
    """The innermost operator or annotation around each, or ``NONE``."""
    frame: I32
    """The innermost frame around each, or ``NONE``."""
    marks: tuple[I64, I64, I64]
    """When forward operators, backward passes and optimizers begin, by their purpose."""

    def having(self, rows: I64) -> np.ndarray:
        """Return a flag per purpose and row: one of its marks is inside."""
        start, end = self.start_ns[rows], self.end_ns[rows]
        return np.array(
            [np.searchsorted(at, end) > np.searchsorted(at, start) for at in self.marks]
        )


@memoize
def pieces(trace: Trace) -> Pieces:
    """Return the pieces of all steps; none without steps or without a backward pass."""
    passes, steps = find_passes(trace), training_steps(trace)
    if not len(passes.backward_ns) or not len(steps[0]):
        return Pieces.empty()
    ranges, rows, loops = _undivided(trace)
    step = containing(*steps, ranges.start_ns[rows])
    rows, step = rows[step >= 0], step[step >= 0]
    start, has = ranges.start_ns[rows], ranges.having(rows)
    purpose = _purposes(trace, thread_roles(trace).main, rows, has)
    in_pass = containing(passes.backward_ns, passes.end_ns, start) >= 0
    purpose[in_pass & (purpose == OTHER)] = BACKWARD
    around = call_tree.inner_range(trace, ranges.op[rows], ranges.frame[rows])
    return Pieces(
        row=rows,
        start_ns=start,
        end_ns=ranges.end_ns[rows],
        step=step.astype(np.int32),
        purpose=purpose,
        place=_places(step, purpose, has[OPTIMIZER]),
        loop=np.isin(around, loops),
    )


@memoize
def _undivided(trace: Trace) -> tuple[_Ranges, I64, I64]:
    """Return all ranges, the rows that are pieces by their start, and the rows of loops' bodies."""
    ops, frames, main = trace.ops, trace.frames, thread_roles(trace).main
    ranges = _Ranges(
        start_ns=np.concatenate((ops.start_ns, frames.start_ns)),
        end_ns=np.concatenate((ops.end_ns, frames.end_ns)),
        op=np.concatenate((ops.parent, frames.op)),
        frame=np.concatenate((ops.frame, frames.parent)),
        marks=_marks(trace, main, find_passes(trace)),
    )
    own = np.concatenate((ops.thread, frames.thread)) == main
    mixed, loops = _divided(ranges, own)
    divided = np.append(mixed, True)  # ``NONE`` reads the last entry
    frame = np.where(ranges.frame >= 0, ranges.frame + len(ops), NONE)
    rows = np.flatnonzero(own & ~mixed & divided[ranges.op] & divided[frame])
    return ranges, rows[np.argsort(ranges.start_ns[rows], kind="stable")], loops


def _divided(ranges: _Ranges, own: Bools) -> tuple[Bools, I64]:
    """Return which own ranges have marks of several purposes, and the rows of loops' bodies.

    A body is an innermost range with a forward and a backward pass.
    """
    at = np.concatenate(ranges.marks)
    kind = np.repeat(np.arange(len(ranges.marks)), [len(one) for one in ranges.marks])
    order = np.argsort(at, kind="stable")
    changes = np.diff(kind[order]) != 0
    # No shorter range has two of them: this leaves few.
    least = np.diff(at[order])[changes].min() if changes.any() else np.iinfo(np.int64).max
    rows = np.flatnonzero(own & (ranges.end_ns - ranges.start_ns >= least))
    has = ranges.having(rows)
    several = has.sum(axis=0) > 1
    rows, has = rows[several], has[:, several]
    mixed = mask_of(rows, len(own))
    bodies = rows[has[FORWARD] & has[BACKWARD]]
    start, end = ranges.start_ns[bodies], ranges.end_ns[bodies]
    up = intervals.nest(np.zeros(len(bodies), np.int32), start, end)
    return mixed, bodies[~mask_of(up[up >= 0], len(bodies))]


@memoize
def training_steps(trace: Trace) -> tuple[I64, I64]:
    """Return the host's ranges of training steps by start, in ns; empty without a backward pass.

    They are the profiler's steps. Without these they are rounds of the loop; where there are too
    few rounds, annotated iterations.
    """
    main, passes = thread_roles(trace).main, find_passes(trace)
    if main == NONE or not len(passes.backward_ns):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    if has_steps(trace):
        return trace.steps.host_start_ns, trace.steps.host_end_ns
    found = iterations(trace)
    named = found if found is not None and found.source == "annotations" else None
    ranges, rows, _ = _undivided(trace)
    has = ranges.having(rows)
    kind = np.where(trace.ops.thread == main, phase_kinds(trace), NONE)
    stepping = np.sort(trace.ops.end_ns[kind == STEPPING])
    random = named_rows(trace.strings, trace.ops.name, lambda text: _draws(trace, text))
    drawn = np.sort(trace.ops.start_ns[random])
    start, end = ranges.start_ns[rows], ranges.end_ns[rows]
    order = rounds.Order(
        name=np.concatenate((trace.ops.name, trace.frames.name))[rows].astype(np.int64),
        start_ns=start,
        forward=has[FORWARD],
        loads=_purposes(trace, main, rows, has) == DATA,
        draws=np.searchsorted(drawn, end) > np.searchsorted(drawn, start),
    )
    ends = rounds.round_ends(trace, order, stepping, np.sort(passes.end_ns))
    divided = rounds.rounds(trace, order, ends, named)
    if len(divided[0]) or named is None:
        return divided
    return named.start_ns, named.end_ns


def _draws(trace: Trace, text: str) -> bool:
    return kind_of(text, trace.vendor) == "random"


def _marks(trace: Trace, main: int, passes: Passes) -> tuple[I64, I64, I64]:
    """Return when forward operators of gradients, backward passes and optimizers begin."""
    ops, kind = trace.ops, phase_kinds(trace)
    linked = call_tree.linked_forward(trace)
    rows = distinct_values(linked[linked >= 0])
    forward = np.sort(ops.start_ns[rows[ops.thread[rows] == main]])
    forward = forward[containing(passes.backward_ns, passes.end_ns, forward) < 0]
    stepping = ops.start_ns[(kind == STEPPING) & (ops.thread == main)]
    return forward, np.sort(passes.backward_ns), np.sort(stepping)


def _purposes(trace: Trace, main: int, rows: I64, has: np.ndarray) -> I8:
    """Return what each range is for by its marks, its name and the phase at its start."""
    ops, frames = trace.ops, trace.frames
    name = np.concatenate((ops.name, frames.name))[rows]
    start = np.concatenate((ops.start_ns, frames.start_ns))[rows]
    found = np.full(len(rows), OTHER, np.int8)
    for purpose, chosen in (
        (DATA, functools.partial(_is_in, (_LOADERS,))),
        (OPTIMIZER, functools.partial(_is_in, _UPDATES)),
        (PROFILER, functools.partial(_is_in, _PROFILERS)),
        (OPTIMIZER, _RESET.search),
        (COMMUNICATION, lambda text: kind_of(text, trace.vendor) == "communication"),
    ):
        found[named_rows(trace.strings, name, chosen)] = purpose
    kinds = np.where(ops.thread == main, phase_kinds(trace), NONE)
    for value, purpose in (
        (LOADING, DATA), (IN_ENGINE, BACKWARD), (STEPPING, OPTIMIZER), (RESETTING, OPTIMIZER),
    ):  # fmt: skip
        around = np.flatnonzero(kinds == value)
        phase = intervals.union(ops.start_ns[around], ops.end_ns[around])
        found[containing(*phase, start) >= 0] = purpose
    for purpose in (OPTIMIZER, BACKWARD, FORWARD):
        found[has[purpose]] = purpose
    return found


def _is_in(folders: tuple[str, ...], text: str) -> bool:
    return any(text.startswith(one) or f"/{one}" in text for one in folders)


def _places(step: np.ndarray, purpose: I8, stepping: Bools) -> I8:
    """Return where other work is in its step; ``stepping`` are the optimizer's steps."""
    kind = np.full(len(step), NONE, np.int64)
    kind[purpose == FORWARD] = FORWARD
    kind[purpose == BACKWARD] = BACKWARD
    kind[stepping] = OPTIMIZER
    known = np.flatnonzero(kind != NONE)
    before = latest_not_after(known, np.arange(len(step)))
    behind = before + 1
    earlier = lookup(kind[known], before, NONE)
    earlier[lookup(step[known], before, NONE) != step] = NONE
    behind[behind == len(known)] = NONE
    later = lookup(kind[known], behind, NONE)
    later[lookup(step[known], behind, NONE) != step] = NONE
    found = np.full(len(step), NONE, np.int8)
    trained = np.isin(earlier, (BACKWARD, OPTIMIZER)) & (purpose == OTHER)
    found[trained & (later == NONE)] = BEHIND
    found[trained & (earlier == BACKWARD) & (later == OPTIMIZER)] = BETWEEN
    return found
