"""Iterations of generation by what repeats, where neither annotations nor shapes are recorded.

A repetition is one of generation if each round runs attention, or looks ids up in a table, and then
chooses the next token. What repeats tells no phase.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tb_privateuse1.analysis.kernel_names.readable_name import read_name
from tb_privateuse1.analysis.recording.iterations import iterations
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import containing
from tb_privateuse1.trace.model import KERNEL, OPERATOR, Trace
from tb_privateuse1.trace.table import I32, I64, Bools

_CHOICES = ("argmax", "multinomial", "topk")
"""Operators that choose from scores: greedy, by chance, and from the best ones."""


def repeated_iterations(trace: Trace) -> list[tuple[int, int, int]]:
    """Return thread, start and end in ns of each round that generates; none if one does not."""
    found = iterations(trace)
    if found is None or found.source != "repetition" or len(found.start_ns) < 2:
        return []
    if (call_tree.linked_forward(trace) >= 0).any():
        return []
    start, end = found.start_ns, found.end_ns
    ops = trace.ops
    chosen = _named(trace, lambda word: word in _CHOICES)
    looked = _named(trace, lambda word: word == "embedding")
    reads = _have(start, end, _attention_starts(trace)) | _have(start, end, ops.start_ns[looked])
    if not (reads & _have(start, end, ops.start_ns[chosen])).all():
        return []
    thread = int(np.argmax(np.bincount(ops.thread[chosen])))
    return [(thread, *one) for one in zip(start.tolist(), end.tolist(), strict=True)]


def _named(trace: Trace, wanted: Callable[[str], bool]) -> Bools:
    named = groupby.named_rows(
        trace.strings, trace.ops.name, lambda name: wanted(reduced_name(name))
    )
    rows: Bools = named & (trace.ops.kind == OPERATOR)
    return rows


def _attention_starts(trace: Trace) -> I64:
    """Return when the host launches the kernels of attention."""
    kernels = trace.kernels
    named = groupby.named_rows(
        trace.strings, kernels.name, lambda name: read_name(name).family == "attention"
    )
    rows = np.flatnonzero(named & (kernels.kind == KERNEL) & (kernels.launch >= 0))
    return trace.launches.start_ns[kernels.launch[rows]]


def _have(start: I64, end: I64, at_ns: I64) -> Bools:
    """Return which rounds have one of some instants."""
    flags = np.zeros(len(start) + 1, np.bool_)
    flags[containing(start, end, at_ns)] = True
    return flags[:-1]


def outermost_work(trace: Trace, thread: int) -> tuple[I32, I64, I64]:
    """Return names, starts and ends of the outermost operators of a thread, in order of time."""
    ops = trace.ops
    rows = np.flatnonzero(groupby.outermost_operators(ops) & (ops.thread == thread))
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    return ops.name[rows], ops.start_ns[rows], ops.end_ns[rows]


def common_end(names: I32, before: int, first: int, stop: int) -> int:
    """Return where a round ends that begins at ``first``: it repeats the one from ``before`` on."""
    length = min(first - before, stop - first)
    same = names[before : before + length] == names[first : first + length]
    return first + (length if same.all() else int(np.argmin(same)))
