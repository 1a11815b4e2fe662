"""Durations that other recordings of the run saw under a backlog, for work that hides in this one.

The same operator on the same shapes runs in every span and, as a rule, on every rank; one recording
in which the device was behind (or was kept busy, see priming in docs/guide/capture.md) tells how
long it takes in all. What this trace saw itself goes first. docs/internals/inference.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tb_privateuse1.inference.base import Strings
from tb_privateuse1.inference.device_timeline import duration_catalogue, launching_operators
from tb_privateuse1.inference.device_timeline.duration_catalogue import LEAST, Instances
from tb_privateuse1.trace.model import EVENTS, NONE, Ops, Trace
from tb_privateuse1.trace.table import I32, I64

Others = Callable[[], Sequence[Trace]]
"""Other recordings of the run; they are asked for only if they can be of use."""

_WORTH = 0.01
"""The share of kernels whose durations are unknown from which others are asked."""

_DEVICES = 0.05
"""How much faster or slower another device of the job, or the same one later, may run."""

Label = tuple[str, str, str, int]
"""Operator, shapes, dtypes and the place of the kernel among the operator's, from its end."""


@dataclass(frozen=True)
class SeenDurations:
    """A row per kernel seen elsewhere: which label, its length and limits in ns."""

    labels: list[Label]
    label: I64
    length: I64
    low: I64
    high: I64


def add_recordings(
    own: Instances,
    op: I64,
    last: I64,
    keys: I64,
    ops: Ops,
    strings: Strings,
    others: Others | None,
) -> tuple[Instances, int, tuple[str, ...]]:
    """The instances with those of other recordings appended, how many kernels these help, and
    the names of their files.

    ``op`` and ``last`` are the operator and the end of the segment of each own instance, ``keys``
    those of the operators (``launchers.keys``). Others
    count where fewer than ``LEAST`` of a key were seen here.
    """
    count = np.bincount(own.key[own.seen], minlength=int(own.key.max(initial=-1)) + 1)
    hidden = ~own.seen & own.shaped & (count[own.key] == 0)
    if others is None or hidden.sum() < max(1, _WORTH * len(op)):
        return own, 0, ()
    labels, label = _labels(op, last, keys, ops, strings.all)
    few = np.flatnonzero(own.shaped & (count[own.key] < LEAST))
    # A label may be that of several keys, where operators hold idle segments: the first takes it.
    wanted, first = np.unique(label[few], return_index=True)
    row_of = {labels[i]: few[at] for i, at in zip(wanted, first, strict=True)}
    told, names = own, []
    for trace in others():
        seen = seen_durations(trace)
        row = np.array([row_of.get(text, NONE) for text in seen.labels], np.int64)[seen.label]
        use = row >= 0
        row = row[use]
        more = Instances(
            own.key[row], own.name[row], own.shaped[row],
            seen.length[use], seen.low[use], seen.high[use], np.ones(len(row), np.bool_),
        )  # fmt: skip
        told = told.append(more)
        if np.isin(own.key[hidden], more.key).any():
            names.append(trace.meta.files[0] if trace.meta.files else trace.meta.worker)
    helped = np.isin(own.key[hidden], told.key[len(op) :])
    return told, int(helped.sum()), tuple(names)


def seen_durations(trace: Trace) -> SeenDurations:
    """The kernels of a trace whose own durations were seen, and whose operators' shapes are known.

    Measured ones too: a run may have been recorded by a device profiler on one of its ranks.
    """
    kernels = trace.kernels
    mine = kernels.take(np.flatnonzero(kernels.op >= 0))
    op = mine.op.astype(np.int64)
    labels, label = _labels(
        op, mine.start_ns, launching_operators.operator_keys(trace.ops), trace.ops, trace.strings
    )
    use = (mine.evidence <= EVENTS) & (trace.ops.shapes[op] >= 0)
    length = (mine.end_ns - mine.start_ns)[use]
    bound = np.maximum(mine.duration_bound_ns[use], 0)
    slower = (length * _DEVICES).astype(np.int64)
    return SeenDurations(
        labels, label[use], length, np.maximum(length - bound - slower, 0), length + bound + slower
    )


def _labels(
    op: I64, last: I64, keys: I64, ops: Ops, strings: Sequence[str]
) -> tuple[list[Label], I64]:
    """All labels, and which one each kernel has."""
    place = duration_catalogue.segment_place(op, last)
    pair = keys[op] * (int(place.max(initial=0)) + 1) + place
    _, first, label = np.unique(pair, return_index=True, return_inverse=True)

    def texts(column: I32) -> list[str]:
        return [strings[i] if i >= 0 else "" for i in column[op[first]].tolist()]

    columns = (texts(ops.name), texts(ops.shapes), texts(ops.dtypes), place[first].tolist())
    return list(zip(*columns, strict=True)), label.reshape(-1)
