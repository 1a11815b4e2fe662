"""Find the user's function that operators, calls or times belong to, by either stack encoding.

Lists have the innermost function that is not known to be a library's. Where one function is named,
the user's own is preferred.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import library_frames, module_of
from tb_privateuse1.analysis.operators.function_names import (
    ProgramFunction,
    function_of,
    function_title,
    user_frames,
)
from tb_privateuse1.analysis.operators.groups import frame_stack
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import highest, lookup
from tb_privateuse1.trace.groupby import distinct_values
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import FRAME, NONE, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_MOST = 200
"""Only this many of the longest calls are read: each stack is read separately."""

_FEW = 20
"""The same where all frames are searched for each."""


class _Stack(Struct, frozen=True):
    frames: str
    """Innermost first, joined by ``;``."""
    begins: bool
    """Whether their lines are those where the functions begin, else those of the calls."""
    called: str = ""
    """What the innermost frame calls: an operator, or a call of the runtime."""


def listed_title(trace: Trace, frames: str, *, begins: bool) -> str | None:
    """Return the title of a stack's innermost function outside of libraries.

    ``frames`` are those of a stack, innermost first, joined by ``;``. None if none has a line.
    """
    names = frames.split(";")
    at = library_frames.innermost(names)
    return None if at is None else function_title(trace, names[at], begins=begins)


def listed_of(
    trace: Trace, stack: int | np.integer[Any], function: int | np.integer[Any]
) -> str | None:
    """Return the title of the function of a row of ``operator_functions``."""
    if text := trace.text(stack):
        return listed_title(trace, text, begins=False)
    return function_title(trace, trace.text(function), begins=True) or None


@memoize
def frame_functions(trace: Trace) -> I32:
    """Return the innermost function outside of libraries of each row of ``trace.frames``.

    It is the string of the frame itself or of one around it, or NONE.
    """
    frames = trace.frames
    return _nearest(trace, frames.name, frames.parent)


@memoize
def captured_functions(trace: Trace) -> I32:
    """Return the same of each row of ``trace.captures``."""
    captures = trace.captures
    name = np.where(captures.kind == FRAME, captures.name, NONE).astype(np.int32)
    return _nearest(trace, name, captures.parent)


def _nearest(trace: Trace, name: I32, parent: I32) -> I32:
    own, foreign = np.zeros((2, len(trace.strings) + 1), np.bool_)  # the last one is that of NONE
    for i in distinct_values(name[name >= 0]).tolist():
        text = trace.text(i)
        if library_frames.LINED.match(text):
            own[i] = not library_frames.is_library(text)
            foreign[i] = not library_frames.is_torch(text)
    nearest = [call_tree.self_or_nearest(parent, wanted[name]) for wanted in (own, foreign)]
    return lookup(name, np.where(nearest[0] >= 0, *nearest).astype(np.int32), NONE)


def operator_functions(trace: Trace) -> tuple[I32, I32]:
    """Return the strings of the stack and of the innermost function of each operator.

    An operator of the backward pass has no Python stack: it has its forward operator's.
    """
    ops = trace.ops
    function = lookup(frame_functions(trace), ops.frame, NONE)
    ahead = module_of.forward_operators(trace)
    own = (ops.stack >= 0) | (function >= 0) | (ahead < 0)
    return _choose(own, ops.stack, ahead), _choose(own, function, ahead)


def _choose(own: Bools, column: I32, ahead: I32) -> I32:
    """Return a column's own values, and elsewhere those of the forward operators."""
    return np.where(own, column, lookup(column, ahead, NONE)).astype(np.int32)


def of_operators(trace: Trace, ops: I64, weight_ns: I64 | None = None) -> ProgramFunction | None:
    """Return the function with most of the host time of these operators, or of their weights.

    ``ops`` are rows of ``trace.ops``. None without stacks.
    """
    if not len(ops) or not (len(trace.frames) or (trace.ops.stack[ops] >= 0).any()):
        return None
    weight = trace.ops.end_ns[ops] - trace.ops.start_ns[ops] if weight_ns is None else weight_ns
    longest = highest(weight, _MOST)
    return _heaviest(trace, ((_of_operator(trace, int(ops[i])), int(weight[i])) for i in longest))


def of_launches(
    trace: Trace, launches: I64, weight_ns: I64 | None = None
) -> ProgramFunction | None:
    """Return the function with most of the time, or weight, of rows of ``trace.launches``.

    Only the longest are read. None without Python frames.
    """
    calls = trace.launches
    if not len(trace.frames) or not len(launches):
        return None
    duration = calls.end_ns[launches] - calls.start_ns[launches]
    weight = duration if weight_ns is None else weight_ns
    longest = highest(weight, _MOST)
    return _heaviest(
        trace, ((_of_launch(trace, int(launches[i])), int(weight[i])) for i in longest)
    )


def of_frame(trace: Trace, frame: int) -> ProgramFunction | None:
    """Return the user's function around a row of ``trace.frames``, or that row's own."""
    return _heaviest(trace, [(_Stack(frame_stack(trace, frame) or "", begins=True), 0)])


def of_stack(trace: Trace, frames: str, *, begins: bool) -> ProgramFunction | None:
    """Return the function of a stack; its frames are innermost first, joined by ``;``."""
    return _heaviest(trace, [(_Stack(frames, begins), 0)])


def of_times(
    trace: Trace, thread: I32, start_ns: I64, end_ns: I64, op: I32 | None = None
) -> ProgramFunction | None:
    """Return the function in which threads were for most of some times.

    Only the longest times are read, each in its middle. Where a thread is in no Python function, as
    those of the backward pass, it is that of ``op``: the row of the operator at that time.
    """
    if not len(trace.frames):
        return None
    duration = end_ns - start_ns
    longest = np.argsort(-duration, kind="stable")[:_FEW].tolist()
    middle = start_ns + duration // 2
    rows = np.full(len(thread), NONE) if op is None else op
    return _heaviest(
        trace,
        (
            (_at(trace, int(thread[i]), int(middle[i]), int(rows[i])), int(duration[i]))
            for i in longest
        ),
    )


def of_moment(trace: Trace, thread: int, at_ns: int) -> ProgramFunction | None:
    """Return the function that a thread was in at a time; None without Python frames."""
    return _heaviest(trace, [(_at(trace, thread, at_ns, NONE), 0)])


def frames_at(trace: Trace, thread: int, at_ns: int) -> I64:
    """Return the rows of the Python frames that a thread was in at a time, innermost first."""
    frames = trace.frames
    open_ = (frames.start_ns <= at_ns) & (frames.end_ns > at_ns) & (frames.thread == thread)
    rows = np.flatnonzero(open_)
    return rows[np.argsort(frames.start_ns[rows] - frames.end_ns[rows], kind="stable")][::-1]


def _of_operator(trace: Trace, row: int) -> _Stack:
    """Return the stack of an operator, or of its forward operator without one."""
    ops = trace.ops
    name = trace.text(ops.name[row])
    ahead = int(module_of.forward_operators(trace)[row])
    for one in (row, ahead):
        if one >= 0 and ops.stack[one] >= 0 and trace.text(ops.stack[one]):
            return _Stack(trace.text(ops.stack[one]), begins=False, called=name)
        if one >= 0 and ops.frame[one] >= 0:
            called = trace.text(ops.name[one])
            return _Stack(frame_stack(trace, int(ops.frame[one])) or "", True, called)
    return _Stack("", begins=True)


def _of_launch(trace: Trace, row: int) -> _Stack:
    frames = frame_stack(trace, int(trace.launches.frame[row])) or ""
    op = int(trace.launches.op[row])
    if not frames and op >= 0:
        return _of_operator(trace, op)
    name = trace.ops.name[op] if op >= 0 else trace.launches.name[row]
    return _Stack(frames, begins=True, called=trace.text(name))


def _at(trace: Trace, thread: int, at_ns: int, op: int) -> _Stack:
    names = trace.frames.name[frames_at(trace, thread, at_ns)]
    if not len(names) and op >= 0:
        return _of_operator(trace, op)
    called = trace.text(trace.ops.name[op]) if op >= 0 else ""
    return _Stack(";".join(trace.text(name) for name in names), begins=True, called=called)


def _heaviest(trace: Trace, stacks: Iterable[tuple[_Stack, int]]) -> ProgramFunction | None:
    """Return the function with most of the weights, and the call with most of its weight."""
    chosen = functools.cache(functools.partial(_chosen, user_frames(trace)))
    weight: dict[tuple[str, bool], dict[tuple[str, str], int]] = {}
    for stack, ns in stacks:
        frame, called, inner = chosen(stack.frames)
        if frame:
            calls = weight.setdefault((frame, stack.begins), {})
            call = (called or stack.called, inner)
            calls[call] = calls.get(call, 0) + ns + 1
    if not weight:
        return None
    frame, begins = max(weight, key=lambda key: sum(weight[key].values()))
    calls = weight[frame, begins]
    return function_of(trace, frame, *max(calls, key=lambda call: calls[call]), begins=begins)


def _chosen(recorded: Collection[str], stack: str) -> tuple[str, str, str]:
    """Return the user's frame of a stack, what it calls, and the innermost outside of torch."""
    frames = stack.split(";")
    at, inner = library_frames.users(frames, recorded), library_frames.innermost(frames)
    if at is None or inner is None:
        return "", "", ""
    return frames[at], frames[at - 1] if at else "", frames[min(at, inner)]
