"""Divide the training steps of the main thread into pieces, each with one purpose.

A range that has several of forward pass, backward pass and optimizer in it is divided into the
ranges that it calls, and so on: an outermost range with at most one of them is a piece. What a
piece is for, its ranges and the links of autograd say; no names of users' functions decide.
"""

from __future__ import annotations

import functools
import re

import numpy as np

from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.recording.iterations import has_steps, iterations
from tb_privateuse1.analysis.steps.training_phases import (
    BACKWARD as IN_ENGINE,
)
from tb_privateuse1.analysis.steps.training_phases import (
    LOADING,
    RESETTING,
    STEPPING,
    find_passes,
    phase_kinds,
)
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree, intervals
from tb_privateuse1.trace.columns import containing, flag_names, latest_not_after, lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I8, I64, Bools, MaybeStepRow, Table

FORWARD, BACKWARD, OPTIMIZER, DATA, COMMUNICATION, PROFILER, OTHER = range(7)
"""Values of ``Pieces.purpose``; ``OTHER`` is all that is left."""

BEHIND, BETWEEN = range(2)
"""Values of ``Pieces.place`` of other work: behind the last backward pass and optimizer of a step,
or between its last backward pass and the optimizer. ``NONE`` elsewhere."""

_LOADERS = "torch/utils/data/"
_UPDATES = ("torch/optim/", "torch/amp/", "torch/cuda/amp/")
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


@memoize
def pieces(trace: Trace) -> Pieces:
    """Return the pieces of all steps; none without steps or without a backward pass."""
    ops, frames, main = trace.ops, trace.frames, thread_roles(trace).main
    passes, steps = find_passes(trace), host_steps(trace)
    if main == NONE or not len(passes.backward_ns) or not len(steps[0]):
        return Pieces.empty()
    start = np.concatenate((ops.start_ns, frames.start_ns))
    end = np.concatenate((ops.end_ns, frames.end_ns))
    parent = call_tree.parents_of_all(trace)
    own = np.concatenate((ops.thread, frames.thread)) == main
    marks = _marks(trace, main)
    has = np.zeros((len(marks), len(start)), np.bool_)
    for kind, at in enumerate(marks):
        has[kind, own] = np.searchsorted(at, end[own]) > np.searchsorted(at, start[own])
    mixed = own & (has.sum(axis=0) > 1)
    whole = own & ~mixed & ((parent < 0) | lookup(mixed, parent, False))
    rows = np.flatnonzero(whole)
    rows = rows[np.argsort(start[rows], kind="stable")]
    step = containing(*steps, start[rows])
    rows, step = rows[step >= 0], step[step >= 0]
    # Only the innermost range with both passes is the loop's own body.
    inner = mixed & has[FORWARD] & has[BACKWARD]
    inner &= ~intervals.enclosing(parent, inner)
    purpose = _purposes(trace, rows, has[:, rows], parent)
    in_pass = containing(passes.backward_ns, passes.end_ns, start[rows]) >= 0
    purpose[in_pass & (purpose == OTHER)] = BACKWARD
    return Pieces(
        row=rows,
        start_ns=start[rows],
        end_ns=end[rows],
        step=step.astype(np.int32),
        purpose=purpose,
        place=_places(step, purpose, has[OPTIMIZER, rows]),
        loop=lookup(inner, parent[rows], False),
    )


def host_steps(trace: Trace) -> tuple[I64, I64]:
    """Return the host's ranges of steps, or of annotated iterations, by start; else none.

    The optimizer's end is none of a step: behind it the step may go on.
    """
    if has_steps(trace):
        return trace.steps.host_start_ns, trace.steps.host_end_ns
    found = iterations(trace)
    if found is None or found.source != "annotations":
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return found.start_ns, found.end_ns


def _marks(trace: Trace, main: int) -> tuple[I64, I64, I64]:
    """Return when forward operators of gradients, backward passes and optimizers begin."""
    ops, passes, kind = trace.ops, find_passes(trace), phase_kinds(trace)
    linked = call_tree.linked_forward(ops)
    rows = np.unique(linked[linked >= 0])
    forward = np.sort(ops.start_ns[rows[ops.thread[rows] == main]])
    forward = forward[containing(passes.backward_ns, passes.end_ns, forward) < 0]
    stepping = ops.start_ns[(kind == STEPPING) & (ops.thread == main)]
    return forward, np.sort(passes.backward_ns), np.sort(stepping)


def _purposes(trace: Trace, rows: I64, has: np.ndarray, parent: np.ndarray) -> I8:
    """Return what each range is for by its marks, its name and what encloses it."""
    ops, frames = trace.ops, trace.frames
    name = np.concatenate((ops.name, frames.name))
    kinds = np.concatenate((phase_kinds(trace), np.full(len(frames), NONE, np.int8)))
    around = call_tree.self_or_nearest(parent, kinds != NONE)[rows]
    phase = lookup(kinds, around, NONE)
    by_name = np.full(len(trace.strings) + 1, OTHER, np.int8)
    for purpose, files in ((DATA, (_LOADERS,)), (OPTIMIZER, _UPDATES), (PROFILER, _PROFILERS)):
        by_name[flag_names(trace.strings, functools.partial(_is_in, files))] = purpose
    found: I8 = by_name[name[rows]]
    resets = flag_names(trace.strings, _RESET.search)
    found[resets[name[rows]]] = OPTIMIZER
    for i in np.flatnonzero(rows < len(ops)).tolist():
        if kind_of(trace.text(name[rows[i]]), trace.vendor) == "communication":
            found[i] = COMMUNICATION
    for value, purpose in (
        (LOADING, DATA), (IN_ENGINE, BACKWARD), (STEPPING, OPTIMIZER), (RESETTING, OPTIMIZER),
    ):  # fmt: skip
        found[phase == value] = purpose
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
