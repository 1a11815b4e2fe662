"""Curves over a trace's time: memory, utilisation of the device, kernels launched and waiting.

Prepared once per trace; a window of one costs what the screen can show (and for the steps that
lie within it one look each, in blocks where they are many).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1 import allocations, breakdown
from tb_privateuse1.trace import I64, Trace

LEVEL, SHARE = range(2)
"""``Curve.kind``."""

_BLOCK = 128

Steps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Times in ns, sorted, and the value from each on."""


@dataclass(frozen=True)
class Curve:
    """``LEVEL``: ``value`` holds from ``at_ns`` to the next entry. ``SHARE``: it is the ns busy
    up to ``at_ns``, linear between entries; shown is the busy share of each stretch of time.
    """

    name: str
    unit: str
    """``bytes``, ``kernels`` or ``share``."""
    kind: int
    at_ns: I64
    value: I64
    most: I64
    """The greatest value of each ``_BLOCK`` entries."""

    def window(self, start_ns: int, end_ns: int, bins: int) -> Steps:
        """The curve in a window: of each of ``bins`` parts its greatest value, or its share.

        A part in which nothing changes has no entry of its own.
        """
        # Whole ns: a search for floats among integers would convert all of these.
        edges = np.linspace(start_ns, end_ns, bins + 1).astype(np.int64)
        at = np.searchsorted(self.at_ns, edges)
        times = edges[:-1].astype(np.float64)
        if self.kind == SHARE:
            busy = self._until(edges, at)
            return times, np.diff(busy) / np.maximum(np.diff(edges), 1)
        # What holds at a part's start counts for it, too.
        low = np.maximum(np.searchsorted(self.at_ns, edges[:-1], side="right") - 1, 0)
        value = self._greatest(low, np.maximum(at[1:], low + 1))
        changed = np.concatenate(([True], np.diff(value) != 0))
        return times[changed], value[changed].astype(np.float64)

    def _until(self, edges: I64, at: I64) -> I64:
        """The ns busy up to each edge; ``at`` is the first entry not before it."""
        before, after = np.maximum(at - 1, 0), np.minimum(at, len(self.value) - 1)
        rises = self.value[after] > self.value[before]
        passed = np.maximum(edges - self.at_ns[before], 0)
        return self.value[before] + np.where(rises & (at > 0), passed, 0)

    def _greatest(self, low: I64, high: I64) -> I64:
        """The greatest value of entries [low, high) of each part; parts follow each other."""
        first, last = -(-low // _BLOCK), high // _BLOCK
        whole = last > first
        best = np.maximum(
            _reduced(self.value, low, np.where(whole, first * _BLOCK, high)),
            _reduced(self.value, np.where(whole, last * _BLOCK, low), high),
        )
        inner = _reduced(self.most, np.where(whole, first, 0), np.where(whole, last, 1))
        return np.where(whole, np.maximum(best, inner), best)


def _reduced(values: I64, low: I64, high: I64) -> I64:
    """The maximum of values [low, high) of each pair; the least int64 where there are none."""
    counts = np.maximum(high - low, 0)
    best = np.full(len(low), np.iinfo(np.int64).min)
    some = counts > 0
    first = np.cumsum(counts[some]) - counts[some]
    looked = np.arange(counts.sum()) + np.repeat(low[some] - first, counts[some])
    if len(looked):
        best[some] = np.maximum.reduceat(values[looked], first)
    return best


def curves(trace: Trace) -> tuple[Curve, ...]:
    """All that the trace has; what it does not tell has no curve."""
    return (*_utilisation(trace), *_waiting(trace), *_memory(trace))


def _curve(name: str, unit: str, kind: int, at_ns: I64, value: I64) -> Curve:
    blocks = np.maximum.reduceat(value, np.arange(0, len(value), _BLOCK))
    return Curve(name, unit, kind, at_ns, value, blocks)


def _utilisation(trace: Trace) -> list[Curve]:
    found = []
    of_kernel = trace.lanes.device[trace.kernels.lane]
    for device in np.unique(of_kernel).tolist():
        start, end = breakdown.busy(trace.kernels.take(of_kernel == device))
        if len(start):
            until = np.cumsum(end - start)
            at = np.stack((start, end), axis=1).ravel()
            busy = np.stack((until - (end - start), until), axis=1).ravel()
            found.append(_curve(f"Utilisation of device {device}", "share", SHARE, at, busy))
    return found


def _waiting(trace: Trace) -> list[Curve]:
    """Kernels that are launched (their launch has started) and have not started to run."""
    linked = trace.kernels.launch >= 0
    if not linked.any():
        return []
    launched = trace.launches.start_ns[trace.kernels.launch[linked]]
    started = np.maximum(trace.kernels.start_ns[linked], launched)
    at = np.concatenate(([0], launched, started))
    order = np.argsort(at, kind="stable")
    change = np.concatenate(([0], np.repeat((1, -1), len(launched))))[order]
    return [_curve("Kernels waiting", "kernels", LEVEL, at[order], np.cumsum(change))]


def _memory(trace: Trace) -> list[Curve]:
    found = []
    for device in allocations.devices(trace.memory):
        level = allocations.level(allocations.of_device(trace.memory, device))
        name = f"Memory of {allocations.label(trace, device)}"
        if len(level.at_ns):
            at = np.append(np.minimum(0, level.at_ns[0]), level.at_ns)
            found.append(_curve(name, "bytes", LEVEL, at, np.append(level.before, level.allocated)))
    return found
