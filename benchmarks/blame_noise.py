"""Noise of real recordings: by how much the same work takes longer or shorter, piece by piece.

A recording with several steps compares the n-th piece of each step with the median of the steps;
the first step is left out, since the profiler starts in it on all ranks alike. One with a single
step compares each kernel and the gap behind it with the median of the same pair of kernel names,
layer by layer. Without steps, gaps may be pauses between requests, and only the kernels count.
Neighbors stay neighbors, so that bursts and slow drifts remain.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.replay_accuracy import read
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import F64

PIECES = 16
"""Per step."""
_LEAST_KERNELS = 400
_LEAST_PAIRS = 5
_SAME_WORK = 1.5
"""Kernels of one name whose quartiles differ by more do different work."""


@dataclass(frozen=True)
class Noise:
    """Rows are steps or parts of one; a row has the factors of ``PIECES`` successive pieces."""

    name: str
    factors: F64

    def draw(self, random: np.random.Generator, ranks: int, steps: int) -> F64:
        """Return factors, ranks by steps by pieces. Half of the steps follow the one before."""
        rows = random.integers(len(self.factors), size=(ranks, steps))
        follows = random.random((ranks, steps)) < 0.5
        for step in range(1, steps):
            next_row = (rows[:, step - 1] + 1) % len(self.factors)
            rows[:, step] = np.where(follows[:, step], next_row, rows[:, step])
        turn = random.integers(PIECES, size=(ranks, steps))
        place = (np.arange(PIECES) + turn[:, :, None]) % PIECES
        return self.factors[rows[:, :, None], place]


def is_aside(name: str) -> bool:
    """Return whether a recording's noise is for the last check only, by a hash of its name."""
    return zlib.crc32(name.encode()) % 3 == 0


def noises(folder: Path) -> list[Noise]:
    """Return the noise of each recording below a folder that has enough kernels."""
    found = []
    for name in sorted({path.parent for path in folder.glob("*/*/*.pt.trace.json*")}):
        if name.parent.name in ("cpu", "privateuse1", "privateuse1_more"):
            continue  # simulated, or without a device
        trace = read(sorted(name.glob("*.pt.trace.json*"))[0])
        factors = _factors(trace)
        if factors is not None:
            found.append(Noise(name.name, factors))
    return found


def _factors(trace: Trace) -> F64 | None:
    kernels = trace.kernels
    rows = np.flatnonzero(~kernels.communication)
    rows = rows[np.argsort(kernels.start_ns[rows], kind="stable")]
    if len(rows) < _LEAST_KERNELS:
        return None
    several = _between_steps(trace, rows) if len(trace.steps) > 2 else None
    return several if several is not None else _between_layers(trace, rows)


def _between_steps(trace: Trace, rows: NDArray[np.int64]) -> F64 | None:
    kernels = trace.kernels
    times = []
    for step in range(1, len(trace.steps)):
        start = kernels.start_ns[rows[kernels.step[rows] == step]]
        if len(start) <= PIECES:
            return None
        at = np.linspace(0, len(start) - 1, PIECES + 1).astype(int)
        times.append(np.diff(start[at]))
    table = np.array(times, np.float64)
    return table / np.maximum(np.median(table, axis=0), 1.0)


def _between_layers(trace: Trace, rows: NDArray[np.int64]) -> F64 | None:
    kernels = trace.kernels
    took = np.diff(kernels.start_ns[rows]).astype(np.float64)
    if not any("ProfilerStep" in trace.text(name) for name in trace.steps.name):
        took = (kernels.end_ns - kernels.start_ns)[rows[:-1]].astype(np.float64)
    name = kernels.name[rows]
    first, pair = group_rows(name[:-1], name[1:])
    count = np.bincount(pair, minlength=len(first))
    usual = np.array([np.median(took[pair == i]) for i in range(len(first))])
    spread = np.array([_quartile_ratio(took[pair == i]) for i in range(len(first))])
    fits = (count[pair] >= _LEAST_PAIRS) & (usual[pair] > 0) & (spread[pair] < _SAME_WORK)
    took, usual_of = took[fits], usual[pair][fits]
    each = max(len(took) // (PIECES * 8), 1)
    pieces = len(took) // each // PIECES * PIECES
    if not pieces:
        return None
    shape = (pieces, each)
    total = took[: pieces * each].reshape(shape).sum(axis=1)
    expected = usual_of[: pieces * each].reshape(shape).sum(axis=1)
    return (total / expected).reshape(-1, PIECES)


def _quartile_ratio(times: F64) -> float:
    low, high = np.quantile(times, [0.25, 0.75])
    return float(high / max(low, 1.0))
