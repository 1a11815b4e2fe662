"""Find where a program saves checkpoints: calls that copy tensors to the host and write them.

A checkpoint is recognized by what it does, not by who writes it: within one call of Python tensors
are copied, bytes are written, and nothing is computed on the device. Single values are no state: a
line of progress that reads a few losses and writes them copies no tensor of more than one element.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idle import launch_times
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import latest_not_after, lookup
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MEMCPY, MEMSET, MISSING, Trace
from tb_privateuse1.trace.table import I64, Bools

_VALUE = 16
"""Bytes of the largest element that torch has, a complex number of two float64."""
_READ = "aten::_local_scalar_dense"

_WRITES = re.compile(
    r"^<built-in (method|function) (\w+_)?"
    r"(write|writelines|dump|dumps|fsync|serialize|save)(_\w+)?\b"
)
"""Names of functions that write bytes or serialize objects, in any library."""


class StateWrites(Struct, frozen=True, eq=False):
    """The outermost such calls, and the copies that they launch."""

    frames: I64
    kernels: I64


@memoize
def state_writes(trace: Trace) -> StateWrites:
    """Return the outermost Python frames that copy tensors and write; empty without stacks."""
    frames, kernels = trace.frames, trace.kernels
    at = launch_times.likely_launch(trace, np.arange(len(kernels)))
    known = at != MISSING
    moves = np.isin(kernels.kind, (MEMCPY, MEMSET))
    copies = moves & ~_single_values(trace)
    writes = named_writes(trace)
    driving = lookup(thread_roles(trace).driving, frames.thread, False)
    candidate = (
        driving
        & (_number(np.sort(at[known & ~moves], kind="stable"), frames.start_ns, frames.end_ns) == 0)
        & (_number(np.sort(at[known & copies], kind="stable"), frames.start_ns, frames.end_ns) > 0)
        & (
            _number(np.sort(frames.start_ns[writes], kind="stable"), frames.start_ns, frames.end_ns)
            > 0
        )
    )
    rows = np.flatnonzero(candidate & ~lookup(candidate, frames.parent, False))
    order = rows[np.argsort(frames.start_ns[rows], kind="stable")]
    place = latest_not_after(frames.start_ns[order], at)
    inside = known & moves & (place >= 0) & (at <= lookup(frames.end_ns[order], place, 0))
    return StateWrites(rows, np.flatnonzero(inside))


def _single_values(trace: Trace) -> Bools:
    """Return which device activities copy one element, by their bytes or the operator."""
    kernels = trace.kernels
    reads = named_rows(trace.strings, trace.ops.name, _READ.__eq__)
    of_read = call_tree.around(trace.ops.parent, kernels.op, reads) >= 0
    found: Bools = of_read | ((kernels.bytes >= 0) & (kernels.bytes <= _VALUE))
    return found


def _number(times: I64, start_ns: I64, end_ns: I64) -> I64:
    """Return how many of the sorted times lie in each range."""
    found: I64 = np.searchsorted(times, end_ns, side="right") - np.searchsorted(times, start_ns)
    return found


def named_writes(trace: Trace) -> I64:
    """Return the rows of ``trace.frames`` that write bytes or serialize objects, by their names."""
    return np.flatnonzero(named_rows(trace.strings, trace.frames.name, _WRITES.match))
