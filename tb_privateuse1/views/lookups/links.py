"""List what belongs to one range: launcher, kernels, frames, forward and backward.

From a kernel: its launch, its operator, the Python frames around that. From an operator: the
operators and frames around it, its kernels, its forward or backward counterpart. From a launch:
its kernels.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import groups, module_of, user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.analysis.timeline.level_of_detail import Pyramid
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import (
    call_tree,
    device_times,
    intervals,
    kernel_context,
    labels,
    uncertainty,
)
from tb_privateuse1.trace.model import EVIDENCE, MISSING, NONE, OPERATOR, Evidence, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I32, I64, Bools
from tb_privateuse1.views.lookups.event_items import ON_LANES, Item, TableName, check, item

_MOST = 200


class Captured(Struct, frozen=True):
    """The place of a kernel's launch in the capture of its graph."""

    operator: str | None
    module: str | None
    stack: str | None
    """Python frames, innermost first, separated by ``;``."""
    where: ProgramFunction | None


class Links(Struct, frozen=True):
    """The result of the lookup; ``item`` is the range that was asked about."""

    item: Item
    unix_us: int | None
    """When it started by the machine's clock, in us since 1970 (UTC); null where the recording has
    another clock."""
    evidence: Evidence | None
    """Of a kernel: how its time is known."""
    duration_bound_ns: int | None
    self_ns: int | None
    """Of a host range: its time less that of the ranges directly inside."""
    elapsed_ns: int | None
    """Of an operator: the device time between its two events, if it has them."""
    shapes: str | None
    dtypes: str | None
    stack: str | None
    place: str
    """The thread or the lane."""
    step: str | None
    launch: Item | None
    """Of a kernel: the runtime's call."""
    node: int | None
    """Of a kernel whose launch started several: its number among them by start, counted from 1, as
    of a graph's replay; null for one alone."""
    nodes: int | None
    """How many that launch started."""
    operator: Item | None
    """Of a kernel or a launch: who made it."""
    captured: Captured | None
    """Of a kernel of a graph's replay, where the capture was recorded."""
    parents: tuple[Item, ...]
    """The operators and annotations around it, or its operator, the innermost first."""
    frames: tuple[Item, ...]
    """The Python frames around it, the innermost first."""
    where: ProgramFunction | None
    """The user's function around it, with the line of the call where that is known. Of the backward
    pass, whose threads run no Python, that of the forward operator."""
    where_forward: bool
    """Whether it is that of the forward operator."""
    kernels: tuple[Item, ...]
    """Of an operator: the device activities that it and the operators inside launched; of a launch
    its own, such as all of a graph."""
    kernels_count: int | None
    kernels_ns: int | None
    """Null if these are not known: without device times, or if a stream is missing."""
    kernels_bound_ns: int | None
    """How far off their time may be; 0 if measured, null if that is not known."""
    forward: Item | None
    """Of a backward operator."""
    backward: tuple[Item, ...]
    """Of a forward operator."""
    annotation: bool
    """Whether it is a range of ``record_function``, which no table of operators has."""
    module: str | None
    """The innermost nn.Module around it or its forward operator, or that it is."""
    collective: str | None
    """The kind of communication that it is."""
    memory_events: int
    """Of a host range of operators: the memory events in it and in what is inside."""

    source = renamed("source", "where")
    source_forward = renamed("source_forward", "where_forward")


def links(
    trace: Trace,
    pyramid: Pyramid,
    *,
    table: Annotated[TableName, "the table that has the range"] = "kernels",
    index: Annotated[int, "row of the range in the table"] = 0,
) -> Links:
    """Return the events linked to one range.

    Raises TraceError ``unknown_row``.
    """
    check(trace, table, index)
    kernel = index if table == "kernels" else NONE
    launch, op, frame = _origin(trace, table, index)
    kernels = launched_kernels(trace, table, index)
    of_kernels = trace.kernels.end_ns[kernels] - trace.kernels.start_ns[kernels]
    within = op if op >= 0 or launch < 0 else int(trace.launches.around[launch])
    around = _chain(trace.ops.parent, within)
    frames = _chain(trace.frames.parent, frame)
    above = frames or _forward_frames(trace, op)
    if table == "frames":
        frames = frames[1:]
    forward, backward = _counterparts(trace, op) if table == "ops" else (NONE, [])
    rows = getattr(trace, table)
    one = trace.ops if table == "ops" else None
    return Links(
        item=item(trace, pyramid, table, index),
        unix_us=labels.unix_us(trace, int(rows.start_ns[index])),
        evidence=EVIDENCE[trace.kernels.evidence[kernel]] if kernel >= 0 else None,
        duration_bound_ns=_known(trace.kernels.duration_bound_ns[kernel]) if kernel >= 0 else None,
        self_ns=int(rows.self_ns[index]) if table in ("ops", "frames") else None,
        elapsed_ns=_known(one.elapsed_ns[index]) if one else None,
        shapes=(trace.text(one.shapes[index]) or None) if one else None,
        dtypes=(trace.text(one.dtypes[index]) or None) if one else None,
        stack=(trace.text(trace.ops.stack[op]) or None) if op >= 0 else None,
        place=_place(trace, table, index),
        step=_step(trace, table, index),
        launch=_item(trace, pyramid, "launches", launch if table == "kernels" else NONE),
        **_node(trace, kernel, launch),
        operator=_item(trace, pyramid, "ops", op if table != "ops" else NONE),
        captured=_captured(trace, kernel),
        parents=tuple(item(trace, pyramid, "ops", row) for row in around[op >= 0 :]),
        frames=tuple(item(trace, pyramid, "frames", row) for row in frames[:_MOST]),
        where=_where(trace, table, index, op, frame),
        where_forward=not frames and bool(above) and table != "frames",
        kernels=tuple(item(trace, pyramid, "kernels", row) for row in kernels[:_MOST]),
        kernels_count=device_times.known_sum(trace, len(kernels)),
        kernels_ns=device_times.known_sum(trace, int(of_kernels.sum())),
        kernels_bound_ns=uncertainty.duration_sum_bound(trace.kernels.take(kernels))
        if device_times.all_known(trace)
        else None,
        forward=_item(trace, pyramid, "ops", forward),
        backward=tuple(item(trace, pyramid, "ops", row) for row in backward[:_MOST]),
        annotation=table == "device_annotations" or bool(one and one.kind[index] != OPERATOR),
        module=_module(trace, above),
        collective=_collective(trace, table, index),
        memory_events=int(_family(trace, op)[trace.memory.op].sum()) if table == "ops" else 0,
    )


def _origin(trace: Trace, table: TableName, index: int) -> tuple[int, int, int]:
    """Return the launch, the operator and the innermost Python frame of a range."""
    launch = op = frame = NONE
    if table == "kernels":
        launch, op = int(trace.kernels.launch[index]), int(trace.kernels.op[index])
    elif table == "launches":
        launch, op = index, int(trace.launches.op[index])
    elif table == "ops":
        op = index
    elif table == "frames":
        return NONE, NONE, index
    if op >= 0:
        frame = int(trace.ops.frame[op])
    elif launch >= 0:
        frame = int(trace.launches.frame[launch])
    return launch, op, frame


def _node(trace: Trace, kernel: int, launch: int) -> dict[str, Any]:
    """Return the place of a kernel among those of its launch, and their number."""
    same = np.flatnonzero(trace.kernels.launch == launch)
    if kernel < 0 or launch < 0 or len(same) < 2:
        return {"node": None, "nodes": None}
    return {"node": int(np.searchsorted(same, kernel)) + 1, "nodes": len(same)}


def _captured(trace: Trace, kernel: int) -> Captured | None:
    if kernel < 0 or trace.kernels.capture[kernel] < 0:
        return None
    one = trace.kernels.take(np.array([kernel]))
    stack = kernel_context.captured_stack(trace, int(one.capture[0]))
    return Captured(
        operator=trace.text(kernel_context.captured_operators(trace, one)[0]) or None,
        module=groups.module_title(trace.text(kernel_context.captured_modules(trace, one)[0])),
        stack=stack,
        where=user_functions.of_stack(trace, stack or "", begins=True),
    )


def _chain(parent: I32, row: int) -> list[int]:
    """Return a row and its ancestors."""
    found: list[int] = []
    while row >= 0 and len(found) <= _MOST:
        found.append(row)
        row = int(parent[row])
    return found


def _forward_frames(trace: Trace, op: int) -> list[int]:
    """Return the Python frames around the forward operator of a backward one."""
    forward = int(module_of.forward_operators(trace)[op]) if op >= 0 and len(trace.frames) else NONE
    return _chain(trace.frames.parent, int(trace.ops.frame[forward])) if forward >= 0 else []


def launched_kernels(trace: Trace, table: TableName, index: int) -> I64:
    """Return the rows of activities that a launch, or an operator and its descendants, started."""
    if table == "launches":
        return np.flatnonzero(trace.kernels.launch == index)
    if table == "ops":
        return np.flatnonzero(_family(trace, index)[trace.kernels.op])
    return np.empty(0, np.int64)


def _family(trace: Trace, op: int) -> Bools:
    """Which operators are one, or inside it; the last entry is for ``NONE``."""
    ops = trace.ops
    last = int(np.searchsorted(ops.thread, ops.thread[op], side="right"))
    # By thread and start: what is inside follows its operator.
    behind = op + 1 + int(np.searchsorted(ops.start_ns[op + 1 : last], ops.end_ns[op]))
    parent = np.maximum(ops.parent[op:behind] - op, NONE)
    itself = np.arange(behind - op) == 0
    family = itself | (intervals.nearest(parent, itself) >= 0)
    found = np.zeros(len(ops) + 1, np.bool_)
    found[op:behind] = family
    return found


def _module(trace: Trace, frames: list[int]) -> str | None:
    names = (trace.text(trace.frames.name[row]) for row in frames if row >= 0)
    return next(
        (groups.module_title(name) for name in names if name.startswith(call_tree.MODULE)), None
    )


def _collective(trace: Trace, table: TableName, index: int) -> str | None:
    collectives = trace.collectives
    if table not in ("kernels", "ops"):
        return None
    column = collectives.kernel if table == "kernels" else collectives.op
    own = np.flatnonzero(column == index)
    return trace.text(collectives.kind[own[0]]) if len(own) else None


def _counterparts(trace: Trace, op: int) -> tuple[int, list[int]]:
    """Return the forward operator of a backward one, or the backward operators of a forward one."""
    ops = trace.ops
    if ops.sequence[op] < 0:
        return NONE, []
    same = np.flatnonzero((ops.sequence == ops.sequence[op]) & (ops.kind == OPERATOR))
    back = ops.forward_thread[same] > 0
    if ops.forward_thread[op] > 0:
        forward = same[~back]
        return (int(forward[-1]) if len(forward) else NONE), []
    return NONE, same[back & (same != op)].tolist()


def _where(
    trace: Trace, table: TableName, index: int, op: int, frame: int
) -> ProgramFunction | None:
    if table == "frames":
        return user_functions.of_frame(trace, index)
    if op >= 0:
        return user_functions.of_operators(trace, np.array([op]))
    return user_functions.of_frame(trace, frame) if frame >= 0 else None


def _place(trace: Trace, table: TableName, index: int) -> str:
    if table == "steps":
        return ""
    if table in ON_LANES:
        return labels.stream(trace, int(getattr(trace, table).lane[index]))
    threads, thread = trace.threads, getattr(trace, table).thread[index]
    tid = trace.text(threads.tid[thread])
    return trace.text(threads.name[thread]) or say("thread {tid}", tid=tid)


def _step(trace: Trace, table: TableName, index: int) -> str | None:
    rows = getattr(trace, table)
    step = int(rows.step[index]) if table in ("ops", "kernels") else NONE
    return trace.text(trace.steps.name[step]) if step >= 0 else None


def _known(value: np.int64) -> int | None:
    return None if value == MISSING else int(value)


def _item(trace: Trace, pyramid: Pyramid, table: TableName, index: int) -> Item | None:
    return item(trace, pyramid, table, index) if index >= 0 else None
