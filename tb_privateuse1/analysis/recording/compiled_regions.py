"""Calls of compiled code, and when the compiler ran by its own log."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.capture_and_compilation import compilations
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.recorded_metadata import (
    CACHE_BYPASS,
    CACHE_HIT,
    CACHE_MISS,
    GRAPH_CALL,
    RECOMPILATION,
    REGION,
)
from tb_privateuse1.trace.table import I64

_BACKWARD = "CompiledFunctionBackward"
"""The node of autograd that runs a compiled backward pass (torch/_functorch, AOTAutograd)."""
_CACHES = (CACHE_MISS, CACHE_BYPASS, CACHE_HIT)


class RegionCalls(Struct, frozen=True, eq=False):
    """The calls of compiled regions, in the order of ``Trace.ops``; times are without compiling."""

    rows: I64
    """Of ``Trace.ops``."""
    compile_ids: tuple[str, ...]
    """Of each call."""
    time_ns: I64
    outside_ns: I64
    """Of each call, the time outside its graphs and outside regions that it calls."""


@memoize
def region_calls(trace: Trace) -> RegionCalls:
    """Return the calls of compiled regions: torch records a range for each from 2.2 on."""
    ops = trace.ops
    is_region = groupby.named_rows(trace.strings, ops.name, REGION.search)
    is_graph = groupby.named_rows(trace.strings, ops.name, GRAPH_CALL.search)
    rows = np.flatnonzero(is_region)
    inner = np.flatnonzero(is_region | is_graph)
    start, end = ops.start_ns[inner], ops.end_ns[inner]
    time = np.zeros(len(ops), np.int64)
    time[inner] = end - start - intervals.covered_length(compilations(trace)[0], start, end)
    parent = ops.parent[inner]
    called = parent >= 0
    around = np.full(len(inner), NONE, np.int64)
    around[called] = call_tree.around(ops.parent, parent[called], is_region)
    within = around >= 0
    outside = time.copy()
    np.subtract.at(outside, around[within], time[inner[within]])
    matches = (REGION.search(trace.text(name)) for name in ops.name[rows].tolist())
    names = tuple(match[1] if match else "" for match in matches)
    return RegionCalls(rows, names, time[rows], np.maximum(outside[rows], 0))


@memoize
def backward_calls(trace: Trace) -> RegionCalls:
    """Return the calls of backward passes: graphs outside of regions, which the log knows by key.

    Each is autograd's call around the graph. Torch records no region for it. A key that several
    compilations have tells none of them.
    """
    ops, owner = trace.ops, _compile_ids_of_graphs(trace)
    graphs = np.flatnonzero(groupby.named_rows(trace.strings, ops.name, GRAPH_CALL.search))
    is_region = groupby.named_rows(trace.strings, ops.name, REGION.search)
    graphs = graphs[call_tree.around(ops.parent, graphs, is_region) < 0]
    found = [GRAPH_CALL.search(trace.text(name)) for name in ops.name[graphs].tolist()]
    names = [owner.get(match[1] if match else "") for match in found]
    known = np.array([name is not None for name in names], np.bool_)
    graphs = graphs[known]
    is_autograd = groupby.named_rows(trace.strings, ops.name, _BACKWARD.__eq__)
    around = call_tree.around(ops.parent, graphs, is_autograd)
    rows = np.where(around >= 0, around, graphs)
    time, inside = (_without_compiling(trace, at) for at in (rows, graphs))
    return RegionCalls(rows, tuple(filter(None, names)), time, np.maximum(time - inside, 0))


def _compile_ids_of_graphs(trace: Trace) -> dict[str, str]:
    """Return the compile id by a graph's key in the cache, where just one compilation has it."""
    notes = trace.compile_notes
    found: dict[str, set[str]] = {}
    for row in np.flatnonzero(np.isin(notes.kind, _CACHES)).tolist():
        if trace.text(notes.reason[row]) == "graph":
            key, name = (trace.text(one[row]) for one in (notes.detail, notes.compile_id))
            found.setdefault(key, set()).add(name)
    return {key: next(iter(names)) for key, names in found.items() if len(names) == 1}


def _without_compiling(trace: Trace, rows: I64) -> I64:
    """Return how long some of ``trace.ops`` took without a compiler inside of them."""
    start, end = trace.ops.start_ns[rows], trace.ops.end_ns[rows]
    time: I64 = end - start - intervals.covered_length(compilations(trace)[0], start, end)
    return time


def between_graphs(trace: Trace, rows: I64) -> I64:
    """Return the time in some calls of regions behind their first graph and outside of any graph.

    What is ahead of the first graph (dispatch, guards) a call without a break needs, too. A call
    inside of another one of ``rows``, and one without a graph, have 0.
    """
    ops = trace.ops
    chosen = np.zeros(len(ops), np.bool_)
    chosen[rows] = True
    above = ops.parent[rows].astype(np.int64)
    inner = np.zeros(len(rows), np.bool_)
    inner[above >= 0] = call_tree.around(ops.parent, above[above >= 0], chosen) >= 0
    chosen[rows[inner]] = False
    graphs = np.flatnonzero(groupby.named_rows(trace.strings, ops.name, GRAPH_CALL.search))
    holder = call_tree.around(ops.parent, graphs, chosen)
    graphs, holder = graphs[holder >= 0], holder[holder >= 0]
    first = ops.end_ns.copy()
    np.minimum.at(first, holder, ops.start_ns[graphs])
    end = ops.end_ns[rows]
    start = np.where(chosen[rows], first[rows], end)
    time = end - start - intervals.covered_length(compilations(trace)[0], start, end)
    spent = np.zeros(len(ops), np.int64)
    np.add.at(spent, holder, _without_compiling(trace, graphs))
    left: I64 = np.maximum(time - spent[rows], 0)
    return left


class Recompilation(Struct, frozen=True):
    """A compilation of what was compiled before, as a guard failed; by the log."""

    function: str
    place: str | None
    """``train.py(12): step``; None if it is not logged."""
    guard: str
    failed: bool
    """It gave no code."""
    start_ns: int
    total_ns: int
    """Both are ``MISSING`` where they are not known."""


def recompilations(trace: Trace, within: intervals.Set | None = None) -> tuple[Recompilation, ...]:
    """Return the recompilations of the log, in its order; of an interval those that touch it."""
    notes, found = trace.compile_notes, trace.compilations
    rows = {name: i for i, name in reversed([*enumerate(found.compile_id.tolist())])}
    again = []
    for note in np.flatnonzero(notes.kind == RECOMPILATION).tolist():
        row = rows.get(int(notes.compile_id[note]))
        if row is None:
            continue
        function, file = trace.text(found.function[row]), trace.text(found.file[row])
        name = function or trace.text(notes.compile_id[note])
        place = f"{file}({found.line[row]}): {name}" if file and found.line[row] >= 0 else None
        guard, failed = trace.text(notes.reason[note]), bool(found.failure[row] >= 0)
        start, total = int(found.start_ns[row]), int(found.total_ns[row])
        again.append(Recompilation(name, place, guard, failed, start, total))
    if within is not None:
        again = [one for one in again if intervals.length(intervals.intersect(_span(one), within))]
    return tuple(again)


def inside_recording(trace: Trace, again: Iterable[Recompilation]) -> intervals.Set:
    """Return when recompilations ran in the recording."""
    known = [one for one in again if MISSING not in (one.start_ns, one.total_ns)]
    start = np.array([one.start_ns for one in known], np.int64)
    ran = intervals.union(start, start + np.array([one.total_ns for one in known], np.int64))
    return intervals.intersect(ran, intervals.union(np.array([0]), np.array([trace.end_ns])))


def _span(one: Recompilation) -> intervals.Set:
    if MISSING in (one.start_ns, one.total_ns):
        return intervals.EMPTY
    return intervals.union(np.array([one.start_ns]), np.array([one.start_ns + one.total_ns]))


def compiling(trace: Trace) -> intervals.Set | None:
    """Return when the compiler ran by its log, on the trace's clock; it may be before its 0.

    None if no duration is known, or one without its start: the log may lack it, and a recording's
    clock may not be Unix time.
    """
    found = trace.compilations
    lasts = found.total_ns != MISSING
    start, total = found.start_ns[lasts], found.total_ns[lasts]
    if not len(start) or (start == MISSING).any():
        return None
    return intervals.union(start, start + total)
