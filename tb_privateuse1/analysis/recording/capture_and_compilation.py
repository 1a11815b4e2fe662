"""Find graph captures and compilations."""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import ends_run, following, lookup, mask_of, starts_run
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, Bools

COMPILER_RANGES = (
    r"^(_compile\.compile_inner|compile_fx_inner|entire_frame_compile|backend_compile)\b"
)
"""Ranges that TorchDynamo and Inductor record while they compile."""

COMPILER_FRAMES = (
    r"torch/_dynamo/convert_frame\.py\(\d+\): (_compile|compile_inner)$"
    r"|torch/_inductor/compile_fx\.py\(\d+\): compile_fx$|triton/compiler/\w+\.py\(\d+\): compile$"
)
"""Python frames of the compilers."""

_COMPILER_CALLS = r"(?i)compile(program|kernel|graph|model|op|$)|(op|graph|kernel|rtc)_?compile"
"""Calls of any runtime that compile: ``nvrtcCompileProgram``, ``aclopCompile``, …"""

_TIMED = r"\(dynamo_timed\)$"
"""torch adds this to the ranges of its compilers from 2.5 on."""

_BEGIN = re.compile(r"begin_?capture|capture_?begin", re.IGNORECASE)
_END = re.compile(r"end_?capture|capture_?end", re.IGNORECASE)
_INSTANTIATE = re.compile(r"graph_?instantiate", re.IGNORECASE)
_STARTS_KERNEL = re.compile(r"launch_?(cooperative)?_?kernel|kernel_?launch", re.IGNORECASE)
"""Calls of any runtime: ``cudaStreamBeginCapture``, ``hipGraphInstantiate``, …"""


@memoize
def compilations(trace: Trace) -> tuple[intervals.Set, I64, I64, I64]:
    """Return when a compiler runs, and its rows of ``ops``, ``frames`` and ``launches``."""
    strings = trace.strings
    ops = np.flatnonzero(_named(strings, f"{COMPILER_RANGES}|{_TIMED}", trace.ops.name))
    frames = np.flatnonzero(_named(strings, COMPILER_FRAMES, trace.frames.name))
    calls = np.flatnonzero(_named(strings, _COMPILER_CALLS, trace.launches.name))
    has_activity = np.zeros(len(trace.launches) + 1, np.bool_)
    has_activity[trace.kernels.launch] = True
    # ``aclopCompileAndExecute`` launches with what it compiled long ago, too.
    calls = calls[~has_activity[calls]]
    parts = trace.ops.take(ops), trace.frames.take(frames), trace.launches.take(calls)
    spans = intervals.union(
        np.concatenate([part.start_ns for part in parts]),
        np.concatenate([part.end_ns for part in parts]),
    )
    return spans, ops, frames, calls


def captures(trace: Trace) -> tuple[intervals.Set, I64]:
    """Return when graphs are captured, and the calls (rows of ``launches``) that show it.

    A capture lasts from the call that begins it to the call that ends it. If a recording lacks
    these, launches without any activity that end in a graph's instantiation are a capture.
    """
    launches = trace.launches
    begins, ends, made = (
        np.flatnonzero(_named(trace.strings, pattern.pattern, launches.name, re.IGNORECASE))
        for pattern in (_BEGIN, _END, _INSTANTIATE)
    )
    if not len(begins) and not len(ends):
        starts = _first_lost(trace, made)
        made = made[starts >= 0]
        starts = starts[starts >= 0]
        return intervals.union(starts, launches.end_ns[made]), made
    rows = np.concatenate((begins, ends))
    is_begin = np.arange(len(rows)) < len(begins)
    order = np.lexsort((launches.start_ns[rows], launches.thread[rows]))
    return _pair(trace, rows[order], is_begin[order]), np.concatenate((rows[order], made))


def _pair(trace: Trace, rows: I64, is_begin: Bools) -> intervals.Set:
    """Return the time from each begin to the next end of its thread; rows are by thread and time.

    A capture may begin before the recording, or end behind it.
    """
    launches = trace.launches
    thread = launches.thread[rows]
    follows = ~ends_run(thread)
    closed = np.flatnonzero(is_begin & follows & ~following(is_begin, True))
    cut = rows[is_begin & ~follows]
    late = rows[~is_begin & starts_run(thread)]
    starts = launches.start_ns[rows[closed]], launches.start_ns[cut], np.zeros(len(late), np.int64)
    ends = launches.end_ns[rows[closed + 1]], np.full(len(cut), trace.end_ns), launches.end_ns[late]
    return intervals.union(np.concatenate(starts), np.concatenate(ends))


def _first_lost(trace: Trace, made: I64) -> I64:
    """Return by instantiation the start of the launches without activity before it, or -1."""
    launches, kernels = trace.launches, trace.kernels
    if not len(made) or not len(kernels):
        return np.full(len(made), -1)
    order = np.lexsort((launches.start_ns, launches.thread))
    has_activity = mask_of(kernels.launch, len(launches))
    thread = launches.thread[order]
    place = np.arange(len(order))
    is_new = starts_run(thread)
    # The place behind the last launch with an activity, or of the thread's first call.
    since = np.where(has_activity[order], place + 1, np.where(is_new, place, 0))
    since = np.maximum.accumulate(since)
    starting = _named(trace.strings, _STARTS_KERNEL.pattern, launches.name, re.IGNORECASE)
    lost = np.flatnonzero((starting & ~has_activity)[order])
    at = np.empty(len(order), np.int64)
    at[order] = place
    first = lookup(lost, np.searchsorted(lost, since[at[made]]), len(order))
    start = lookup(launches.start_ns[order], first, -1)
    return np.where(first < at[made], start, -1)


def _named(strings: tuple[str, ...], pattern: str, column: I32, flags: int = 0) -> Bools:
    """Return whether each row of a name column has a name that matches."""
    return groupby.named_rows(strings, column, re.compile(pattern, flags).search)
