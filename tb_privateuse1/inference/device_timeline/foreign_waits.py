"""Find work that may be a wait for a stream that the elapsed times do not cover.

A program that communicates has another stream for it, for which its own one waits. A wait between
the two events of an operator looks like its kernel. Only the same work elsewhere tells them apart.
"""

from __future__ import annotations

import re

import numpy as np

from tb_privateuse1.inference.device_timeline.kernel_placement import Placed
from tb_privateuse1.inference.device_timeline.phase_results import StreamInput
from tb_privateuse1.trace.groupby import named_rows
from tb_privateuse1.trace.model import END_PINNED, EVENTS
from tb_privateuse1.trace.table import Bools

_COMMUNICATES = re.compile(
    r"^(?!gloo:|mpi:)\w+:(all_?|reduce|broadcast|send|recv|gather|scatter|barrier|coalesced)"
)
"""A process group's own ranges: its backend, then the collective (``nccl:all_reduce``). Gloo and
MPI communicate on the host."""

_LONG_NS, _ALIKE = 50_000, 3
"""Work of less time is no wait for communication among ranks; from that many equal calls on, they
show how long one takes."""


def communicates(stream: StreamInput) -> bool:
    """Return whether the program communicates on the device, as its ranges show."""
    named = named_rows(stream.strings.all, stream.ops.name, _COMMUNICATES.match)
    return bool(named.any())


def possible_waits(stream: StreamInput, placed: Placed) -> Bools:
    """Return the kernels that nothing tells from a wait for communication."""
    if stream.joins is not None or stream.measured is not None or not communicates(stream):
        return np.zeros(len(placed.row), np.bool_)
    key = stream.keys[placed.row]
    alone = np.bincount(key)[key] < _ALIKE
    shown = np.isin(placed.evidence, (EVENTS, END_PINNED))
    lone: Bools = shown & alone & (placed.length > _LONG_NS)
    return lone
