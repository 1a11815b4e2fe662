"""Find embedding tables with few rows in use, whose gradients and updates are of all rows."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.accumulations import Shape, accumulations
from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.steps.training_phases import RESETTING, STEPPING, phase_kinds
from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import F64, I64

_ROWS_AT = {"embedding_dense_backward": 2, "_embedding_bag_dense_backward": 5}
"""By reduced name of the gradient's operator, the argument with the number of a table's rows."""
_SPARSE = 8
"""A sparse update sorts, joins and copies the rows in use: it works on each as long as a dense one
does on this many."""


_KEEP_ZEROS = frozenset(
    f"{form}{word}{place}"
    for word in ("add", "addcmul", "addcdiv")
    for form, place in (("", "_"), ("_foreach_", "_"))
) | {"sqrt", "div", "neg", "_foreach_sqrt", "_foreach_div", "_foreach_neg", "_fused_adagrad_"}
"""Operators of optimizers that leave rows without a gradient as they are. State that decays changes
them: momentum, Adam's moments; so does a weight decay."""


class DenseGradients(Struct, frozen=True, eq=False):
    """Rows of ``trace.ops`` with the share of their work on rows that no index names.

    ``gradients`` are the operators that write whole gradients; ``used`` is the greatest share of a
    table's rows that a batch can name.
    """

    rows: I64
    shares: F64
    gradients: I64
    used: float


@memoize
def dense_gradients(trace: Trace) -> DenseGradients:
    """Return the work on whole tables of embeddings whose indices name an eighth of the rows.

    The work is the gradient itself, its addition and reset, and the optimizer's share of a list.
    A table counts if its optimizer changes no row without a gradient: then sparse gradients do the
    same. Without shapes it is the gradient alone, by the memory that it and the rows in use take.
    """
    none = np.empty(0, np.int64)
    if not (trace.ops.shapes >= 0).any():
        return _by_memory(trace)
    gradients, tables = _tables(trace)
    if not len(gradients):
        return DenseGradients(none, np.empty(0), none, 0.0)
    ops = trace.ops
    phases = phase_kinds(trace)
    around = mask_of(accumulations(trace).op, len(ops))
    around |= np.isin(phases, (STEPPING, RESETTING))
    inside = (intervals.nearest(ops.parent, around) >= 0) & (ops.kind == OPERATOR)
    outermost = inside & (groupby.outermost_operators(ops) | around[ops.parent])
    rows = np.concatenate((gradients, np.flatnonzero(outermost & (ops.shapes >= 0))))
    first, call = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    calls = [read_call(trace, row) for row in rows[first].tolist()]
    stepping = (intervals.nearest(ops.parent, phases == STEPPING) >= 0)[rows[first]]
    tables = _without_decay(tables, [c for c, of in zip(calls, stepping, strict=True) if of])
    if not tables:
        return DenseGradients(none, np.empty(0), none, 0.0)
    share = np.array([_share(one, tables) for one in calls])
    shares = share[call]
    chosen = shares > 0
    return DenseGradients(rows[chosen], shares[chosen], gradients, max(tables.values()))


def _by_memory(trace: Trace) -> DenseGradients:
    """Return the gradients of tables with the share of rows that no index names.

    A lookup allocates the rows that it returns, and its gradient those of the whole table. Whose
    rows an optimizer's operator changes is not known: each has to leave rows as they are.
    """
    ops = trace.ops
    rows = np.flatnonzero(operators_named(trace, "embedding_dense_backward"))
    forward = call_tree.forward_of(trace)[rows]
    rows, forward = rows[forward >= 0], forward[forward >= 0]
    around = call_tree.around(ops.parent, forward, operators_named(trace, "embedding"))
    rows, lookups = rows[around >= 0], around[around >= 0].astype(np.int64)
    whole, named = _allocated_bytes(trace, rows), _allocated_bytes(trace, lookups)
    used = named / np.maximum(whole, 1)
    stepping = intervals.nearest(ops.parent, phase_kinds(trace) == STEPPING) >= 0
    updates = groupby.distinct_values(ops.name[stepping & (ops.kind == OPERATOR)]).tolist()
    words = {trace.text(name).rpartition("::")[2] for name in updates}
    sparse = (named > 0) & (_SPARSE * used < 1) & (bool(words) and words <= _KEEP_ZEROS)
    shares = (1 - _SPARSE * used)[sparse]
    return DenseGradients(rows[sparse], shares, rows[sparse], used[sparse].max(initial=0.0))


def _allocated_bytes(trace: Trace, rows: I64) -> I64:
    """Return the greatest allocation inside of each of some operators; 0 without any."""
    memory = trace.memory
    made = np.flatnonzero((memory.bytes > 0) & (memory.op >= 0))
    inside = mask_of(rows, len(trace.ops))
    around = call_tree.around(trace.ops.parent, memory.op[made], inside)
    within = around >= 0
    largest: I64 = groupby.maxima(
        around[within].astype(np.int64), memory.bytes[made][within], len(trace.ops)
    )[rows]
    return largest


def _tables(trace: Trace) -> tuple[I64, dict[Shape, float]]:
    """Return the operators of gradients, and by shape of a table the share of its rows in use."""
    ops = trace.ops
    rows = np.flatnonzero(operators_named(trace, *_ROWS_AT))
    rows = rows[ops.shapes[rows] >= 0]
    tables: dict[Shape, float] = {}
    first, call = groupby.group_rows(
        *(column[rows] for column in (ops.name, ops.shapes, ops.dtypes, ops.concrete))
    )
    shapes = [_table_of(read_call(trace, row)) for row in rows[first].tolist()]
    for shape, used in shapes:
        tables[shape] = max(used, tables.get(shape, 0.0))
    tables = {shape: used for shape, used in tables.items() if _SPARSE * used < 1}
    sparse = np.array([shape in tables for shape, _ in shapes], np.bool_)
    return rows[sparse[call]] if len(rows) else rows, tables


def _without_decay(tables: dict[Shape, float], calls: list[Arguments | None]) -> dict[Shape, float]:
    """Return the tables that an optimizer's calls change in rows with a gradient only."""
    changed = {
        one.shape
        for call in calls
        if call is not None and not _keeps_zeros(call)
        for one in call.tensors()
    }
    return {shape: used for shape, used in tables.items() if shape not in changed}


def _keeps_zeros(call: Arguments) -> bool:
    """Return whether an operator of an optimizer leaves rows without a gradient as they are."""
    word = call.name.rpartition("::")[2]
    if word != "_fused_sgd_":
        return word in _KEEP_ZEROS
    try:
        return not any(float(call.value(at)) for at in (3, 4))  # weight decay and momentum
    except ValueError:
        return False


def _table_of(call: Arguments | None) -> tuple[Shape, float]:
    """Return a table's shape, and the share of its rows that the indices may name."""
    try:
        if call is None:
            raise UnknownWork
        word = reduced_name(call.name)
        count, gradient, indices = call.integer(_ROWS_AT[word]), call.tensor(0), call.tensor(1)
    except UnknownWork:
        return (), 1.0
    return (count, gradient.shape[-1]), indices.numel / max(count, 1)


def _share(call: Arguments | None, tables: dict[Shape, float]) -> float:
    """Return the share of a call's work on rows without an index."""
    if call is None:
        return 0.0
    if reduced_name(call.name) in _ROWS_AT:
        shape, used = _table_of(call)
        return 1 - _SPARSE * used if shape in tables else 0.0
    tensors = [one for one in call.tensors(1) if one.shape]
    whole = sum(one.numel for one in tensors)
    unused = sum(
        (1 - _SPARSE * tables[one.shape]) * one.numel for one in tensors if one.shape in tables
    )
    return unused / whole if whole else 0.0
