"""Calls of compiled code, and when the compiler ran by its own log."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.compile_log import GRAPH_CALL, REGION
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, Trace
from tb_privateuse1.trace.table import I64, Bools


class RegionCalls(Struct, frozen=True, eq=False):
    """The calls of compiled regions, in the order of ``Trace.ops``."""

    rows: I64
    """Of ``Trace.ops``."""
    compile_ids: tuple[str, ...]
    """Of each call."""
    outside_ns: I64
    """Of each call, the time outside its graphs and outside regions that it calls."""


@memoize
def region_calls(trace: Trace) -> RegionCalls:
    """Return the calls of compiled regions: torch records a range for each from 2.2 on."""
    ops = trace.ops
    is_region = groupby.named_rows(trace.strings, ops.name, REGION.search)
    is_graph = groupby.named_rows(trace.strings, ops.name, GRAPH_CALL.search)
    rows = np.flatnonzero(is_region)
    matches = (REGION.search(trace.text(name)) for name in ops.name[rows].tolist())
    names = tuple(match[1] if match else "" for match in matches)
    outside = ops.end_ns - ops.start_ns
    _take_off(trace, outside, np.flatnonzero(is_region | is_graph), is_region)
    return RegionCalls(rows, names, np.maximum(outside[rows], 0))


def _take_off(trace: Trace, left_ns: I64, inner: I64, is_region: Bools) -> None:
    """Subtract ranges from the nearest region around each, in place."""
    ops = trace.ops
    around = call_tree.around(ops.parent, ops.parent[inner], is_region)
    known = (ops.parent[inner] >= 0) & (around >= 0)
    lengths = (ops.end_ns - ops.start_ns)[inner]
    np.subtract.at(left_ns, around[known], lengths[known])


def compiling(trace: Trace) -> intervals.Set:
    """Return when the compiler ran by its log, on the trace's clock; it may be before its 0."""
    found = trace.compilations
    known = (found.start_ns != MISSING) & (found.total_ns != MISSING)
    start, total = found.start_ns[known], found.total_ns[known]
    return intervals.union(start, start + total)
