"""Who launches device work: a prior from names, corrected by evidence in the trace.

The prior is cautious: only what torch's dispatcher (``host_only.txt``) or the name itself says
runs no device work of its own is quiet: views and composites, annotations, autograd's nodes,
communication. Allocations are quiet here too (a caching allocator launches only now and then);
where the elapsed times contradict that, the anchor is dropped.

Evidence is gathered per operator, shapes and dtypes, as CPU tensors go through the same operators
as the device's. While the device is known to be behind, the time between two marks is device
time: none of it, and the operator launches nothing; some of it in a segment, and the work is
there. Where no backlog tells, what takes the host less time than a launch does launches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from tb_privateuse1.inference.base import Strings
from tb_privateuse1.inference.device_timeline.base import Bounds, Calibration, EventPairs
from tb_privateuse1.inference.device_timeline.constraints import Spans, Tree
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.model import MISSING, OPERATOR, Ops
from tb_privateuse1.trace.table import I64, Bools

_QUIET = re.compile(
    r"^(autograd::|torch::autograd::AccumulateGrad|profiler::|c10d::|gloo:|"
    r"record_param_comms$|ProfilerStep|Optimizer\.|enumerate\(|\w*Backward\d+$|"
    r"TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper)"
)
"""Built-in autograd nodes end in a digit; they only call operators. Custom ones do not."""

_LOADER = "enumerate(DataLoader)"

_CUSTOM = re.compile(r"^(?!aten::|prims?::|torch::|quantized::|profiler::)\w+::\w")
"""Operators of libraries outside torch, whose bodies are whole programs."""

_COLLECTIVE = re.compile(r"all_?(reduce|gather|to_?all)|reduce_?scatter|broadcast|barrier")

_CUSTOM_NS = 20_000
"""An own segment of theirs of this host time launches something, whoever else does inside."""

_LAUNCH_NS, _QUICK_SHARE = 2_500, 0.4
"""The least host time of an operator that launches; as a share of the quickest seen to do so."""

_WORK_NS = 1_000
"""Device time above that of the marks that counts as work."""

_CLOSING_SHARE = 0.3
"""A closing segment shorter than this share of the longest own one is only cleaning up."""

_ENOUGH = 2
"""Instances under backlog that decide for an operator."""


@dataclass(frozen=True)
class Segments:
    """Own segments of operators: from a mark to the next of the same thread, with ``op`` open."""

    op: I64
    first: I64
    last: I64
    closing: Bools
    """The operator's last own segment, which ends with its end mark."""


@cache
def host_only() -> frozenset[str]:
    """Names of operators whose own body launches nothing."""
    lines = (Path(__file__).parents[1] / "host_only.txt").read_text().splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def may_launch(ops: Ops, strings: Strings) -> Bools:
    """Of each operator, whether its own body may launch, by its name."""
    names = np.unique(ops.name).tolist()
    never = [i for i in names if _is_quiet(strings.all[i])]
    # A data loader puts batches together on the host, before they are copied to the device.
    loaders = np.isin(ops.name, [i for i in names if strings.all[i].startswith(_LOADER)])
    loading = intervals.nearest(ops.parent, loaders) >= 0
    may: Bools = (ops.kind == OPERATOR) & ~np.isin(ops.name, never) & ~loading
    return may


def _is_quiet(name: str) -> bool:
    table = host_only()
    return name in table or f"aten::{name}" in table or bool(_QUIET.match(name))


def may_wait_for_streams(ops: Ops, strings: Strings) -> Bools:
    """Of each range, whether its stream may be made to wait for another one in its own body.

    Programs and autograd's engine do so between operators, communication inside its own.
    """
    wanted = [i for i in np.unique(ops.name).tolist() if _QUIET.match(strings.all[i])]
    waits: Bools = (ops.kind != OPERATOR) | np.isin(ops.name, wanted)
    return waits


def custom_operators(ops: Ops, strings: Strings) -> Bools:
    """Operators of libraries outside torch, but for those that hand a collective on."""
    names = [
        i
        for i in np.unique(ops.name).tolist()
        if _CUSTOM.match(strings.all[i]) and not _COLLECTIVE.search(strings.all[i])
    ]
    named: Bools = np.isin(ops.name, names)
    return named


def operator_keys(ops: Ops) -> I64:
    """One number per operator, shapes and dtypes."""
    key = ops.name.astype(np.int64)
    for column in (ops.shapes, ops.dtypes):
        pair = key * (int(column.max(initial=0)) + 2) + column + 1
        _, key = np.unique(pair, return_inverse=True)
    return key.astype(np.int64)


def launching_segments(events: EventPairs, may: Bools) -> Bools:
    """Of each mark, whether its thread may launch between it and its next one."""
    inside = events.innermost
    result: Bools = (inside >= 0) & may[np.maximum(inside, 0)]
    return result


def own_segments(events: EventPairs, may: Bools) -> Segments:
    """The own segments of all operators that may launch, in the order of their ends."""
    first = np.flatnonzero(events.innermost >= 0)
    op = events.innermost[first].astype(np.int64)
    use = may[op] & (events.next[first] != first)
    first, op = first[use], op[use]
    last = events.next[first]
    order = np.argsort(last, kind="stable")
    first, last, op = first[order], last[order], op[order]
    return Segments(op, first, last, events.is_end[last] & (events.op[last] == op))


def classify_segments(
    found: Segments, events: EventPairs, bounds: Bounds, known: Spans, c: Calibration
) -> tuple[Bools, Bools]:
    """Which segments surely hold device work, and which surely hold none."""
    prompt = events.host_high_ns[found.last] + c.latency_ns + c.jitter_ns
    behind = bounds.low[found.first] > prompt
    alone = found.first == found.last - 1
    least = np.where(alone, known.segment_low[found.last], 0)
    most = np.where(alone, known.segment_high[found.last], c.event_high_ns + _WORK_NS + 1)
    waiting = np.maximum(bounds.high[found.first] + c.event_high_ns, prompt)
    surely = (behind & (least > c.event_high_ns + _WORK_NS)) | (
        bounds.low[found.last] > waiting + _WORK_NS
    )
    none = behind & (most <= c.event_high_ns + _WORK_NS)
    return surely, none


def correct_by_evidence(
    may: Bools, ops: Ops, key: I64, found: Segments, surely: Bools, none: Bools, left: Bools
) -> Bools:
    """``may`` without the operators of which the trace says that they launch nothing.

    ``key`` groups the same operators on the same shapes (``keys``); ``left`` are the operators
    that took time which none inside explains, wherever in them that was.
    """
    count = int(key.max(initial=-1)) + 1
    works = np.bincount(key[found.op[surely]], minlength=count)
    works += np.bincount(key[left], minlength=count)
    unsure = np.zeros(len(ops), np.bool_)
    unsure[found.op[~none]] = True
    rests = np.bincount(key[found.op[found.closing & ~unsure[found.op]]], minlength=count)
    idle = (rests >= _ENOUGH) & (works * 3 < rests)
    host = _median(key, ops.end_ns - ops.start_ns, count)
    fastest = np.min(host[works >= _ENOUGH], initial=_LAUNCH_NS / _QUICK_SHARE)
    quick = host < fastest * _QUICK_SHARE
    launches: Bools = may & ~(idle | (quick & (works == 0)))[key]
    return launches


def _median(key: I64, value: I64, count: int) -> I64:
    """The median value of each key."""
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
    found: Segments,
    surely: Bools,
    none: Bools,
    foreign: Bools,
) -> Bools:
    """The segments in which work is placed.

    Those that surely hold some; else, of an operator that launches and has nobody inside who
    does, the closing one, or the longest on the host if the closing one is too short for a
    launch; and closing ones of operators whose others mostly hold work there. Who has one inside
    that launches by its name (``prior``) leaves the work to it, be it on CPU tensors. Those of
    other libraries (``foreign``) do not: each long segment of theirs launches.
    """
    count = int(key.max(initial=-1)) + 1
    works = np.bincount(key[found.op[surely & found.closing]], minlength=count)
    rests = np.bincount(key[found.op[none & found.closing]], minlength=count)
    usual = ((works >= _ENOUGH) & (works > rests))[key[found.op]] & found.closing & ~none
    picked: Bools = may[found.op] & (surely | usual)
    lacking = may & ~callers_of_launchers(ops, prior)
    lacking[found.op[picked]] = False
    host = events.host_ns[found.last] - events.host_ns[found.first]
    longest = np.zeros(len(ops), np.int64)
    np.maximum.at(longest, found.op, host)
    enough = np.maximum(_LAUNCH_NS, (longest * _CLOSING_SHARE).astype(np.int64))
    closes = np.zeros(len(ops), np.bool_)
    fits = found.closing & (host >= np.minimum(enough[found.op], longest[found.op]))
    closes[found.op[fits]] = True
    instead = ~closes[found.op] & (host == longest[found.op])
    picked |= lacking[found.op] & (fits | instead)
    picked |= (may & foreign)[found.op] & ~none & (host >= _CUSTOM_NS)
    return picked


def operators_with_unexplained_time(
    ops: Ops, events: EventPairs, tree: Tree, bounds: Bounds, known: Spans, c: Calibration
) -> Bools:
    """Operators that took the device time which those inside them do not add up to."""
    parts = np.zeros(len(ops), np.int64)
    for level in tree.levels:
        if not level.is_root:
            inside = np.where(level.step >= known.segments, known.high[level.step], 0)
            parts[level.node] = np.add.reduceat(inside, level.first)
    marked = (events.end - events.start) * c.event_high_ns + _WORK_NS
    left = known.node_low - parts > marked
    # On an idle device the time between the marks is the host's too.
    left &= bounds.low[events.start] > events.host_high_ns[events.end] + c.latency_ns + c.jitter_ns
    return left


def closing_segments_of(found: Segments, use: Bools, left: Bools) -> Bools:
    """Closing segments of operators with time left over, of which no segment is used."""
    done = np.zeros(len(left), np.bool_)
    done[found.op[use]] = True
    more: Bools = found.closing & left[found.op] & ~done[found.op]
    return more


def callers_of_launchers(ops: Ops, may: Bools) -> Bools:
    """Operators with one inside that may launch."""
    outer = np.zeros(len(ops), np.bool_)
    up = ops.parent[may]
    while len(up := np.unique(up[up >= 0])):
        up = up[~outer[up]]
        outer[up] = True
        up = ops.parent[up]
    return outer


def blocking_operators(
    ops: Ops,
    key: I64,
    strings: Strings,
    may: Bools,
    events: EventPairs,
    bounds: Bounds,
    c: Calibration,
) -> Bools:
    """Operators that wait for the device before they return: reads, and copies shown to wait.

    A copy is shown to wait where its host time is far above its device time, and the device is
    not behind at its end.
    """
    reads = _named(ops, strings, ("aten::_local_scalar_dense",))
    copied = may & copy_operators(ops, strings)
    host = ops.end_ns - ops.start_ns
    caught_up = (
        bounds.low[events.end] <= events.host_high_ns[events.end] + c.latency_ns + c.jitter_ns
    )
    waited = (ops.elapsed_ns != MISSING) & (host > ops.elapsed_ns + 20_000) & caught_up
    count = int(key.max(initial=-1)) + 1
    shown = np.bincount(key[copied & waited], minlength=count)
    behind = np.bincount(key[copied & ~caught_up], minlength=count)
    wait = (shown > 0) & (behind == 0)
    result: Bools = (reads & may & (host >= 9_000)) | (copied & wait[key])
    return result


def copy_operators(ops: Ops, strings: Strings) -> Bools:
    """Operators that copy a tensor, by their names."""
    return _named(ops, strings, ("aten::_copy_from", "aten::copy_", "aten::_to_cpu"))


def _named(ops: Ops, strings: Strings, names: tuple[str, ...]) -> Bools:
    wanted = [i for i in np.unique(ops.name).tolist() if strings.all[i] in names]
    named: Bools = np.isin(ops.name, wanted)
    return named
