"""Take durations of kernels that are hidden here from other recordings of the run.

The same operator on the same shapes runs in every span and usually on every rank. One recording
under a backlog (or primed, see docs/guide/capture.md) shows its duration for all. Instances of this
trace take precedence. docs/internals/inference.md, section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from tb_privateuse1.inference.device_timeline import duration_catalogue, launching_operators
from tb_privateuse1.inference.device_timeline.duration_catalogue import LEAST, Instances
from tb_privateuse1.inference.stage_inputs import Strings
from tb_privateuse1.trace.model import EVENTS, MISSING, NONE, Ops, Trace
from tb_privateuse1.trace.table import I32, I64

Others = Callable[[], Sequence[Trace]]
"""A function that returns other recordings of the run; called only if they can help."""

_WORTH = 0.01
"""The share of kernels with unknown durations from which other recordings are read."""

_DEVICES = 0.05
"""The relative difference between devices of a job, or of one device over time."""

Label = tuple[str, str, str, int]
"""Operator, shapes, dtypes and the place of the kernel among the operator's, from its end."""


class SeenDurations(Struct, frozen=True):
    """A row per visible kernel of another recording: index of its label, length, limits in ns."""

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
    """Return the instances with those of other recordings, the number of kernels that these
    help, and the names of their files.

    ``op`` and ``last`` are the operator and the end of the segment of each own instance, ``keys``
    those of the operators (``operator_keys``). Others count for keys with fewer than ``LEAST``
    visible instances here.
    """
    count = np.bincount(own.key[own.seen], minlength=int(own.key.max(initial=-1)) + 1)
    hidden = ~own.seen & own.shaped & (count[own.key] == 0)
    if others is None or hidden.sum() < max(1, _WORTH * len(op)):
        return own, 0, ()
    labels, label = _labels(op, last, keys, ops, strings.all)
    few = np.flatnonzero(own.shaped & (count[own.key] < LEAST))
    # Several keys may have one label if operators have idle segments: the first gets it.
    wanted, first = np.unique(label[few], return_index=True)
    row_of = {labels[i]: few[at] for i, at in zip(wanted, first, strict=True)}
    total, names = own, []
    for trace in others():
        seen = seen_durations(trace)
        row = np.array([row_of.get(text, NONE) for text in seen.labels], np.int64)[seen.label]
        use = row >= 0
        row = row[use]
        more = Instances(
            own.key[row], own.name[row], own.shaped[row],
            seen.length[use], seen.low[use], seen.high[use], np.ones(len(row), np.bool_),
            np.full(len(row), MISSING, np.int64),
        )  # fmt: skip
        total = total.append(more)
        if np.isin(own.key[hidden], more.key).any():
            names.append(trace.meta.files[0] if trace.meta.files else trace.meta.worker)
    helped = np.isin(own.key[hidden], total.key[len(op) :])
    return total, int(helped.sum()), tuple(names)


def seen_durations(trace: Trace) -> SeenDurations:
    """Return the visible and measured kernels of a trace whose operators' shapes are known.

    A device profiler may have recorded the run on one of its ranks.
    """
    kernels = trace.kernels
    launched = kernels.take(np.flatnonzero(kernels.op >= 0))
    op = launched.op.astype(np.int64)
    labels, label = _labels(
        op,
        launched.start_ns,
        launching_operators.operator_keys(trace.ops),
        trace.ops,
        trace.strings,
    )
    use = (launched.evidence <= EVENTS) & (trace.ops.shapes[op] >= 0)
    length = (launched.end_ns - launched.start_ns)[use]
    bound = np.maximum(launched.duration_bound_ns[use], 0)
    slower = (length * _DEVICES).astype(np.int64)
    return SeenDurations(
        labels, label[use], length, np.maximum(length - bound - slower, 0), length + bound + slower
    )


def _labels(
    op: I64, last: I64, keys: I64, ops: Ops, strings: Sequence[str]
) -> tuple[list[Label], I64]:
    """Return all labels, and the index of each kernel's label."""
    place = duration_catalogue.segment_place(op, last)
    pair = keys[op] * (int(place.max(initial=0)) + 1) + place
    _, first, label = np.unique(pair, return_index=True, return_inverse=True)

    def texts(column: I32) -> list[str]:
        return [strings[i] if i >= 0 else "" for i in column[op[first]].tolist()]

    columns = (texts(ops.name), texts(ops.shapes), texts(ops.dtypes), place[first].tolist())
    return list(zip(*columns, strict=True)), label.reshape(-1)
