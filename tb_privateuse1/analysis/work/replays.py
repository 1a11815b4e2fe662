"""Work of graph replays: that of the operators of the graph's capture, in each replay."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.analysis.work.operator_work import OperatorWork, operator_work
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import MISSING, NONE, OPERATOR, Kernels, Ops, Trace
from tb_privateuse1.trace.table import I32, Bools, Table

_Table = TypeVar("_Table", bound=Table)


def working_operators(parent: I32, known: Bools, op: I32) -> I32:
    """Return each operator itself if its work is known, else the innermost one around, or ``NONE``.

    Only the operators of activities are read, so the cost does not depend on all others.
    """
    found = op.astype(np.int32)
    rows = np.flatnonzero(found >= 0)
    while len(rows):
        rows = rows[~known[found[rows]]]
        found[rows] = parent[found[rows]]
        rows = rows[found[rows] >= 0]
    return found


def with_replays(trace: Trace, op: I32, work: OperatorWork) -> tuple[I32, OperatorWork]:
    """Return the operators of activities and a table of works, those of replays behind.

    ``op`` has the row in ``work`` of each activity. Activities without one that replay a captured
    operator get a row for each replay and operator. A replay has all activities of its capture,
    which ``inference.graph_captures`` matches by name and order.
    """
    kernels = trace.kernels
    replayed = (op < 0) & (kernels.op < 0) & (kernels.captured_op >= 0) & ~kernels.communication
    if not replayed.any():
        return op, work
    captured = _captured_work(trace, kernels.captured_op[replayed])
    owner = np.full(len(kernels), NONE, np.int32)
    owner[replayed] = working_operators(
        trace.captured_ops.parent, captured.known, kernels.captured_op[replayed]
    )
    rows = np.flatnonzero(owner >= 0)
    first, group = group_rows(kernels.launch[rows], owner[rows])
    doer = op.copy()
    doer[rows] = len(work) + group
    behind = captured.take(owner[rows][first].astype(np.int64))
    columns = {
        name: np.concatenate((column, getattr(behind, name))) for name, column in work.columns()
    }
    return doer, OperatorWork(**columns)


def _captured_work(trace: Trace, launched: I32) -> OperatorWork:
    """Return the work of each row of ``trace.captured_ops``; ``launched`` are those that launch."""
    captured = trace.captured_ops
    known = dict(captured.columns()) | {"kind": np.full(len(captured), OPERATOR, np.int8)}
    distinct = np.unique(launched)
    recorded = Trace(
        strings=trace.strings,
        vendor=trace.vendor,
        ops=_filled(Ops, known),
        kernels=_filled(Kernels, {"op": distinct}),
    )
    return operator_work(recorded)


def _filled(kind: type[_Table], known: dict[str, NDArray[Any]]) -> _Table:
    """Return a table with these columns, which are equally long; all others are unknown."""
    rows = len(next(iter(known.values())))
    types = kind.column_types()
    return kind(**{name: _unknown(rows, dtype) for name, dtype in types.items()} | known)


def _unknown(rows: int, dtype: type[np.generic]) -> NDArray[Any]:
    if dtype == np.bool_:
        return np.zeros(rows, dtype)
    return np.full(rows, MISSING if dtype == np.int64 else NONE, dtype)
