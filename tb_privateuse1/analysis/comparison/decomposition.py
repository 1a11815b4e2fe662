"""Find operators that launch several kernels in one trace, and few in another one.

So a backend that builds an operator of others shows beside one that has a kernel for it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.steps import training_phases
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import flag_names, lookup
from tb_privateuse1.trace.model import KERNEL, OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_PARTS, _TIMES = 3, 2
"""Two parts are how some kernels are made everywhere. It launches at least twice as many."""

_LEAST = 0.01
"""Share of the device's time below which it is no matter."""


class Decomposition(Struct, frozen=True):
    """An operator, or an optimizer's step, that launches more kernels than in the base."""

    name: str
    base_kernels: float
    now_kernels: float
    """Per call that launches any."""
    share: float
    """Of the device's time in the chosen steps of the new trace."""


class _Calls(Struct, frozen=True):
    """By row of ``trace.ops``: kernels and device time in it, with all that is inside."""

    kernels: I64
    time_ns: I64
    counted: Bools
    """It is a call in the chosen steps with kernels, and in no call of the same name."""

    def per_call(self, trace: Trace) -> dict[str, float]:
        """Return the mean number of kernels of a call by name."""
        rows = np.flatnonzero(self.counted)
        names, group = np.unique(trace.ops.name[rows], return_inverse=True)
        total = groupby.sums(group, self.kernels[rows], len(names))
        mean: F64 = total / np.maximum(np.bincount(group), 1)
        return dict(zip(map(trace.text, names.tolist()), mean.tolist(), strict=True))


def decompositions(
    base: Trace, trace: Trace, base_steps: I64, now_steps: I64
) -> tuple[Decomposition, ...]:
    """Return operators that launch several times as many kernels, those with most time first.

    Of nested ones it is the innermost that both traces have: the outer ones launch more because of
    it. Steps are rows of each trace's ``steps``.
    """
    before, calls = _calls(base, base_steps), _calls(trace, now_steps)
    peer, own = before.per_call(base), calls.per_call(trace)
    more = {
        name
        for name, kernels in own.items()
        if name in peer and kernels >= max(_PARTS, _TIMES * peer[name])
    }
    named = flag_names(trace.strings, more.__contains__)
    found = calls.counted & named[trace.ops.name]
    inside = groupby.with_descendants(trace.ops.parent, found.astype(np.int64)) - found
    rows = np.flatnonzero(found & (inside == 0))
    names, group = np.unique(trace.ops.name[rows], return_inverse=True)
    time = groupby.sums(group, calls.time_ns[rows], len(names))
    whole = _device_ns(trace, now_steps)
    order = np.argsort(-time, kind="stable")
    texts = [trace.text(name) for name in names.tolist()]
    return tuple(
        Decomposition(texts[i], peer[texts[i]], own[texts[i]], int(time[i]) / whole)
        for i in order.tolist()
        if time[i] >= _LEAST * whole
    )


def _calls(trace: Trace, steps: I64) -> _Calls:
    ops, kernels = trace.ops, trace.kernels
    rows = np.flatnonzero((kernels.kind == KERNEL) & ~kernels.communication & (kernels.op >= 0))
    rows = rows[np.isin(kernels.step[rows], steps)]
    count = groupby.sums(kernels.op[rows], np.ones(len(rows), np.int64), len(ops))
    time = groupby.sums(kernels.op[rows], kernels.end_ns[rows] - kernels.start_ns[rows], len(ops))
    whole = groupby.with_descendants(ops.parent, count)
    optimizes = training_phases.phase_kinds(trace) == training_phases.STEPPING
    wanted = (whole > 0) & ((ops.kind == OPERATOR) | optimizes)
    outermost = ops.parent < 0
    outermost |= lookup(ops.name, ops.parent, -1) != ops.name
    return _Calls(whole, groupby.with_descendants(ops.parent, time), wanted & outermost)


def _device_ns(trace: Trace, steps: I64) -> int:
    kernels = trace.kernels
    inside = np.isin(kernels.step, steps)
    return max(int((kernels.end_ns - kernels.start_ns)[inside].sum()), 1)
