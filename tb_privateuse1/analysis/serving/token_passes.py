"""Find forward passes of language models by shapes: token ids in, a score for each word out.

A pass begins where ids are looked up in a table, and has a product with as many columns as the
table has rows. No name of a model or an engine is needed. Passes of training are none.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.models.attention import attention_sizes
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import OPERATOR, Trace
from tb_privateuse1.trace.table import I64

_PRODUCTS = {"linear": (0, 1), "mm": (0, 1), "matmul": (0, 1), "addmm": (1, 2)}
"""The positions of the rows and of the weight."""
_SOFTMAX = ("softmax", "_softmax")


class Pass(Struct, frozen=True):
    """One forward pass of one thread, with the shapes that were recorded."""

    op: int
    """The row of the lookup in ``trace.ops``."""
    thread: int
    start_ns: int
    ids: tuple[int, ...]
    """The shape of the ids: (tokens) of any sequences, or (sequences, tokens of each)."""
    scored: int | None
    """Rows of the last product with the vocabulary; None without one in this pass."""
    keys: int | None
    """Keys of a sequence in the first attention; None if no shape has them."""

    @property
    def tokens(self) -> int:
        """Return the tokens of all sequences."""
        return math.prod(self.ids)


class _Call(Struct, frozen=True):
    """The sizes in the shapes of one call."""

    table: tuple[int, int] | None = None
    ids: tuple[int, ...] = ()
    columns: int | None = None
    rows: int | None = None
    keys: int | None = None


@memoize
def token_passes(trace: Trace) -> tuple[Pass, ...]:
    """Return the passes without a backward pass, in order of time; none without shapes."""
    rows, calls = _calls(trace)
    threads = trace.ops.thread[rows]
    found = [
        one
        for _, members in groupby.split_by_value(threads)
        for one in _of_thread(trace, rows[members], [calls[i] for i in members.tolist()])
    ]
    return tuple(sorted(found, key=lambda one: one.start_ns))


def _calls(trace: Trace) -> tuple[I64, list[_Call]]:
    """Return lookups, products and attention in order of time, and what each says."""
    ops = trace.ops
    named = groupby.named_rows(trace.strings, ops.name, _is_of_interest)
    chosen = named & (ops.kind == OPERATOR) & (ops.shapes >= 0)
    inner = (ops.parent >= 0) & chosen[ops.parent] & (ops.name[ops.parent] == ops.name)
    rows = np.flatnonzero(chosen & ~inner)
    rows = rows[np.argsort(ops.start_ns[rows], kind="stable")]
    first, group = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows])
    distinct = [_read(trace, row) for row in rows[first].tolist()]
    return rows, [distinct[i] for i in group.tolist()]


def _is_of_interest(name: str) -> bool:
    word = reduced_name(name)
    return word == "embedding" or word in _PRODUCTS or word in _SOFTMAX or "attention" in word


def _read(trace: Trace, row: int) -> _Call:
    word = reduced_name(trace.text(trace.ops.name[row]))
    call = read_call(trace, row)
    if call is None:
        return _Call()
    try:
        if word == "embedding":
            table, ids = call.tensor(0).shape, call.tensor(1).shape
            is_lookup = len(table) == 2 and len(ids) in (1, 2) and 0 not in ids
            return _Call(table=(table[0], table[1]), ids=ids) if is_lookup else _Call()
        if word in _PRODUCTS:
            return _product(word, call)
        if word in _SOFTMAX:
            scores = call.tensor(0).shape
            return _Call(keys=scores[-1]) if len(scores) > 2 else _Call()
    except UnknownWork:
        return _Call()
    sizes = attention_sizes(word, call)
    return _Call(keys=None if sizes is None else sizes.keys)


def _product(word: str, call: Arguments) -> _Call:
    at, by = _PRODUCTS[word]
    x, weight = call.tensor(at).shape, call.tensor(by).shape
    if not x or len(weight) != 2:
        return _Call()
    columns = weight[0] if word == "linear" else weight[1]
    return _Call(columns=columns, rows=math.prod(x[:-1]))


def _of_thread(trace: Trace, rows: I64, calls: list[_Call]) -> list[Pass]:
    """Return the passes of a thread: from each lookup in the vocabulary to the next one."""
    widths = {one.columns for one in calls}
    tables = Counter(one.table for one in calls if one.table and one.table[0] in widths)
    if not tables:
        return []
    table = tables.most_common(1)[0][0]
    begins = [i for i, one in enumerate(calls) if one.table == table]
    trained = _trained(trace)
    found = []
    for at, end in zip(begins, [*begins[1:], len(calls)], strict=True):
        scores = [i for i in range(at, end) if calls[i].columns == table[0]]
        if any(trained[rows[i]] for i in (at, *scores)):
            continue
        # Scores of the vocabulary that are normalized are no attention.
        keys = (calls[i].keys for i in range(at, end) if calls[i].keys not in (None, table[0]))
        op = int(rows[at])
        found.append(
            Pass(
                op=op,
                thread=int(trace.ops.thread[op]),
                start_ns=int(trace.ops.start_ns[op]),
                ids=calls[at].ids,
                scored=calls[scores[-1]].rows if scores else None,
                keys=next(keys, None),
            )
        )
    return found


@memoize
def _trained(trace: Trace) -> list[bool]:
    """Return by row of ``trace.ops`` whether a backward pass follows it."""
    forward = call_tree.linked_forward(trace)
    trained = np.zeros(len(trace.ops), np.bool_)
    trained[forward[forward >= 0]] = True
    inside: list[bool] = (call_tree.self_or_nearest(trace.ops.parent, trained) >= 0).tolist()
    return inside
