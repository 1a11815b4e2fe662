"""Judge a recording's bounds by kernels that the capture planted and the host timed.

Behind the window the capture runs one operator alone and in rows, each time until the device is
idle (``tb_privateuse1::self_test``). The inference sees these operators as any others. The host
times them without it: what a row takes longer than one alone, divided by the kernels that it has
more, is the time from a kernel to the next. What launches and waits take is in both and cancels.
The time in which the thread did not look may be in neither (inference.md, section 15).
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
from tb_privateuse1.trace.inference_basis import InferenceBasis
from tb_privateuse1.trace.model import MISSING, NONE, Kernels, Ops
from tb_privateuse1.trace.table import HALF_INT64, I64, Bools

_OPERATOR = "aten::mul_"

_ROOM_NS = 500
"""How far off the host's time of a row may be beside the scatter of its tries."""

_SIZES, _TRIES = 2, 2
"""One operator alone, and a row of some; and the least number of tries of each."""

_VAGUE = 0.2
"""How far apart the host's limits may be, as a share: wider ones judge nothing."""

_LAUNCHES = 2
"""How many launches a kernel must take at the least: else the host is timed, not the device."""

_LEAST_HELD = 0.9
"""The share of bounds that must hold. They are meant to hold in 19 of 20 cases; errors that a
recording's kernels share make single recordings better or worse."""


class Rows(Struct, frozen=True):
    """The planted operators ``op`` in order, and per row how many there are and its time in ns.

    ``row`` is the row of each operator, ``place`` its number in it. The row took the device and
    the host ``least_ns`` to ``most_ns``: without and with the time in which the host did not look.
    """

    op: I64
    row: I64
    place: I64
    count: I64
    least_ns: I64
    most_ns: I64


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
    ops: Ops, strings: Strings, sidecar: Sidecar, basis: InferenceBasis, kernels: Kernels
) -> tuple[int, int] | None:
    """Return how many bounds of planted kernels held, and how many there are.

    They are the kernels' durations, and their starts in a row against the first. None if nothing
    was planted, or if the host could not time it.
    """
    rows = _rows(ops, strings, sidecar)
    period = None if rows is None else _period(rows, ops, _between(basis))
    if rows is None or period is None:
        return None
    op, place = rows.op, rows.place
    at = _kernel_of(kernels, op)
    head = op[np.searchsorted(rows.row, rows.row)]
    first = at[np.searchsorted(rows.row, rows.row)]
    kernel = at[at >= 0]
    length = kernels.end_ns - kernels.start_ns
    # The same work scatters, too, as that alone shows.
    room = _ROOM_NS + int(np.ptp(rows.least_ns[rows.count == 1]))
    low, high = period
    least = low - _between(basis) - room
    lengths = _held(length[kernel], kernels.duration_bound_ns[kernel], least, high + room)
    # Only what was launched in time follows at once.
    prompt = ops.end_ns[op] - ops.start_ns[head] < place * low
    follows = np.flatnonzero((place > 0) & (at >= 0) & (first >= 0) & prompt)
    ahead, behind = first[follows], at[follows]
    own = uncertainty.own_start_bound(kernels)
    unknown = (own[ahead] == MISSING) | (own[behind] == MISSING)
    bound = np.where(unknown, MISSING, own[ahead] + own[behind])
    since = kernels.start_ns[behind] - kernels.start_ns[ahead]
    due = place[follows]
    starts = _held(since, bound, due * low - room, due * high + room)
    lacking = int((at < 0).sum())
    return int(lengths.sum() + starts.sum()), len(lengths) + len(starts) + lacking


def _period(rows: Rows, ops: Ops, between: int) -> tuple[int, int] | None:
    """Return limits of the time from a kernel to the next in a row; None if the host cannot tell.

    A thread that lost its core, or Python's lock, only makes a row seem longer. Only what is known
    of it is left out of ``least_ns``, so that the least of all tries counts.
    """
    alone = rows.count == 1
    one, many = ((rows.least_ns[m].min(), rows.most_ns[m].min()) for m in (alone, ~alone))
    more = int(rows.count.max()) - 1
    low, high = int(many[0] - one[1]) // more, int(many[1] - one[0]) // more
    launches = np.diff(ops.start_ns[rows.op])[rows.place[1:] > 0]
    timed = low >= _LAUNCHES * int(np.median(launches)) and high - low <= _VAGUE * low
    # One alone takes the device as long, so that longer rows were all held up.
    return (low, high) if timed and high <= int(one[1]) + between else None


def _between(basis: InferenceBasis) -> int:
    """Return the most that may lie between two kernels of a row: two events and a gap, in ns."""
    most = {one.name: one.most_ns or one.value_ns for one in basis.constants}
    if "event_cost" not in most or "kernel_gap" not in most:
        return int(np.iinfo(np.int32).max)
    return 2 * most["event_cost"] + most["kernel_gap"]


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


def _rows(ops: Ops, strings: Strings, sidecar: Sidecar) -> Rows | None:
    """Return the planted operators, row by row; None without several alone and several rows."""
    stated = sidecar.facts.get("self_test")
    if not isinstance(stated, list) or not all(_is_row(row) for row in stated):
        return None
    count, taken, waited = np.array(stated, np.int64).reshape(-1, 3).T
    sizes = np.unique(count)
    few = min((count == size).sum() for size in sizes) if len(sizes) else 0
    if len(sizes) != _SIZES or sizes[0] != 1 or few < _TRIES:
        return None
    inside = inside_ranges(ops, rows_named(ops, strings, SELF_TEST))
    op = rows_named(ops, strings, _OPERATOR)
    op = op[inside[op]]
    op = op[np.argsort(ops.start_ns[op])][-int(count.sum()) :]
    if len(op) < count.sum():
        return None
    row = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(op)) - (np.cumsum(count) - count)[row]
    return Rows(op, row, place, count, taken - waited, taken)


def _is_row(row: object) -> bool:
    """Return whether a row of the sidecar is three times or counts."""
    return (
        isinstance(row, list)
        and len(row) == len(("operators", "taken", "waited"))
        and all(type(one) is int and 0 <= one < HALF_INT64 for one in row)
        and row[0] > 0
    )


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
