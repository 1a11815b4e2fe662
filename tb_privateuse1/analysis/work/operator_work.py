"""Compute the work of each operator from its recorded inputs.

A distinct call (name, shapes, types, strides and values) is computed once, however often it
occurs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tb_privateuse1.analysis.work import list_types, registry, related_calls
from tb_privateuse1.analysis.work.arguments import DTYPES, Arguments
from tb_privateuse1.analysis.work.call_work import Related, Work
from tb_privateuse1.analysis.work.calls import group_calls, read_call, read_calls
from tb_privateuse1.analysis.work.models import compiled
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import group_rows, named_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import MISSING, NONE, OPERATOR, Trace
from tb_privateuse1.trace.registry import OnCall
from tb_privateuse1.trace.table import I8, I32, I64, Bools, Table


class OperatorWork(Table, frozen=True):
    """The work that each row of ``trace.ops`` does itself; ``MISSING`` is unknown.

    An operator that only calls others has no work of its own: it is the sum of theirs
    (``groupby.with_descendants``). ``dtype`` is an index into ``DTYPES``.
    """

    flops: I64
    read_bytes: I64
    written_bytes: I64
    matrix: Bools
    dtype: I8
    at_most: Bools
    """A kernel may do fewer operations or read fewer bytes (``base.Work``)."""

    @property
    def known(self) -> Bools:
        """Return which rows have work of their own: operations, or all of their bytes."""
        whole = (self.read_bytes != MISSING) & (self.written_bytes != MISSING)
        known: Bools = whole | (self.flops > 0)
        return known


@memoize
def operator_work(trace: Trace) -> OperatorWork:
    """Return the work of each operator itself."""
    ops = trace.ops
    found = np.full(len(ops), NONE, np.int32)
    rows = _modeled_rows(trace)
    works: list[Work] = []
    _compute(trace, rows, found, works)
    for models, related_rows in related_calls.RELATIONS:
        lacking = rows[
            _lacking(found, works)[rows] & related_calls.named(trace, models)[ops.name[rows]]
        ]
        if len(lacking):
            related = related_rows(trace, lacking)
            _compute_related(trace, lacking, related, models, found, works)
    if named_rows(trace.strings, ops.name, _may_be_announced).any():
        _take_announced(trace, found, works)
    _take_recorded(trace, found, works)
    table = _table(works)
    unknown = len(table) - 1
    at = np.where(_own(trace, found, table), found, unknown).astype(np.intp)
    return OperatorWork(**{n: column.take(at, mode="clip") for n, column in table.columns()})


_take_announced = OnCall("tb_privateuse1.analysis.work.announced_attention", "take_announced")


def _may_be_announced(name: str) -> bool:
    return "unified_attention" in name or "paged_attention" in name


def _lacking(found: I32, works: list[Work]) -> Bools:
    """Return which rows have no work, or bytes that are unknown."""
    whole = [w.read_bytes is not None and w.written_bytes is not None for w in works]
    lacking: Bools = ~np.array([*whole, False], np.bool_)[found]
    return lacking


def _modeled_rows(trace: Trace) -> I64:
    """Return the operators with shapes whose name has a model."""
    ops = trace.ops
    has_model = named_rows(trace.strings, ops.name, registry.model_of)
    shaped = (ops.kind == OPERATOR) & (ops.shapes >= 0)
    return np.flatnonzero(shaped & has_model)


def _compute(trace: Trace, rows: I64, found: I32, works: list[Work]) -> None:
    """Append the work of distinct calls, and write its number by row."""
    first, group = group_calls(trace, rows)
    number = np.full(len(first), NONE, np.int32)
    for i, call in enumerate(read_calls(trace, rows[first])):
        if call is not None and (work := _call_work(trace, call)) is not None:
            number[i] = len(works)
            works.append(work)
    found[rows] = number[group]


def _call_work(trace: Trace, call: Arguments) -> Work | None:
    """Return the work of a call; if its bytes are unknown, with types for its lists."""
    work = registry.work_of(call)
    if work is None or (work.read_bytes is not None and work.written_bytes is not None):
        return work
    typed = list_types.with_types(call, list_types.types_by_shape(trace))
    return work if typed is None else registry.work_of(typed)


def _compute_related(
    trace: Trace,
    rows: I64,
    related: I32,
    models: Mapping[str, Related],
    found: I32,
    works: list[Work],
) -> None:
    """Do the same for calls that lack something, with a related row of each, or ``NONE``."""
    rows, related = rows[related >= 0], related[related >= 0]
    ops = trace.ops
    first, group = group_rows(
        ops.name[rows], ops.shapes[rows], ops.name[related], ops.shapes[related]
    )
    number = np.full(len(first), NONE, np.int32)
    for i, at in enumerate(first.tolist()):
        call, other = (
            read_call(trace, int(rows[at])),
            read_call(trace, int(related[at])),
        )
        if call is None or other is None:
            continue
        if (work := registry.related_work(call, other, models)) is not None:
            number[i] = len(works)
            works.append(work)
    numbers = number[group]
    found[rows] = np.where(numbers >= 0, numbers, found[rows])


def _take_recorded(trace: Trace, found: I32, works: list[Work]) -> None:
    """Put what Inductor recorded of a kernel in the place of what its arguments say."""
    ops = trace.ops
    rows = np.flatnonzero((ops.kernel_flops != MISSING) | (ops.kernel_bytes != MISSING))
    first, group = group_rows(found[rows], ops.kernel_flops[rows], ops.kernel_bytes[rows])
    number = np.full(len(first), NONE, np.int32)
    for i, at in enumerate(rows[first].tolist()):
        model = works[found[at]] if found[at] >= 0 else None
        recorded = (int(column[at]) for column in (ops.kernel_flops, ops.kernel_bytes))
        flops, size = (None if one == MISSING else one for one in recorded)
        number[i] = len(works)
        works.append(compiled.recorded_kernel(model, flops, size))
    found[rows] = number[group]


def _table(works: list[Work]) -> OperatorWork:
    """Return the distinct works as columns; a last row is unknown, which ``NONE`` reads."""

    def column(values: list[int | None]) -> I64:
        return np.array([MISSING if v is None else v for v in [*values, None]], np.int64)

    return OperatorWork(
        flops=column([w.flops for w in works]),
        read_bytes=column([w.read_bytes for w in works]),
        written_bytes=column([w.written_bytes for w in works]),
        matrix=np.array([*(w.matrix for w in works), False], np.bool_),
        dtype=np.array([*(DTYPES.index(w.dtype) for w in works), 0], np.int8),
        at_most=np.array([*(w.at_most for w in works), False], np.bool_),
    )


_NOTHING, _MOVES, _COMPUTES, _MULTIPLIES = range(4)


def _own(trace: Trace, found: I32, table: OperatorWork) -> Bools:
    """Return which rows do their work themselves.

    Work of the same kind or of a heavier one inside is the same work: ``linear`` calls ``addmm``,
    which does it. Lighter work inside is further work: the gradient of a convolution sums that of
    its bias. An operator that launches something itself works, unless a product is inside.
    """
    weight = np.full(len(table), _MOVES, np.int8)
    weight[table.flops > 0] = _COMPUTES
    weight[table.matrix] = _MULTIPLIES
    weight[-1] = _NOTHING
    level = weight[found]
    launches = mask_of(trace.kernels.op, len(found))
    own = level > _NOTHING
    for least in (_MOVES, _COMPUTES, _MULTIPLIES):
        inside = _around(trace.ops.parent, np.flatnonzero(level >= least))
        displaced = inside & (level == least)
        if least < _MULTIPLIES:
            displaced &= ~launches
        own &= ~displaced
    return own


def _around(parent: I32, rows: I64) -> Bools:
    """Return which rows are around one of these rows."""
    around = np.zeros(len(parent), np.bool_)
    up = parent[rows]
    while len(up := up[up >= 0]):
        up = up[~around[up]]
        around[up] = True
        up = parent[up]
    return around
