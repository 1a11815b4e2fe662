"""Parse changes to a program, and apply them to the weights of its replay.

A change is ``KIND:NAME=FACTOR``, or ``KIND=FACTOR`` for kinds without a name; a factor of 0.5 is
twice as fast, 0 removes it. ``NAME=FACTOR`` alone means an operator of that name, else a kernel,
else the next of ``NAMED``. Several changes, one per line, multiply where they overlap.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, cast, get_args

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.operators import groups, kinds_of_work
from tb_privateuse1.analysis.simulation import rank_waits, scopes
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.launches_and_waits import Ranges
from tb_privateuse1.analysis.simulation.profiler_time import Shares, profiler_shares
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import latest_before, lookup
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.intervals import lanes
from tb_privateuse1.trace.model import MEMCPY, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

Kind = Literal[
    "operator",
    "kernel",
    "module",
    "function",
    "call",
    "category",
    "class",
    "finding",
    "communication",
    "copies",
    "data_loader",
    "launches",
    "synchronization",
    "rank_waits",
    "profiler",
    "stacks",
]
"""Kinds of change. ``function`` is one of Python, with all that it calls; ``call`` is one of the
runtime or the driver. ``category`` is a kind of work: gemm, convolution, …
(``kinds_of_work.KINDS``), ``class`` a class of the account, ``finding`` what the fix of one of the
advice removes. ``rank_waits`` is the time in which
communication kernels wait for other ranks. ``profiler`` is its own estimated time, ``stacks`` that
for Python frames."""

KINDS: tuple[Kind, ...] = get_args(Kind)
RECORDING: tuple[Kind, ...] = ("profiler", "stacks")
"""The kinds that change not the program but its recording."""
NAMED: tuple[Kind, ...] = (
    "operator", "kernel", "module", "function", "call", "category", "class", "finding",
)  # fmt: skip
"""The kinds with a name; one without a kind is looked for in this order."""

_OF_RANGES: tuple[Kind, ...] = ("class", "finding")
"""The kinds that are parts of a thread's time, with or without a call around them."""

UNSCALED: tuple[Kind, ...] = ("synchronization",)
"""The kinds that can be removed and not scaled: a wait ends when the device is done."""

_MOST = 100.0
"""A mistake in typing, rather than a question, is beyond it."""
_LONGEST = 100
"""Lines: each is looked up in all names of the trace. People write a few."""
_ACCUMULATES = (
    "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
    "torch::autograd::AccumulateGrad",
)
"""torch's names for the evaluation of the node that adds to a gradient, and for the node."""
_NEAR = 3
"""Names offered instead of one that is not there: as ``difflib.get_close_matches`` does itself."""


class Change(Struct, frozen=True):
    """One change. ``name`` is empty for kinds without one."""

    kind: Kind
    name: str
    factor: float
    scope: Scope | None = None
    """What a ``finding`` removes, in the whole trace; null for other kinds: their name says it."""

    @property
    def text(self) -> str:
        """The change as the user writes it."""
        what = f"{self.kind}:{self.name}" if self.name else self.kind
        return f"{what}={self.factor:g}"


def parse_changes(
    trace: Trace, text: str | None, findings: Mapping[str, Scope] = MappingProxyType({})
) -> tuple[Change, ...]:
    """Return the changes in a text, one per line. Raises TraceError ``bad_change``.

    ``findings`` are the scopes that the kind ``finding`` names.
    """
    lines = [line.strip() for line in (text or "").split("\n")]
    if len(lines) > _LONGEST:
        raise TraceError("bad_change", say("These are more than {most} changes.", most=_LONGEST))
    return tuple(_change(trace, line, findings) for line in lines if line)


def _change(trace: Trace, line: str, findings: Mapping[str, Scope]) -> Change:
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
    _check(found, name, list(findings) if found == "finding" else change_names(trace, found))
    if found in UNSCALED and factor not in (0, 1):
        hint = say("A wait ends when the device is done: only synchronization=0 means something.")
        raise TraceError("bad_change", say("A wait cannot be scaled."), hint)
    return Change(found, name, factor, findings[name] if found == "finding" else None)


def _guessed(trace: Trace, name: str) -> Kind:
    for kind in NAMED:
        if name in change_names(trace, kind):
            return kind
    return "operator"


def _check(kind: Kind, name: str, known: Sequence[str]) -> None:
    if kind not in NAMED or name in known:
        return
    near = near_names(name, known)
    hint = (
        say("Near to it: {names}.", names=", ".join(near))
        if near
        else say("Kinds: {names}.", names=", ".join(KINDS))
    )
    raise TraceError(
        "bad_change", say("There is no {kind} {name!r} in this trace.", kind=kind, name=name), hint
    )


def near_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the names that contain a text, or are like it; a few."""
    text = name[:200].lower()
    inside = [one for one in known if text and text in one.lower()]
    alike = difflib.get_close_matches(name[:200], known, n=_NEAR)
    return list(dict.fromkeys([*alike, *sorted(inside, key=len)]))[:_NEAR]


def check_matches(graph: Graph, trace: Trace, made: tuple[Change, ...]) -> None:
    """Raise TraceError ``bad_change`` if one of the changes changes nothing in the recording."""
    for change in made:
        if matches(graph, trace, change):
            continue
        others = [k for k in KINDS if k not in NAMED and matches(graph, trace, Change(k, "", 0))]
        message = say("{change!r} changes nothing: it has no time here.", change=change.text)
        hint = say("Without a name: {kinds}.", kinds=", ".join(others))
        raise TraceError("bad_change", message, hint)


def matches(graph: Graph, trace: Trace, change: Change) -> bool:
    """Return whether the change, made by its removal, changes a weight of the graph."""
    was, now = graph.weights, apply_changes(graph, trace, (replace(change, factor=0.0),))
    return any(
        not np.array_equal(getattr(was, name), getattr(now, name)) for name in was.__struct_fields__
    )


def change_names(trace: Trace, kind: Kind) -> list[str]:
    """Return the names that a kind can have in a trace."""
    match kind:
        case "category":
            used = np.unique(groups.name_categories(trace)[_distinct(trace.ops.name)])
            return [kinds_of_work.KINDS[number] for number in used.tolist()]
        case "class":
            return list(scopes.has_time(trace))
        case "module":
            texts = [trace.text(n) for n in _distinct(trace.frames.name)]
            inside = [
                t.removeprefix(call_tree.MODULE) for t in texts if t.startswith(call_tree.MODULE)
            ]
            return list(dict.fromkeys([*inside, *map(call_tree.class_of, inside)]))
        case "operator" | "kernel" | "function" | "call":
            return [trace.text(n) for n in _distinct(_column(trace, kind))]
    return []


def _column(trace: Trace, kind: Kind) -> I32:
    """Return the column that has the names of a kind."""
    columns: dict[Kind, I32] = {
        "operator": trace.ops.name, "kernel": trace.kernels.name, "function": trace.frames.name,
        "call": trace.launches.name,
    }  # fmt: skip
    return columns[kind]


def _distinct(column: I32) -> I64:
    return np.unique(column[column >= 0])


def change_scope(trace: Trace, change: Change) -> Scope:
    """Return what a change affects."""
    ops, kernels, launches, frames = trace.ops, trace.kernels, trace.launches, trace.frames
    nothing, nowhere = np.zeros(len(kernels)), scopes.no_ranges()
    if change.scope is not None:
        return change.scope
    match change.kind:
        case "class":
            return scopes.class_scope(trace, cast("ClassName", change.name))
        case "kernel":
            return Scope(nowhere, _share(kernels.name == _number(trace, change.name)))
        case "call":
            made = launches.name == _number(trace, change.name)
            return Scope(Ranges.of(launches, made), nothing, "inside")
        case "communication":
            own = trace.collectives.op[trace.collectives.op >= 0]
            return Scope(Ranges.of(ops, own), _share(kernels.communication))
        case "copies":
            return Scope(nowhere, _share(kernels.kind == MEMCPY))
        case "launches":
            made = np.unique(kernels.launch[kernels.launch >= 0])
            return Scope(Ranges.of(launches, made), nothing, between=("launch_latency",))
        case "rank_waits":
            length = np.maximum(kernels.end_ns - kernels.start_ns, 1)
            return Scope(nowhere, rank_waits.rank_waits_ns(trace) / length)
        case "synchronization":
            return Scope(nowhere, nothing, "all")
        case "profiler" | "stacks" | "finding":
            return Scope(nowhere, nothing)
        case "data_loader":
            return _of_operators(trace, call_tree.starts_with(trace, call_tree.LOADER)[ops.name])
        case "operator":
            return _of_operators(trace, ops.name == _number(trace, change.name))
        case "category":
            wanted = kinds_of_work.KINDS.index(change.name)
            return _of_operators(trace, groups.name_categories(trace)[ops.name] == wanted)
        case "function":
            return _of_frames(trace, frames.name == _number(trace, change.name))
        case "module":
            label = [t.removeprefix(call_tree.MODULE) for t in trace.strings]
            of = [change.name in (t, call_tree.class_of(t)) for t in label]
            calls = np.array([*of, False])[frames.name] & call_tree.is_module(trace)
            return _of_frames(trace, calls)


def _of_operators(trace: Trace, rows: Bools) -> Scope:
    """Return operators with all that is inside of them, and what it launches."""
    ranges = Ranges.of(trace.ops, rows)
    return Scope(ranges, _launched(trace, _inside(trace, ranges)))


def _of_frames(trace: Trace, rows: Bools) -> Scope:
    """Return functions of Python with all that they call and launch, and its backward pass."""
    ranges = Ranges.of(trace.frames, rows)
    inside = _inside(trace, ranges)
    back = lookup(inside, call_tree.forward_of(trace), False)
    back |= _accumulating(trace, back)
    ranges = ranges.and_(Ranges.of(trace.ops, back))
    return Scope(ranges, _launched(trace, inside | back))


def _accumulating(trace: Trace, back: Bools) -> Bools:
    """Return which operators add up gradients that some of the backward pass computed.

    The engine adds a gradient up as soon as it is there: behind the node that computed it. The node
    that adds has no forward operator of its own.
    """
    ops = trace.ops
    order = np.lexsort((ops.start_ns, ops.thread))
    linked = call_tree.linked_forward(trace)[order] >= 0
    node = np.maximum.accumulate(np.where(linked, np.arange(len(order)), NONE))
    found = np.zeros(len(ops), np.bool_)
    found[order] = lookup(back[order], node, False)
    found[order] &= lookup(ops.thread[order], node, NONE) == ops.thread[order]
    adding = call_tree.starts_with(trace, *_ACCUMULATES)[ops.name]
    return found & (call_tree.self_or_nearest(ops.parent, adding) >= 0)


def _share(rows: Bools) -> Shares:
    return rows.astype(np.float64)


def _number(trace: Trace, name: str) -> int:
    """Return the index of a string; one past the last if the trace does not have it."""
    return trace.strings.index(name) if name in trace.strings else len(trace.strings)


def _inside(trace: Trace, ranges: Ranges) -> Bools:
    """Return which operators begin in one of the ranges, on its thread."""
    return ranges.contain(trace.ops.thread, trace.ops.start_ns)


def _launched(trace: Trace, ops: Bools) -> Shares:
    return _share(lookup(ops, trace.kernels.op, False))


def apply_changes(
    graph: Graph,
    trace: Trace,
    changes: tuple[Change, ...],
    earlier: tuple[Change, ...] = (),
    *,
    with_callers: bool = False,
) -> Weights:
    """Return the recording's weights with the changes applied, on top of ``earlier`` ones.

    ``with_callers`` changes the code that leads to each range, too (``calling_code``).
    """
    factors = scopes.Factors(graph)
    for place, change in enumerate((*earlier, *changes)):
        touched = change_scope(trace, change)
        if change.kind in RECORDING:
            of_stacks = change.kind == "stacks"
            taken = profiler_shares(trace, graph.points, of_stacks=of_stacks)
            whole = profiler_shares(trace, graph.points)
            factors.scale_profiler(taken, taken / np.where(whole > 0, whole, 1), change.factor)
        if with_callers and place >= len(earlier) and change.kind not in _OF_RANGES:
            touched = replace(touched, ranges=calling_code(trace, touched.ranges))
        factors.scale(touched, change.factor)
    return factors.weights()


def calling_code(trace: Trace, ranges: Ranges) -> Ranges:
    """Return ranges that begin where their thread left its last operator or call, or entered one.

    In between runs the code that calls the range: a fix that removes the call removes it, too.
    """
    ops, launches = trace.ops, trace.launches
    work = Ranges.of(ops, ops.kind == OPERATOR).and_(Ranges.of(launches, np.arange(len(launches))))
    start = ranges.start_ns.copy()
    begun = (ranges.thread, ranges.start_ns)
    for axis in lanes((work.thread, work.start_ns), (work.thread, work.end_ns), begun):
        rows = axis.has(ranges.thread)
        thread = ranges.thread[rows]
        edges = np.sort(np.concatenate(work.on(axis)), kind="stable")
        at = latest_before(edges, axis.place(thread, start[rows]))
        last_thread, last_ns = axis.instants(edges)
        own = lookup(last_thread, at, NONE) == thread
        start[rows] = np.where(own, lookup(last_ns, at, 0), start[rows])
    return Ranges(ranges.thread, start, ranges.end_ns)
