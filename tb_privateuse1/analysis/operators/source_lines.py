"""Find the line of the user's program that called an operator, by either stack encoding."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from tb_privateuse1.analysis.operators import module_of
from tb_privateuse1.analysis.operators.groups import frame_stack, python_stack
from tb_privateuse1.analysis.operators.library_frames import is_library, is_torch
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import FRAME, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_LINE = re.compile(r"\.py\(\d+\): ")

_MOST = 200
"""Only this many of the longest calls are read: each stack is read separately."""

_FEW = 20
"""The same where all frames are searched for each."""


def user_line(frames: str) -> str | None:
    """Return the innermost frame of the user's own code, as ``train.py(12): step``.

    ``frames`` are those of a stack, innermost first, joined by ``;`` (the operator's argument
    ``Call stack``, or the names of its Python frames). If all belong to libraries, it is the
    innermost one outside of torch; None if none has a line.
    """
    lined = [frame for frame in frames.split(";") if _LINE.search(frame)]
    for frame in lined:
        if not is_library(frame):
            return frame
    return next((frame for frame in lined if not is_torch(frame)), None)


@memoize
def frame_lines(trace: Trace) -> I32:
    """Return the user's line (``user_line``) of each row of ``trace.frames``: a string, or NONE.

    It is the name of the frame itself or of one around it.
    """
    frames = trace.frames
    return _nearest_lines(trace, frames.name, frames.parent)


@memoize
def captured_lines(trace: Trace) -> I32:
    """Return the same of each row of ``trace.captures``."""
    captures = trace.captures
    name = np.where(captures.kind == FRAME, captures.name, NONE).astype(np.int32)
    return _nearest_lines(trace, name, captures.parent)


def _nearest_lines(trace: Trace, name: I32, parent: I32) -> I32:
    own, foreign = np.zeros((2, len(trace.strings) + 1), np.bool_)  # the last one is that of NONE
    for i in np.unique(name[name >= 0]).tolist():
        text = trace.text(i)
        if _LINE.search(text):
            own[i], foreign[i] = not is_library(text), not is_torch(text)
    nearest = [call_tree.self_or_nearest(parent, wanted[name]) for wanted in (own, foreign)]
    return lookup(name, np.where(nearest[0] >= 0, *nearest).astype(np.int32), NONE)


def operator_lines(trace: Trace) -> tuple[I32, I32]:
    """Return the strings of the stack and of the user's line of each operator.

    An operator of the backward pass has no Python stack: it has its forward operator's.
    """
    ops = trace.ops
    line = lookup(frame_lines(trace), ops.frame, NONE)
    ahead = module_of.forward_operators(trace)
    own = (ops.stack >= 0) | (line >= 0) | (ahead < 0)
    return _choose(own, ops.stack, ahead), _choose(own, line, ahead)


def _choose(own: Bools, column: I32, ahead: I32) -> I32:
    """Return a column's own values, and elsewhere those of the forward operators."""
    return np.where(own, column, lookup(column, ahead, NONE)).astype(np.int32)


def operator_line(trace: Trace, ops: I64, weight_ns: I64 | None = None) -> str | None:
    """Return the user's line with most of the host time of these operators, or of their weights.

    ``ops`` are rows of ``trace.ops``. None without stacks.
    """
    if not len(ops) or not (len(trace.frames) or (trace.ops.stack[ops] >= 0).any()):
        return None
    weight = trace.ops.end_ns[ops] - trace.ops.start_ns[ops] if weight_ns is None else weight_ns
    longest = np.argsort(-weight, kind="stable")[:_MOST]
    return _heaviest(
        (user_line(python_stack(trace, int(ops[i])) or ""), int(weight[i]) + 1) for i in longest
    )


def _heaviest(lines: Iterable[tuple[str | None, int]]) -> str | None:
    weight: dict[str, int] = {}
    for text, ns in lines:
        if text is not None:
            weight[text] = weight.get(text, 0) + ns
    return max(weight, key=lambda text: weight[text], default=None)


def launch_line(trace: Trace, launches: I64) -> str | None:
    """Return the user's line with most of the time of these runtime calls.

    ``launches`` are rows of ``trace.launches``; only the longest are read. None without Python
    frames.
    """
    calls = trace.launches
    if not len(trace.frames) or not len(launches):
        return None
    duration = calls.end_ns[launches] - calls.start_ns[launches]
    lines = []
    for i in np.argsort(-duration, kind="stable")[:_MOST]:
        stack = frame_stack(trace, int(calls.frame[launches[i]]))
        lines.append((user_line(stack or ""), int(duration[i]) + 1))
    return _heaviest(lines)


def line_at(trace: Trace, thread: int, at_ns: int) -> str | None:
    """Return the user's line that a thread was in at a time; None without Python frames."""
    names = trace.frames.name[frames_at(trace, thread, at_ns)]
    return user_line(";".join(trace.text(name) for name in names))


def line_of_most(trace: Trace, thread: I32, start_ns: I64, end_ns: I64) -> str | None:
    """Return the user's line in which threads were for most of some times.

    Only the longest times are read, each in its middle. None without Python frames.
    """
    if not len(trace.frames):
        return None
    duration = end_ns - start_ns
    longest = np.argsort(-duration, kind="stable")[:_FEW].tolist()
    middle = start_ns + duration // 2
    return _heaviest(
        (line_at(trace, int(thread[i]), int(middle[i])), int(duration[i])) for i in longest
    )


def frames_at(trace: Trace, thread: int, at_ns: int) -> I64:
    """Return the rows of the Python frames that a thread was in at a time, innermost first."""
    frames = trace.frames
    open_ = (frames.start_ns <= at_ns) & (frames.end_ns > at_ns) & (frames.thread == thread)
    rows = np.flatnonzero(open_)
    return rows[np.argsort(frames.start_ns[rows] - frames.end_ns[rows], kind="stable")][::-1]
