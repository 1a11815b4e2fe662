"""The account of time: sum the intervals of a window by class, with bounds and the longest ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account import classification
from tb_privateuse1.analysis.account.bounds import doubtful_time
from tb_privateuse1.analysis.account.class_intervals import ClassIntervals, within
from tb_privateuse1.analysis.account.classes import CLASSES, IDLE, NAMES, NUMBER, ClassName, Group
from tb_privateuse1.analysis.account.host_activity import LAUNCHES, TABLES
from tb_privateuse1.analysis.account.missing_evidence import missing_records
from tb_privateuse1.analysis.operators import groups, kinds_of_work, user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction, function_title
from tb_privateuse1.analysis.steps import bounds as steps_bounds
from tb_privateuse1.trace import (
    device_times,
    groupby,
    intervals,
    kernel_context,
    labels,
    processes,
    uncertainty,
)
from tb_privateuse1.trace.columns import highest, lookup
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import NONE, Frames, Trace
from tb_privateuse1.trace.renamed import renamed
from tb_privateuse1.trace.table import I32, I64, Bools

_LARGEST = 5
"""A list of examples: no figure depends on its length."""
_PARTS = 8
"""The names that are shown. In 77 % of 701 classes of the shared recordings
they have 95 % of the time; 4 names have it in 61 %, 16 in 86 %."""


class LargestInterval(Struct, frozen=True):
    """One interval of a class, and the event that is responsible for it."""

    start_ns: int
    duration_ns: int
    table: TableName | None
    row: int | None
    """The responsible row of that table; null without one."""
    name: str
    """The name of the responsible event; empty without one."""
    place: str
    """The host thread or the stream of that event; empty without one."""
    where: ProgramFunction | None
    """The function of the user's program; null without Python stacks."""

    source = renamed("source", "where")


class AccountPart(Struct, frozen=True):
    """The time of a class under one name: a kind of work of kernels, else a call or operator."""

    name: str
    ns: int
    share: float
    """Of the window, 0 to 1."""


class ClassTime(Struct, frozen=True):
    """The time of one class in the window."""

    name: ClassName
    group: Group
    label: str
    meaning: str
    ns: int
    bound_ns: int | None
    """How far off ``ns`` may be; 0 if measured, null if that is not known."""
    share: float
    """Of the window, 0 to 1."""
    stretches: int
    parts: tuple[AccountPart, ...]
    """The names with the most time, at most 8. Of Python, those of the innermost frames."""
    largest: tuple[LargestInterval, ...]
    """The longest intervals, at most 5."""


class Account(Struct, frozen=True):
    """The classes of a window that have time; their ``ns`` sum to ``window_ns``."""

    window_ns: int
    idle_ns: int
    """The time of all classes but those of the device: nothing ran on it."""
    idle_bound_ns: int | None
    classes: tuple[ClassTime, ...]
    missing: tuple[str, ...]
    """What the recording lacks to explain more of the time, in sentences."""


class Cause(Struct, frozen=True):
    """The call or operator with most of a time, the operator around it, and the function."""

    name: str
    """Empty if no event is responsible."""
    operator: str
    """The operator around a call; empty without one."""
    where: ProgramFunction | None
    """The user's function with most of that time; None without Python stacks."""


def has_account(trace: Trace) -> bool:
    """Return whether device and idle time of a process are known: with times, or no device."""
    known = len(trace.kernels) > 0 or device_times.known_times(trace) == "host"
    return known and not processes.is_joined(trace)


def account_table(
    trace: Trace,
    window: intervals.Set,
    device: int | None = None,
    *,
    window_bound_ns: int | None = 0,
    detailed: bool = True,
) -> Account:
    """Return the time of each class in a window (a set of the trace's times), the longest first.

    ``device`` is a device's number; None joins all devices. ``window_bound_ns`` is how far off the
    window's length may be, None if that is not known. Without ``detailed`` classes have no
    ``parts`` and no ``largest``; ``with_details`` adds them to one class.
    """
    inside = within(classification.classify_time(trace, device), window)
    length = inside.end_ns - inside.start_ns
    total = groupby.sums(inside.time_class.astype(np.int64), length, len(NAMES))
    doubt = doubtful_time(trace, window, device, window_bound_ns)
    whole = intervals.length(window)
    of_class = dict(groupby.split_by_value(inside.time_class))
    order = [i for i in np.argsort(-total, kind="stable").tolist() if total[i]]
    idle = sum(int(total[i]) for i in order if CLASSES[i].group != "device")
    shares = {NAMES[i]: int(total[i]) / whole for i in order}
    classes = [
        ClassTime(
            name=CLASSES[i].name,
            group=CLASSES[i].group,
            label=CLASSES[i].label,
            meaning=CLASSES[i].meaning,
            ns=int(total[i]),
            bound_ns=None
            if doubt is None
            else min(doubt.of(CLASSES[i], int(total[i]), idle), whole),
            share=shares[NAMES[i]],
            stretches=len(of_class[i]),
            parts=(),
            largest=(),
        )
        for i in order
    ]
    if detailed:
        own = [inside.take(of_class[i]) for i in order]
        classes = [with_details(trace, *one, whole) for one in zip(classes, own, strict=True)]
    return Account(
        window_ns=whole,
        idle_ns=idle,
        idle_bound_ns=None if doubt is None else min(doubt.busy_ns, whole),
        classes=tuple(classes),
        missing=tuple(missing_records(trace, shares, inside)),
    )


def with_details(trace: Trace, time: ClassTime, own: ClassIntervals, window_ns: int) -> ClassTime:
    """Return the time of a class with its names and longest intervals; ``own`` are its intervals.

    ``window_ns`` is the length of the account's window.
    """
    return replace(
        time,
        parts=tuple(_parts(trace, own, window_ns)),
        largest=tuple(_largest(trace, own)),
    )


class StepClass(Struct, frozen=True):
    """The time of one class in a step's window, or on average over steps."""

    name: ClassName
    label: str
    ns: int


def step_class(name: ClassName, ns: int) -> StepClass:
    """Build the time of a class, with its label."""
    return StepClass(name, CLASSES[NUMBER[name]].label, ns)


class StepAccount(Struct, frozen=True):
    """The account of a step's window; the classes sum to its length."""

    name: str
    """The step's name."""
    idle_ns: int
    idle_bound_ns: int | None
    classes: tuple[StepClass, ...]
    """Those with time, in the order of ``classes.NAMES``."""


def step_accounts(trace: Trace, rows: slice) -> tuple[StepAccount, ...]:
    """Return the account of the window of the steps in some rows, in order of time."""
    steps = trace.steps.take(np.arange(len(trace.steps))[rows])
    times = class_times(trace, steps.start_ns, steps.end_ns)
    idle = sum((times[name] for name in IDLE if name in times), np.zeros(len(steps), np.int64))
    bounds = steps_bounds.idle_bounds(trace, idle)
    return tuple(
        StepAccount(
            name=trace.text(steps.name[i]),
            idle_ns=int(idle[i]),
            idle_bound_ns=uncertainty.known_bound(bounds[i]),
            classes=tuple(step_class(name, int(ns[i])) for name, ns in times.items() if ns[i]),
        )
        for i in range(len(steps))
    )


def class_times(
    trace: Trace, start_ns: I64, end_ns: I64, within: intervals.Set | None = None
) -> Mapping[ClassName, I64]:
    """Return the ns of each class in each interval [start, end); they sum to its length.

    Only classes with time in the recording are there. The intervals may overlap. With ``within``,
    only these instants count.
    """
    return {
        name: intervals.covered_length(
            times if within is None else intervals.intersect(times, within), start_ns, end_ns
        )
        for name, times in classification.class_sets(trace).items()
    }


def _parts(trace: Trace, own: ClassIntervals, whole_ns: int) -> Iterator[AccountPart]:
    """Yield the names of a class with the most time."""
    if own.time_class[0] == NUMBER["python"] and len(trace.frames):
        name, length = _frame_times(trace, own)
        texts: Callable[[int], str] = functools.partial(_frame_title, trace)
    else:
        length = own.end_ns - own.start_ns
        name, texts = _names(trace, own)
    first, group = groupby.group_rows(name)
    total = groupby.sums(group, length, len(first))
    for i in np.argsort(-total, kind="stable")[:_PARTS].tolist():
        text = texts(int(name[first[i]]))
        if text and total[i]:
            yield AccountPart(name=text, ns=int(total[i]), share=int(total[i]) / whole_ns)


def _frame_title(trace: Trace, name: int) -> str:
    return function_title(trace, trace.text(name), begins=True)


def _frame_times(trace: Trace, own: ClassIntervals) -> tuple[I64, I64]:
    """Return names of Python frames and the time in which each frame was the innermost one."""
    frames = trace.frames
    times = (own.start_ns, own.end_ns)
    others = ~np.isin(frames.thread, groupby.distinct_values(own.thread))
    length = _own_length(frames.parent, times, frames.start_ns, frames.end_ns, others)
    if length.sum() > intervals.length(times):  # calls that overlap: a file may have events twice
        start = _behind_siblings(frames)
        length = _own_length(frames.parent, times, start, frames.end_ns, others)
    return frames.name.astype(np.int64), length


def _own_length(
    parent: I32, times: intervals.Set, start_ns: I64, end_ns: I64, others: Bools
) -> I64:
    """Return the part of ``times`` in each frame and in none inside of it; 0 for ``others``."""
    inside = intervals.covered_length(times, start_ns, end_ns)
    inside[others] = 0
    return np.maximum(groupby.without_children(parent, inside), 0)


def _behind_siblings(frames: Frames) -> I64:
    """Return the start of each frame, behind the ends of earlier ones with the same caller.

    What is inside of a frame begins behind that, too.
    """
    order = np.lexsort((frames.start_ns, frames.parent, frames.thread))
    thread, parent = frames.thread[order], frames.parent[order]
    first = np.append(True, (thread[1:] != thread[:-1]) | (parent[1:] != parent[:-1]))
    reach = intervals.running_max(frames.end_ns[order], np.cumsum(first))
    start = frames.start_ns.copy()
    start[order[1:]] = np.where(
        first[1:], start[order[1:]], np.maximum(start[order[1:]], reach[:-1])
    )
    callers = np.maximum(frames.parent, 0)
    while (late := np.where(frames.parent >= 0, start[callers], start) > start).any():
        start[late] = start[callers[late]]
    return start


def _names(trace: Trace, own: ClassIntervals) -> tuple[I64, Callable[[int], str]]:
    """Return a number per interval, and the function that returns the text of a number.

    Kernels are named by the kind of work of their operator, or without one by their own name;
    others by the responsible event.
    """
    if own.time_class[0] == NUMBER["kernel"]:
        kind = groups.name_categories(trace)
        operator = kernel_context.operator_names(trace, trace.kernels)[own.row]
        name = np.where(operator >= 0, operator, trace.kernels.name[own.row])
        return kind[name].astype(np.int64), lambda number: kinds_of_work.KINDS[number]
    name = np.full(len(own), NONE)
    for number, table in enumerate(TABLES):
        here = (own.table == number) & (own.row >= 0)
        name[here] = getattr(trace, table).name[own.row[here]]
    return name.astype(np.int64), trace.text


def _largest(trace: Trace, own: ClassIntervals) -> Iterator[LargestInterval]:
    length = own.end_ns - own.start_ns
    for i in highest(length, _LARGEST).tolist():
        table, row = _responsible(trace, own, i)
        columns = getattr(trace, table)
        yield LargestInterval(
            start_ns=int(own.start_ns[i]),
            duration_ns=int(length[i]),
            table=table if row >= 0 else None,
            row=row if row >= 0 else None,
            name=trace.text(columns.name[row]) if row >= 0 else "",
            place=labels.place(trace, columns, row) if row >= 0 else "",
            where=function_of_intervals(trace, own.take(np.array([i]))),
        )


def _responsible(trace: Trace, own: ClassIntervals, i: int) -> tuple[TableName, int]:
    """Return the table and row of an interval's event; of Python, the innermost frame in it.

    Its outermost frame is the whole program.
    """
    if own.time_class[i] == NUMBER["python"]:
        frames = user_functions.frames_at(trace, int(own.thread[i]), _middle(own, i))
        if len(frames):
            return "frames", int(frames[0])
    return TABLES[own.table[i]], int(own.row[i])


def _middle(own: ClassIntervals, i: int) -> int:
    return (int(own.start_ns[i]) + int(own.end_ns[i])) // 2


def main_cause(trace: Trace, own: ClassIntervals) -> Cause:
    """Return the cause with most of the time of intervals; there must be one at least.

    The verdict and the advice ask here, so that both name one function for one cause.

    Python's own time has no event that is responsible: of all of it, the function counts.
    """
    name, operator = _names_around(trace, own)
    python = own.time_class == NUMBER["python"]
    name[python], operator[python] = NONE, NONE
    first, group = groupby.group_rows(name, operator)
    most = int(np.argmax(groupby.sums(group, own.end_ns - own.start_ns, len(first))))
    row = int(first[most])
    return Cause(
        name=trace.text(int(name[row])),
        operator=trace.text(int(operator[row])),
        where=function_of_intervals(trace, own.take(np.flatnonzero(group == most))),
    )


def function_of_intervals(trace: Trace, own: ClassIntervals) -> ProgramFunction | None:
    """Return the user's function in which the threads were for most of some intervals.

    Where a thread is in no Python function, it is that of the interval's operator, or of its
    forward operator.
    """
    op = np.full(len(own), NONE, np.int32)
    for number, table in enumerate(TABLES):
        here = np.flatnonzero((own.table == number) & (own.row >= 0))
        rows = own.row[here]
        op[here] = rows if table == "ops" else lookup(getattr(trace, table).op, rows, NONE)
    return user_functions.of_times(trace, own.thread, own.start_ns, own.end_ns, op)


def _names_around(trace: Trace, own: ClassIntervals) -> tuple[I64, I64]:
    """Return the name of each interval's call or operator, and of the operator around a call."""
    name, operator = np.full(len(own), NONE), np.full(len(own), NONE)
    known = own.row >= 0
    for number, table in enumerate(TABLES):
        here = np.flatnonzero(known & (own.table == number))
        name[here] = getattr(trace, table).name[own.row[here]]
    calls = np.flatnonzero(known & (own.table == LAUNCHES))
    around = trace.launches.op[own.row[calls]]
    operator[calls] = lookup(trace.ops.name, around, NONE)
    return name, operator
