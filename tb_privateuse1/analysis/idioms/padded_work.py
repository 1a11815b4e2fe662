"""Find the operators that work on each place of a padded batch, and the share that is padding."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.padded_batches import PaddedBatch, padded_batches
from tb_privateuse1.analysis.operators.kinds_of_work import kind_of
from tb_privateuse1.analysis.work.arguments import Arguments
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64, Bools

_MATRICES = 3
"""Dimensions of a tensor that has a matrix for each sequence or head."""


class PaddedWork(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` that work on padded batches, and the share of their places without one.

    ``shares`` is NaN where lengths are not recorded. ``recurrent`` layers take as many steps as the
    longest sequence has, with padding or without.
    """

    rows: I64
    shares: F64
    recurrent: Bools
    batches: tuple[PaddedBatch, ...]


@memoize
def padded_work(trace: Trace) -> PaddedWork:
    """Return the work on padded batches, forward and backward, within the step of each batch."""
    batches = padded_batches(trace)
    if not batches:
        none = np.empty(0, np.int64)
        return PaddedWork(none, np.empty(0), none.astype(np.bool_), ())
    ops = trace.ops
    filled = np.array([one.row for one in batches], np.int64)
    shaped = (ops.kind == OPERATOR) & (ops.shapes >= 0)
    rows = np.flatnonzero(shaped)
    rows = rows[call_tree.around(ops.parent, ops.parent[rows], shaped) < 0]
    at = np.searchsorted(ops.end_ns[filled], ops.start_ns[rows], side="right") - 1
    same = (at >= 0) & (ops.step[filled[np.maximum(at, 0)]] == ops.step[rows])
    rows, at = rows[same], at[same]
    sizes = np.array([(one.size, one.length) for one in batches], np.int64)
    columns = (ops.name[rows], ops.shapes[rows], ops.dtypes[rows], *sizes[at].T)
    first, call = groupby.group_rows(*columns)
    uses = np.zeros((2, len(first)), np.bool_)
    for i, (row, batch) in enumerate(zip(rows[first].tolist(), at[first].tolist(), strict=True)):
        found = read_call(trace, row)
        uses[0, i] = found is not None and _has_places(found, batches[batch])
        uses[1, i] = kind_of(trace.text(ops.name[row]), trace.vendor) == "recurrent"
    share = np.array([np.nan if b.filled is None else 1 - b.filled for b in batches])
    works = uses[0][call]
    return PaddedWork(rows[works], share[at[works]], uses[1][call][works], batches)


def _has_places(call: Arguments, batch: PaddedBatch) -> bool:
    """Return whether a call has a tensor with a row for each place of a batch."""
    size, length = batch.size, batch.length
    for one in call.tensors():
        shape = one.shape
        if not shape:
            continue
        by_place = sorted(shape[:2]) == sorted((size, length)) or shape[0] == size * length
        by_head = len(shape) >= _MATRICES and shape[0] % size == 0 and length in shape[1:]
        if by_place or by_head:
            return True
    return False
