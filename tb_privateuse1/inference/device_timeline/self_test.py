"""Judge a recording's bounds by kernels that the capture planted and the host timed.

Behind the window the capture runs one operator alone and in rows, each time until the device is
idle, and again (``tb_privateuse1::self_test``). The inference sees these operators as any others.
The host's clock tells the same without it: a kernel on the idle device starts one launch latency
after its launch, and is done one return before the wait is over. A late return only makes a kernel
look longer, so the least of several tries bounds all from below. docs/internals/inference.md,
section 14.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.inference.stage_inputs import (
    PRIME,
    SELF_TEST,
    Strings,
    inside_ranges,
    rows_named,
)
from tb_privateuse1.readers.raw import Sidecar
from tb_privateuse1.trace import uncertainty
from tb_privateuse1.trace.findings import DEVICE, Finding
from tb_privateuse1.trace.model import MISSING, NONE, Kernels, Ops
from tb_privateuse1.trace.table import I64, Bools

ROW = "tb_privateuse1::self_test_row"
"""The annotation around the wait behind each row; the first one is before them."""
_OPERATOR = "aten::mul_"

_ROOM_NS = 1_000
"""How far off one of the host's times may be beyond the scatter of the calibration's: two calls of
the profiler lie between an operator's launch and its time stamps."""

_LEAST_HELD = 0.9
"""The share of bounds that must hold. They are meant to hold in 19 of 20 cases; errors that a
recording's kernels share make single recordings better or worse."""


class Bursts(Struct, frozen=True):
    """The rows of planted operators: what the host tells of them, in ns.

    ``op``: the operators in order, ``burst`` the number of the row of each, ``place`` its number
    in it and ``left`` how many follow. ``count`` and ``idle_ns`` are per row: its operators, and
    when the device was idle again at the latest.
    """

    op: I64
    burst: I64
    place: I64
    left: I64
    count: I64
    idle_ns: I64


def inside_capture(ops: Ops, strings: Strings) -> Bools:
    """Return which operators the capture ran: to keep the device busy, or for the self-test."""
    outer = [rows_named(ops, strings, name) for name in (PRIME, SELF_TEST)]
    return inside_ranges(ops, np.concatenate(outer))


def without_capture(kernels: Kernels, ops: Ops, strings: Strings) -> Kernels:
    """Return the kernels less those of the capture, and less all behind the self-test's start."""
    known = kernels.op != NONE
    captures = inside_capture(ops, strings)
    drop = np.zeros(len(kernels), np.bool_)
    drop[known] = captures[kernels.op[known]]
    for row in rows_named(ops, strings, SELF_TEST):
        drop |= ~known & (kernels.start_ns >= ops.start_ns[row])
    return kernels.take(np.flatnonzero(~drop)) if drop.any() else kernels


def judge_bounds(
    ops: Ops, strings: Strings, sidecar: Sidecar, kernels: Kernels
) -> tuple[int, int] | None:
    """Return how many bounds of planted kernels held, and how many there are.

    None if nothing was planted, the device was not calibrated, or the kernels are as short as
    their launches, so that the host cannot time them.
    """
    constants = _constants(sidecar)
    bursts = _bursts(ops, strings)
    if constants is None or bursts is None:
        return None
    latency, back, room = constants
    first = bursts.op[bursts.place == 0]
    done = bursts.idle_ns - back
    # From the first launch, at its earliest and at its latest, until all was done.
    most, least = done - latency - ops.start_ns[first], done - latency - ops.end_ns[first]
    alone = bursts.count == 1
    low, high = int(least[alone].min()) - room, int(most[alone].max()) + room
    if low <= int((ops.end_ns - ops.start_ns)[bursts.op].max()):
        return None
    span = np.where(alone, low, int(least[~alone].min()) - room)
    at = _kernel_of(kernels, bursts.op)
    found = np.flatnonzero(at >= 0)
    kernel, burst = kernels.take(at[found]), bursts.burst[found]
    begun, launched = (ops.start_ns[op] + latency for op in (first[burst], bursts.op[found]))
    earliest = np.maximum(launched, begun + bursts.place[found] * low) - room
    left = bursts.left[found]
    latest = done[burst] - (left + 1) * low + room
    start_bound, length_bound = uncertainty.own_start_bound(kernel), kernel.duration_bound_ns
    ends = (left == 0) & (start_bound != MISSING) & (length_bound != MISSING)
    held = (
        *_held(kernel.end_ns - kernel.start_ns, length_bound, low, high),
        *_held(kernel.start_ns, start_bound, earliest, latest),
        *_held(kernel.end_ns, start_bound + length_bound, begun + span[burst] - room,
               done[burst] + room)[ends],
    )  # fmt: skip
    lacking = 2 * (len(bursts.op) - len(found))
    return int(np.sum(held)), len(held) + lacking


def failed(held: int, total: int) -> tuple[Finding, ...]:
    """Return a finding if too many bounds did not hold."""
    if held >= _LEAST_HELD * total:
        return ()
    message = say(
        "The self-test failed: {held} of {total} bounds of kernels that the host timed held.",
        held=held,
        total=total,
    )
    hint = say(
        "The capture ran these kernels behind the recording. Take device times as less certain "
        "than their bounds say, and record again on a quiet host."
    )
    return (Finding("self_test_failed", message, hint, total - held, affects=DEVICE),)


def _constants(sidecar: Sidecar) -> tuple[int, int, int] | None:
    """Return the latency, the time of a return, and how far off the host's times may be."""
    names = ("launch_latency", "sync_return", "launch_latency_spread", "sync_return_spread")
    values = [sidecar.facts.get(f"{name}_ns") for name in names]
    whole = [value for value in values if type(value) is int and value >= 0]
    if len(whole) < len(names):
        return None
    return whole[0], whole[1], _ROOM_NS + whole[2] + whole[3]


def _bursts(ops: Ops, strings: Strings) -> Bursts | None:
    """Return the planted operators, row by row; None without some alone and some in rows."""
    waits = rows_named(ops, strings, ROW)
    test = rows_named(ops, strings, SELF_TEST)
    op = rows_named(ops, strings, _OPERATOR)
    if not len(test) or len(waits) < 2:
        return None
    op = op[ops.thread[op] == ops.thread[test[-1]]]
    waits = waits[np.argsort(ops.start_ns[waits])]
    behind = np.searchsorted(ops.end_ns[waits], ops.start_ns[op], side="right")
    op, behind = (each[(behind > 0) & (behind < len(waits))] for each in (op, behind))
    used, burst, count = np.unique(behind, return_inverse=True, return_counts=True)
    if not (count == 1).any() or not (count > 1).any():
        return None
    place = np.arange(len(op)) - (np.cumsum(count) - count)[burst]
    left = count[burst] - 1 - place
    return Bursts(op, burst, place, left, count, ops.end_ns[waits[used]])


def _kernel_of(kernels: Kernels, op: I64) -> I64:
    """Return the first kernel of each operator, or ``NONE``."""
    order = np.argsort(kernels.op, kind="stable")
    at = np.minimum(np.searchsorted(kernels.op, op, sorter=order), max(len(kernels) - 1, 0))
    if not len(kernels):
        return np.full(len(op), NONE)
    row = order[at]
    return np.where(kernels.op[row] == op, row, NONE)


def _held(value: I64, bound: I64, low: I64 | int, high: I64 | int) -> Bools:
    """Return whether each value, give or take its bound, can lie within the host's limits.

    A value without a bound claims nothing.
    """
    held: Bools = (bound == MISSING) | ((value + bound >= low) & (value - bound <= high))
    return held
