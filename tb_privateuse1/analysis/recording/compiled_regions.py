"""Calls of compiled code, and when the compiler ran by its own log."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.recording.capture_and_compilation import compilations
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.compile_log import GRAPH_CALL, REGION
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, Trace
from tb_privateuse1.trace.table import I64


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


def compiling(trace: Trace) -> intervals.Set:
    """Return when the compiler ran by its log, on the trace's clock; it may be before its 0."""
    found = trace.compilations
    known = (found.start_ns != MISSING) & (found.total_ns != MISSING)
    start, total = found.start_ns[known], found.total_ns[known]
    return intervals.union(start, start + total)
