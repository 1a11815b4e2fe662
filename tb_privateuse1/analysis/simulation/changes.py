"""Parse changes to a program, and apply them to the weights of its replay.

A change is ``KIND:NAME=FACTOR``, or ``KIND=FACTOR`` for kinds without a name; a factor of 0.5 is
twice as fast, 0 removes it. ``NAME=FACTOR`` alone means an operator of that name, else a kernel,
else a module. Several changes, one per line, multiply where they overlap.
"""

from __future__ import annotations

import difflib
from typing import Literal, get_args

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators import groups, kinds_of_work
from tb_privateuse1.analysis.simulation.dependency_graph import LAUNCH, WAIT, Graph
from tb_privateuse1.analysis.simulation.profiler_time import Shares, profiler_shares
from tb_privateuse1.analysis.simulation.replay import NEVER, Weights
from tb_privateuse1.analysis.simulation.submissions import Ranges
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import containing, latest_before, lookup
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MEMCPY, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I64, Bools

Kind = Literal[
    "operator",
    "kernel",
    "module",
    "category",
    "communication",
    "copies",
    "data_loader",
    "launches",
    "synchronization",
    "profiler",
    "stacks",
]
"""Kinds of change. ``category`` is a kind of work: gemm, convolution, …
(``kinds_of_work.KINDS``). ``profiler`` is its own estimated time, ``stacks`` that for Python
frames."""

KINDS: tuple[Kind, ...] = get_args(Kind)
RECORDING: tuple[Kind, ...] = ("profiler", "stacks")
"""The kinds that change not the program but its recording."""
NAMED: tuple[Kind, ...] = ("operator", "kernel", "module", "category")
"""The kinds with a name."""

UNSCALED: tuple[Kind, ...] = ("synchronization",)
"""The kinds that can be removed and not scaled: a wait ends when the device is done."""

_MOST = 100.0
"""A mistake in typing, rather than a question, is beyond it."""
_LONGEST = 100
"""Lines: each is looked up in all names of the trace. People write a few."""


class Change(Struct, frozen=True):
    """One change. ``name`` is empty for kinds without one."""

    kind: Kind
    name: str
    factor: float

    @property
    def text(self) -> str:
        """The change as the user writes it."""
        what = f"{self.kind}:{self.name}" if self.name else self.kind
        return f"{what}={self.factor:g}"


class Scope(Struct, frozen=True):
    """The targets of a change: ranges of host threads, and activities."""

    ranges: Ranges
    kernels: Bools


def parse_changes(trace: Trace, text: str | None) -> tuple[Change, ...]:
    """Return the changes in a text, one per line. Raises TraceError ``bad_change``."""
    lines = [line.strip() for line in (text or "").split("\n")]
    if len(lines) > _LONGEST:
        raise TraceError("bad_change", say("These are more than {most} changes.", most=_LONGEST))
    return tuple(_change(trace, line) for line in lines if line)


def _change(trace: Trace, line: str) -> Change:
    what, equals, number = line.rpartition("=")
    try:
        factor = float(number)
    except ValueError:
        factor = -1.0
    if not equals or not 0 <= factor <= _MOST:
        message = say(
            "{line!r} is no change: it must be like aten::mm=0.5, with 0 to {most:g}.",
            line=line,
            most=_MOST,
        )
        raise TraceError("bad_change", message, say("0.5 is twice as fast, 0 takes it away."))
    kind, colon, name = what.partition(":")
    if kind in KINDS and (kind in NAMED) == bool(colon) and not name.startswith(":"):
        found = kind
    else:
        found, name = _guessed(trace, what), what
    _check(trace, found, name)
    if found in UNSCALED and factor not in (0, 1):
        hint = say("A wait ends when the device is done: only synchronization=0 means something.")
        raise TraceError("bad_change", say("A wait cannot be scaled."), hint)
    return Change(found, name, factor)


def _guessed(trace: Trace, name: str) -> Kind:
    for kind in NAMED:
        if name in change_names(trace, kind):
            return kind
    return "operator"


def _check(trace: Trace, kind: Kind, name: str) -> None:
    known = change_names(trace, kind)
    if kind not in NAMED or name in known:
        return
    near = difflib.get_close_matches(name[:200], known, n=3)
    hint = (
        say("Near to it: {names}.", names=", ".join(near))
        if near
        else say("Kinds: {names}.", names=", ".join(KINDS))
    )
    raise TraceError(
        "bad_change", say("There is no {kind} {name!r} in this trace.", kind=kind, name=name), hint
    )


def change_names(trace: Trace, kind: Kind) -> list[str]:
    """Return the names that a kind can have in a trace."""
    if kind == "category":
        return list(kinds_of_work.KINDS)
    if kind == "module":
        used = [trace.text(n) for n in np.unique(trace.frames.name)]
        inside = [t.removeprefix(call_tree.MODULE) for t in used if t.startswith(call_tree.MODULE)]
        return list(dict.fromkeys([*inside, *map(call_tree.class_of, inside)]))
    if kind not in ("operator", "kernel"):
        return []
    column = trace.ops.name if kind == "operator" else trace.kernels.name
    return [trace.text(n) for n in np.unique(column[column >= 0])]


def change_scope(trace: Trace, change: Change) -> Scope:
    """Return what a change affects."""
    ops, kernels, launches, frames = trace.ops, trace.kernels, trace.launches, trace.frames
    nothing = np.zeros(len(kernels), np.bool_)
    nowhere = Ranges.of(ops, np.zeros(len(ops), np.bool_))
    match change.kind:
        case "kernel":
            return Scope(nowhere, kernels.name == _number(trace, change.name))
        case "communication":
            own = trace.collectives.op[trace.collectives.op >= 0]
            return Scope(Ranges.of(ops, own), kernels.communication)
        case "copies":
            return Scope(nowhere, kernels.kind == MEMCPY)
        case "launches":
            made = np.unique(kernels.launch[kernels.launch >= 0])
            return Scope(Ranges.of(launches, made), nothing)
        case "synchronization" | "profiler" | "stacks":
            return Scope(nowhere, nothing)
        case "data_loader":
            rows = call_tree.starts_with(trace, call_tree.LOADER)[ops.name]
        case "operator":
            rows = ops.name == _number(trace, change.name)
        case "category":
            wanted = kinds_of_work.KINDS.index(change.name)
            rows = groups.name_categories(trace)[ops.name] == wanted
        case "module":
            label = [t.removeprefix(call_tree.MODULE) for t in trace.strings]
            of = [change.name in (t, call_tree.class_of(t)) for t in label]
            calls = np.array([*of, False])[frames.name] & call_tree.is_module(trace)
            ranges = Ranges.of(frames, calls)
            inside = _inside(trace, ranges)
            # The module includes its backward pass.
            back = lookup(inside, call_tree.forward_of(ops), False)
            ranges = ranges.and_(Ranges.of(ops, back))
            return Scope(ranges, _launched(trace, inside | back))
    ranges = Ranges.of(ops, rows)
    return Scope(ranges, _launched(trace, _inside(trace, ranges)))


def _number(trace: Trace, name: str) -> int:
    """Return the index of a string; one past the last if the trace does not have it."""
    return trace.strings.index(name) if name in trace.strings else len(trace.strings)


def _inside(trace: Trace, ranges: Ranges) -> Bools:
    """Return which operators begin in one of the ranges, on its thread."""
    ops = trace.ops
    found = np.zeros(len(ops), np.bool_)
    for thread, (starts, ends) in ranges.by_thread():
        rows = np.flatnonzero(ops.thread == thread)
        found[rows] = containing(starts, ends, ops.start_ns[rows]) >= 0
    return found


def _launched(trace: Trace, ops: Bools) -> Bools:
    return lookup(ops, trace.kernels.op, False)


def apply_changes(
    graph: Graph, trace: Trace, changes: tuple[Change, ...], *, with_callers: bool = False
) -> Weights:
    """Return the recording's weights with the changes applied.

    ``with_callers`` changes the code that leads to each range, too (``calling_code``).
    """
    kind = graph.edges.kind
    host, edges = np.ones(len(graph.points)), np.ones(len(kind))
    device = np.ones(len(trace.kernels))
    freed = np.zeros(len(graph.waits.start_ns), np.bool_)
    for change in changes:
        touched = change_scope(trace, change)
        if change.kind in RECORDING:
            of_stacks = change.kind == "stacks"
            taken = profiler_shares(trace, graph.points, of_stacks=of_stacks)
            host *= 1 - (1 - change.factor) * taken
        ranges = calling_code(trace, touched.ranges) if with_callers else touched.ranges
        host *= 1 - (1 - change.factor) * thread_shares(graph, ranges)
        device[touched.kernels] *= change.factor
        if change.kind == "launches":
            edges[kind == LAUNCH] *= change.factor
        if change.kind == "synchronization" and change.factor == 0:
            freed[:] = True
    return scale_weights(graph, host, device, edges, freed)


def calling_code(trace: Trace, ranges: Ranges) -> Ranges:
    """Return ranges that begin where their thread left its last operator or call, or entered one.

    In between runs the code that calls the range: a fix that removes the call removes it, too.
    """
    ops, launches = trace.ops, trace.launches
    work = Ranges.of(ops, ops.kind == OPERATOR).and_(Ranges.of(launches, np.arange(len(launches))))
    start = ranges.start_ns.copy()
    own = dict(groupby.split_by_value(work.thread))
    for thread, rows in groupby.split_by_value(ranges.thread):
        inside = own.get(thread, rows[:0])
        edges = np.sort(np.concatenate((work.start_ns[inside], work.end_ns[inside])))
        at = latest_before(edges, start[rows])
        start[rows] = np.where(at >= 0, lookup(edges, at, 0), start[rows])
    return Ranges(ranges.thread, start, ranges.end_ns)


def scale_weights(
    graph: Graph, host: Shares, device: Shares, edges: Shares, freed: Bools
) -> Weights:
    """Return the recording's weights multiplied: host time before each point, activities, edges.

    Waits (rows of ``graph.waits``) that are ``freed`` end at once: no activity delays them, nor
    anything that is not recorded.
    """
    n, recorded = len(graph.points), graph.weights
    length, gap = recorded.length.copy(), recorded.gap.copy()
    delay, at = recorded.delay.copy(), recorded.at.copy()
    length[n:] = _scaled(length[n:], device)
    gap[:n] = _scaled(gap[:n], host)
    ends = graph.wait_end[freed]
    delay[ends] = 0
    at[ends[graph.before[ends] >= 0]] = NEVER
    no_wait = lookup(freed, np.where(graph.edges.kind == WAIT, graph.edges.wait, NONE), False)
    edge_gap = np.where(
        no_wait | (recorded.edge_gap == NEVER), NEVER, _scaled(recorded.edge_gap, edges)
    )
    return Weights(length, gap, delay, edge_gap, at)


def thread_shares(graph: Graph, ranges: Ranges) -> Shares:
    """Return the share of its thread's time before each point that lies in the ranges."""
    points = graph.points
    share = np.zeros(len(points))
    for thread, set_ in ranges.by_thread():
        low, high = np.searchsorted(points.thread, [thread, thread + 1])
        at, before = points.at_ns[low:high], points.before[low:high]
        since = np.where(before >= 0, points.at_ns[before], at)
        inside = intervals.covered_length(set_, since, at)
        share[low:high] = inside / np.maximum(at - since, 1)
    return share


def _scaled(values: I64, by: Shares) -> I64:
    return np.where(by == 1, values, np.rint(values * by)).astype(np.int64)
