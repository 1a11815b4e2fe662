"""Find calls that take longer than a larger call of the same operator: what it reaches here.

The inputs of such a call fit into those of the larger one, and the rest may be zeros. So the larger
call could do its work, and no rate, data sheet or number of operations is assumed. A thin product
is never compared with the rate of a thick one, but with the whole time of one that contains it.

Fourier transforms of a length with a great prime factor are outdone as well, by a larger length
that the recording need not have: libraries document the factors that they are fast for.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.kinds_of_work import KINDS
from tb_privateuse1.analysis.roofs.compared_calls import (
    Calls,
    containment,
    distinct,
    is_own,
    memory_ns,
    working_time,
)
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import distinct_calls, read_call
from tb_privateuse1.trace.device_times import is_on_host_alone
from tb_privateuse1.trace.groupby import group_rows, named_rows, split_by_value
from tb_privateuse1.trace.model import MISSING, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64, Bools, Table

MOST_FACTOR = 1.5
"""A call that takes longer than this many times is outdone, as of ``shape_outliers``."""
LEAST_CALLS = 3
"""Of three the upper quartile is the longest."""
_STEADY = 2.0
"""The upper quartile by the least: calls that differ more waited for others, as threads do that
have no core of their own."""
LEAST_NS = 50_000
"""Shorter calls wait for their start, as ``reach`` says of kernels."""
_LEAST_SHARE = 0.01
"""Of the time of all calls: less is not worth a look."""


class OutdoneCalls(Table, frozen=True):
    """Distinct calls that a larger one outdoes, the most time beyond it first."""

    op: I64
    """The row of the first of them in ``trace.ops``."""
    peer: I64
    calls: I64
    least_ns: I64
    """Of the fastest of them."""
    peer_ns: I64
    """The median of the larger call."""
    is_sure: Bools
    """Nothing but the larger sizes differs, and torch's operator asks for no values."""


class OutdoneRows(Table, frozen=True):
    """Each single one of these calls."""

    op: I64
    call: I64
    """Its row in ``OutdoneCalls``."""
    share: F64
    """Of its time, what even the fastest of its equals takes beyond the larger call."""


def outdone_calls(trace: Trace, chosen: Bools) -> tuple[OutdoneCalls, OutdoneRows]:
    """Return the outdone calls among the chosen rows of ``trace.ops``, and the rows of each."""
    rows, shortest, longest = working_time(trace, chosen)
    calls, member = distinct(trace, rows, shortest, longest)
    candidate = (calls.calls >= LEAST_CALLS) & (calls.median_ns >= LEAST_NS)
    candidate &= calls.high_ns <= _STEADY * calls.least_ns
    candidate &= calls.total_ns >= _LEAST_SHARE * calls.total_ns.sum()
    found: list[tuple[int, int, bool]] = []
    for at in np.flatnonzero(candidate & (calls.kind != MISSING)).tolist():
        peer, is_sure = _best_peer(trace, calls, at)
        if peer >= 0:
            found.append((at, peer, is_sure))
    found.sort(key=lambda one: -_beyond_ns(calls, *one[:2]))
    outdone, by = (np.array([one[i] for one in found], np.int64) for i in (0, 1))
    table = OutdoneCalls(
        op=calls.op[outdone],
        peer=calls.op[by],
        calls=calls.calls[outdone],
        least_ns=calls.least_ns[outdone],
        peer_ns=calls.median_ns[by],
        is_sure=np.array([one[2] for one in found], np.bool_),
    )
    number = np.full(len(calls), -1, np.int64)
    number[outdone] = np.arange(len(found))
    call = number[member]
    is_outdone = call >= 0
    call = call[is_outdone]
    beyond: F64 = (table.least_ns - table.peer_ns)[call] / np.maximum(longest[is_outdone], 1)
    return table, OutdoneRows(op=rows[is_outdone], call=call, share=np.clip(beyond, 0.0, 1.0))


def _beyond_ns(calls: Calls, at: int, peer: int) -> int:
    return int(calls.calls[at] * (calls.least_ns[at] - calls.median_ns[peer]))


def _best_peer(trace: Trace, calls: Calls, at: int) -> tuple[int, bool]:
    """Return the fastest larger call, or -1, and whether it surely does the same."""
    ops, op = trace.ops, calls.op
    same = (ops.name[op] == ops.name[op[at]]) & (ops.dtypes[op] == ops.dtypes[op[at]])
    same &= (calls.calls >= LEAST_CALLS) & (MOST_FACTOR * calls.high_ns < calls.least_ns[at])
    # One after the other: else the machine may have been busy during the calls of one of them.
    same &= (calls.first_ns <= calls.last_ns[at]) & (calls.last_ns >= calls.first_ns[at])
    peers = np.flatnonzero(same)
    if not len(peers):
        return -1, False
    allowed = memory_ns(trace, calls, at)
    peers = peers[MOST_FACTOR * calls.high_ns[peers] + allowed < calls.least_ns[at]]
    kind = KINDS[int(calls.kind[at])]
    for peer in peers[np.argsort(calls.median_ns[peers], kind="stable")].tolist():
        relation = containment(trace, int(op[at]), int(op[peer]), kind)
        if relation is not None:
            return peer, relation == "sizes" and not is_own(trace.text(ops.name[op[at]]))
    return -1, False


FACTORS = (2, 3, 5, 7)
"""Lengths of these prime factors are fast everywhere (cuFFT's and scipy.fft's documentation)."""
MULTIPLE = 16
"""oneMKL is slower for lengths of few factors 2, such as 525 and 6561: up to four times."""
MOST_PRIME = 127
"""cuFFT factors lengths up to this prime and takes Bluestein's algorithm for others (its
documentation). oneMKL takes 2.6 to 12 times as long for these as for the next multiple of 16 of
fast factors (measured: 19 lengths of real numbers from 131 to 13,100)."""
_BLUESTEIN = 4
"""It takes two transforms of at least twice the points instead of one, at the least."""
_TRANSFORM = re.compile(r"^aten::_fft_(r2c|c2r|c2c)$")
_FORWARD, _INVERSE = ("aten::fft_fft", "aten::fft_rfft"), ("aten::fft_ifft", "aten::fft_irfft")
_GRADIENT = re.compile(r"Backward\d*$")
_PAIR = 2
"""Transforms ahead of each inverse one: a signal's and a filter's."""

Role = Literal["forward", "inverse", "gradient"]


class SlowLength(Struct, frozen=True, eq=False):
    """Transforms of a length with a great prime factor, and of inputs that are padded to it."""

    rows: I64
    """In ``trace.ops``."""
    length: int
    better: int
    """The next multiple of 16 whose prime factors are small."""
    share: float
    """Of the time, what Bluestein's algorithm takes beyond the better length."""
    is_convolution: bool
    """Pairs of inputs are padded, and there is an inverse of the same length: it may be longer.
    Else the program may need the frequencies of this length."""


def slow_lengths(trace: Trace, chosen: Bools) -> list[SlowLength]:
    """Return the slow lengths among the chosen rows of ``trace.ops`` that the program chose.

    A length is chosen if each forward transform pads its input to it. That of an input as it is
    decides which frequencies there are, and what a circular convolution is.
    """
    ops = trace.ops
    is_transform = named_rows(
        trace.strings, ops.name, lambda name: bool(_TRANSFORM.match(name))
    ) & (ops.kind == OPERATOR)
    rows = np.flatnonzero(chosen & is_transform & (ops.shapes >= 0))
    is_long = ops.end_ns[rows] - ops.start_ns[rows] >= LEAST_NS
    is_long |= not is_on_host_alone(trace)
    number = np.append(distinct_calls(trace).number, NONE)
    first, group = group_rows(number[rows], number[ops.parent[rows]])
    read = [_length_and_role(trace, int(row)) for row in rows[first]]
    lengths = np.array([one[0] for one in read], np.int64)[group]
    found = []
    for length, at in split_by_value(lengths):
        roles = [read[one][1] for one in group[at].tolist()]
        forward, inverse = roles.count("forward"), roles.count("inverse")
        if forward and None not in roles and _is_slow(int(length)):
            better = _better(int(length))
            found.append(
                SlowLength(
                    rows=rows[at[is_long[at]]],
                    length=int(length),
                    better=better,
                    share=max(1 - better / int(length) / _BLUESTEIN, 0.0),
                    is_convolution=0 < _PAIR * inverse <= forward,
                )
            )
    return found


def _length_and_role(trace: Trace, row: int) -> tuple[int, Role | None]:
    """Return a transform's length, 0 if it is unknown or of several axes, and what it is for.

    The role is None where an input as it is, or another operator, decides the length.
    """
    call, parent = read_call(trace, row), int(trace.ops.parent[row])
    try:
        if call is None or parent < 0 or len(axes := call.integers(1)) != 1:
            return 0, None
        own = call.tensor(0).shape
        length = call.integer(3) if call.name.endswith("c2r") else own[axes[0]]
        return length, _role(trace, parent, axes[0], length)
    except (UnknownWork, IndexError):
        return 0, None


def _role(trace: Trace, parent: int, axis: int, length: int) -> Role | None:
    name = trace.text(trace.ops.name[parent])
    if _GRADIENT.search(name):
        return "gradient"
    if name in _INVERSE:
        return "inverse"
    outer: Arguments | None = read_call(trace, parent) if name in _FORWARD else None
    return "forward" if outer is not None and outer.tensor(0).shape[axis] < length else None


def _is_slow(length: int) -> bool:
    """Return whether a length has a prime factor beyond ``MOST_PRIME``."""
    for factor in range(2, MOST_PRIME + 1):
        while length > 1 and length % factor == 0:
            length //= factor
    return length > 1


def _better(length: int) -> int:
    """Return the next multiple of ``MULTIPLE`` that has no prime factors but ``FACTORS``."""
    least, (even, *others) = -(-length // MULTIPLE), FACTORS
    exponents = range(least.bit_length())
    powers = ([one for at in exponents if (one := factor**at) < 2 * least] for factor in others)
    found = 1 << least.bit_length()
    for odd in map(math.prod, itertools.product(*powers)):
        twos: int = even ** (-(-least // odd) - 1).bit_length()
        found = min(found, odd * twos)
    return MULTIPLE * found
