"""Find the operators that launch device work: a prior from names, corrected by evidence.

The prior is cautious. An operator is launch-free only if torch's dispatcher (``host_only.txt``) or
its name shows it: views and composites, annotations, autograd's nodes, communication. Allocations
count as launch-free too (a caching allocator rarely launches); if elapsed times contradict that,
the anchor is dropped.

Evidence is per operator, shapes and dtypes, as operators on CPU tensors have the same names. Under
a backlog the time between two events is device time: with none of it, the operator launches
nothing; with some in a segment, the work is there. Without a backlog, an operator that takes the
host less time than a launch launches nothing.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline.constraints import UNKNOWN, Spans, Tree
from tb_privateuse1.inference.device_timeline.timeline_inputs import (
    Bounds,
    Calibration,
    EventPairs,
)
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import maxima, named_rows
from tb_privateuse1.trace.model import MISSING, OPERATOR, Ops
from tb_privateuse1.trace.statistics import ERROR_RATE
from tb_privateuse1.trace.table import I64, Bools

_LAUNCH_FREE = re.compile(
    r"^(autograd::|torch::autograd::AccumulateGrad|profiler::|c10d::|gloo:|"
    r"record_param_comms$|Optimizer\.|enumerate\(|\w*Backward\d+$|"
    r"aten::(size|stride|dim|numel|storage_offset|is_\w+)$|"
    r"TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper)"
)
"""Built-in autograd nodes end in a digit; they only call operators. Custom ones do not. Older torch
recorded reads of a tensor's shape."""

_LOADER = "enumerate(DataLoader)"

_CUSTOM = re.compile(r"^(?!aten::|prims?::|torch::|quantized::|profiler::)\w+::\w")
"""Operators of libraries outside torch, whose bodies are whole programs."""

_COLLECTIVE = re.compile(r"all_?(reduce|gather|to_?all)|reduce_?scatter|broadcast|barrier")

_CUSTOM_NS = 20_000
"""An own segment of such an operator of this host time launches, whatever else does inside."""

_LAUNCH_NS, _QUICK_SHARE = 2_500, 0.4
"""The least host time of a launch: of any driver's, and as a share of the fastest seen.

Real launches take 4 µs and more of host time."""

_WAIT_NS = 20_000
"""Host time of a copy beyond its device time that shows a wait: launches take some µs. Half of it
moves activities in 1 of 50 recordings, twice in none."""

_COPIES = frozenset(("aten::_copy_from", "aten::copy_", "aten::_to_cpu"))

_ANCESTORS = 4
"""The number of ancestors that tell the same operator's calls apart."""

_MIX = np.uint64(0x9E3779B97F4A7C15)
"""An odd number that spreads paths over 64 bits (Knuth, The Art of Computer Programming 6.4)."""

_WORK_NS = 1_000
"""Device time beyond the cost of the events that counts as work."""
_EXACT_WORK_NS = 500
"""The same where the device's own clock tells it: real devices' shortest kernels take 1 us."""

_CLOSING_SHARE = 0.3
"""A closing segment shorter than this share of the longest own one only cleans up."""

_OFTEN = 3
"""The least number of an operator's calls that contradict its name: a scheduler that pauses threads
does not prefer an operator."""

_ENOUGH = 2
"""The least number of instances under backlog that decide about an operator."""


class Segments(Struct, frozen=True):
    """Own segments of operators: from event ``first`` to the next one of the thread, ``last``."""

    op: I64
    first: I64
    last: I64
    closing: Bools
    """The operator's last own segment, which ends with its end event."""


@cache
def host_only() -> dict[str, bool]:
    """Return the operators whose own body launches nothing by torch's dispatcher.

    The value is whether torch composes it of others, so that a backend may have one of its own.
    """
    lines = (Path(__file__).parents[1] / "host_only.txt").read_text().splitlines()
    words = (line.split() for line in lines if not line.startswith("#"))
    return {name: bool(kind) for name, *kind in words}


def may_launch(ops: Ops, strings: Strings) -> Bools:
    """Return per operator whether its name allows that its own body launches."""
    never = named_rows(strings.all, ops.name, _is_launch_free)
    # A data loader builds batches on the host, before they are copied to the device.
    loaders = named_rows(strings.all, ops.name, lambda name: name.startswith(_LOADER))
    may: Bools = (ops.kind == OPERATOR) & ~never
    if loaders.any():
        may &= intervals.nearest(ops.parent, loaders) < 0
    return may


def _is_launch_free(name: str) -> bool:
    table = host_only()
    return name in table or f"aten::{name}" in table or bool(_LAUNCH_FREE.match(name))


def may_wait_for_streams(ops: Ops, strings: Strings) -> Bools:
    """Return per range whether its own body may make its stream wait for another one.

    Programs and autograd's engine do so between operators, communication inside its own.
    """
    wanted = named_rows(strings.all, ops.name, _LAUNCH_FREE.match)
    waits: Bools = (ops.kind != OPERATOR) | wanted
    return waits


def custom_operators(ops: Ops, strings: Strings) -> Bools:
    """Return the operators of libraries outside torch, except wrappers of collectives."""
    return named_rows(strings.all, ops.name, _is_custom)


def _is_custom(name: str) -> bool:
    return bool(_CUSTOM.match(name)) and not _COLLECTIVE.search(name)


def operator_keys(ops: Ops) -> I64:
    """Return one number per operator, shapes and dtypes."""
    return groupby.group_rows(ops.name, ops.shapes, ops.dtypes)[1].astype(np.int64, copy=False)


def placed_keys(ops: Ops, key: I64) -> I64:
    """Return keys that also tell the nearest ancestors apart, by their names.

    The same operator on the same shapes is called on device tensors in the model and on tensors of
    the host below the optimizer. Outermost ranges are all alike, as steps differ by their number.
    """
    path = key.astype(np.uint64)
    up = ops.parent.astype(np.int64)
    for _ in range(_ANCESTORS):
        outermost = (up >= 0) & (ops.parent[up] < 0)
        above = np.where(up < 0, 0, np.where(outermost, 1, ops.name[up].astype(np.int64) + 2))
        path = (path ^ (path >> np.uint64(29))) * _MIX + above.astype(np.uint64)
        up = np.where(up >= 0, ops.parent[up], up)
    _, number = np.unique(path, return_inverse=True)
    return number.astype(np.int64)


def launching_segments(events: EventPairs, may: Bools) -> Bools:
    """Return per event whether its thread may launch before its next one."""
    inside = events.innermost
    result: Bools = (inside >= 0) & may[np.maximum(inside, 0)]
    return result


def overrule_names(
    may: Bools, ops: Ops, strings: Strings, events: EventPairs, wrong: Bools
) -> Bools:
    """Return who may launch, and composites without the operators inside that torch calls there.

    ``wrong``, per event: the segment before it surely held work. It overrules the name if
    ``_OFTEN`` and more of an operator's calls have work, and more of them than chance explains.
    """
    composite = named_rows(strings.all, ops.name, lambda name: host_only().get(name, False))
    whole = composite & (events.end - events.start == 1)
    shown = whole & wrong[events.end] & ~may
    count = len(strings.all)
    calls = np.bincount(ops.name[whole], minlength=count)
    works = np.bincount(ops.name[shown], minlength=count)
    overruled = (works >= _OFTEN) & (works > ERROR_RATE * calls)
    result: Bools = may | (whole & overruled[ops.name])
    return result


def own_segments(events: EventPairs, may: Bools) -> Segments:
    """Return the own segments of all operators that may launch, by their ends."""
    first = np.flatnonzero(events.innermost >= 0)
    op = events.innermost[first].astype(np.int64)
    use = may[op] & (events.next[first] != first)
    first, op = first[use], op[use]
    last = events.next[first]
    order = np.argsort(last, kind="stable")
    first, last, op = first[order], last[order], op[order]
    return Segments(op, first, last, events.is_end[last] & (events.op[last] == op))


def classify_segments(
    segments: Segments, events: EventPairs, bounds: Bounds, spans: Spans, c: Calibration
) -> tuple[Bools, Bools]:
    """Return which segments surely hold device work, and which surely hold none."""
    prompt = events.host_high_ns[segments.last] + c.latency_ns + c.jitter_ns
    behind = bounds.low[segments.first] > prompt
    alone = segments.first == segments.last - 1
    least = np.where(alone, spans.segment_low[segments.last], 0)
    most = np.where(alone, spans.segment_high[segments.last], UNKNOWN)
    waiting = np.maximum(bounds.high[segments.first] + c.event_high_ns, prompt)
    surely = (behind & (least > c.event_high_ns + _least_work_ns(c))) | (
        bounds.low[segments.last] > waiting + _least_work_ns(c)
    )
    # A kernel lies between its operator's events, on an idle device too.
    none = most <= c.event_high_ns + _least_work_ns(c)
    return surely, none


def _least_work_ns(c: Calibration) -> int:
    """Return the device time beyond that of events from which there surely is work."""
    return _EXACT_WORK_NS if c.resolution_ns < _WORK_NS else _WORK_NS


def correct_by_evidence(
    may: Bools,
    ops: Ops,
    key: I64,
    segments: Segments,
    surely: Bools,
    none: Bools,
    unexplained: Bools,
) -> Bools:
    """Return ``may`` without the operators that launch nothing by the evidence in the trace.

    ``key`` groups the same operators on the same shapes (``operator_keys``). ``unexplained`` are
    the operators with more device time than the operators inside account for.
    """
    count = int(key.max(initial=-1)) + 1
    works = np.bincount(key[segments.op[surely]], minlength=count)
    works += np.bincount(key[unexplained], minlength=count)
    unsure = mask_of(segments.op[~none], len(ops))
    rests = np.bincount(key[segments.op[segments.closing & ~unsure[segments.op]]], minlength=count)
    idle = (rests >= _ENOUGH) & (works * 3 < rests)
    host = _median(key, ops.end_ns - ops.start_ns, count)
    # Few launches are that quick: one call that surely launched nothing decides for all, unless
    # more of them surely worked.
    never = (host < _LAUNCH_NS) & (rests > 0) & (works <= rests)
    fastest = np.min(host[(works >= _ENOUGH) & ~never], initial=_LAUNCH_NS / _QUICK_SHARE)
    quick = host < fastest * _QUICK_SHARE
    launches: Bools = may & ~(idle | never | (quick & (works == 0)))[key]
    # A call that shows its own work, or that there was none, is no matter of its like.
    rested = mask_of(segments.op, len(ops))
    launches &= ~(rested & ~unsure)
    shown = unexplained.copy()
    shown[segments.op[surely]] = True
    launches |= may & shown & ~never[key]
    return launches


def _median(key: I64, value: I64, count: int) -> I64:
    """Return the median value of each key."""
    order = np.lexsort((value, key))
    first = np.searchsorted(key[order], np.arange(count))
    size = np.bincount(key, minlength=count)
    middle = np.minimum(first + size // 2, max(len(order) - 1, 0))
    return value[order][middle] if len(order) else np.zeros(count, np.int64)


def choose_segments(
    prior: Bools,
    may: Bools,
    events: EventPairs,
    ops: Ops,
    key: I64,
    segments: Segments,
    surely: Bools,
    none: Bools,
    foreign: Bools,
) -> Bools:
    """Return the segments in which work is placed.

    First, segments that surely hold work, and closing ones of operators whose other instances
    mostly hold work there. Else the closing one of an operator that launches; the longest on the
    host if the closing one is too short for a launch. An operator around one that launches by its
    name (``prior``) gets none, even on CPU tensors. Operators of other libraries (``foreign``)
    launch in each long own segment.
    """
    count = int(key.max(initial=-1)) + 1
    works = np.bincount(key[segments.op[surely & segments.closing]], minlength=count)
    rests = np.bincount(key[segments.op[none & segments.closing]], minlength=count)
    usual = ((works >= _ENOUGH) & (works > rests))[key[segments.op]] & segments.closing & ~none
    picked: Bools = may[segments.op] & (surely | usual)
    lacking = may & ~intervals.enclosing(ops.parent, prior)
    lacking[segments.op[picked]] = False
    host = events.host_ns[segments.last] - events.host_ns[segments.first]
    longest = maxima(segments.op, host, len(ops))
    enough = np.maximum(_LAUNCH_NS, (longest * _CLOSING_SHARE).astype(np.int64))
    closes = np.zeros(len(ops), np.bool_)
    fits = segments.closing & (host >= np.minimum(enough[segments.op], longest[segments.op]))
    closes[segments.op[fits]] = True
    instead = ~closes[segments.op] & (host == longest[segments.op])
    picked |= lacking[segments.op] & (fits | instead)
    picked |= (may & foreign)[segments.op] & ~none & (host >= _CUSTOM_NS)
    return picked


def operators_with_unexplained_time(
    ops: Ops, events: EventPairs, tree: Tree, bounds: Bounds, spans: Spans, c: Calibration
) -> Bools:
    """Return operators with more device time than the operators inside account for."""
    parts = np.zeros(len(ops), np.int64)
    for level in tree.levels:
        if not level.is_root:
            inside = np.where(level.step >= spans.segments, spans.high[level.step], 0)
            parts[level.node] = np.add.reduceat(inside, level.first)
    marked = (events.end - events.start) * c.event_high_ns + _least_work_ns(c)
    unexplained = spans.node_low - parts > marked
    # On an idle device, the time between the events includes host time.
    unexplained &= (
        bounds.low[events.start] > events.host_high_ns[events.end] + c.latency_ns + c.jitter_ns
    )
    return unexplained


def closing_segments_of(segments: Segments, use: Bools, unexplained: Bools) -> Bools:
    """Return the closing segments of operators with unexplained time and no segment in use."""
    done = mask_of(segments.op[use], len(unexplained))
    more: Bools = segments.closing & unexplained[segments.op] & ~done[segments.op]
    return more


def blocking_operators(
    ops: Ops,
    key: I64,
    strings: Strings,
    may: Bools,
    events: EventPairs,
    bounds: Bounds,
    c: Calibration,
) -> Bools:
    """Return the operators that wait for the device: reads, and copies that waited by evidence.

    A copy waited if its host time is far above its device time and the device is not behind at its
    end.
    """
    reads = named_rows(strings.all, ops.name, "aten::_local_scalar_dense".__eq__)
    copied = may & copy_operators(ops, strings)
    host = ops.end_ns - ops.start_ns
    caught_up = (
        bounds.low[events.end] <= events.host_high_ns[events.end] + c.latency_ns + c.jitter_ns
    )
    waited = (ops.elapsed_ns != MISSING) & (host > ops.elapsed_ns + _WAIT_NS) & caught_up
    count = int(key.max(initial=-1)) + 1
    shown = np.bincount(key[copied & waited], minlength=count)
    behind = np.bincount(key[copied & ~caught_up], minlength=count)
    wait = (shown > 0) & (behind == 0)
    result: Bools = (reads & may) | (copied & wait[key])
    return result


def copy_operators(ops: Ops, strings: Strings) -> Bools:
    """Return the operators that copy a tensor, by their names."""
    return named_rows(strings.all, ops.name, _COPIES.__contains__)
