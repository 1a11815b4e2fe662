"""Work of attention over a cache, where an engine's annotation has the lengths of its requests.

The call has the heads and the size of a head; how many keys its queries see is in no argument of
it. The annotation around has the sums over the requests, such as ``sq37sk34489``. A layer may see
fewer keys than there are (a window), and the cache may have a smaller type: the work is at most so.
"""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.work.arguments import Arguments, Tensor, UnknownWork
from tb_privateuse1.analysis.work.call_work import Work, read_of
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import checked, reduced_name
from tb_privateuse1.trace import call_tree, groupby
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import ANNOTATION, NONE, OPERATOR, Trace
from tb_privateuse1.trace.table import I32

MOST_DIGITS = 15
"""Of a count in an annotation: 1e15 pairs are a prompt of 30 million tokens, more than any has."""
LABELED = re.compile(rf"(?<![a-z])(sq|sk|sqsq|sqsk)(\d{{1,{MOST_DIGITS}}})(?!\d)")
"""Sums over the requests of a phase: tokens that it computes, keys that they see, and the sums of
the products of both for each request."""

_PHASE = re.compile(r"(?:context|generation)_\d+\((\w*)\)")
_PAGED = {"paged_attention_v1": 1, "paged_attention_v2": 4}
"""The position of the query (``models.attention``)."""
_UNIFIED = ("unified_attention", "unified_attention_with_output")
"""vLLM's operator ``(query, key, value, …)`` of new tokens; the cache belongs to its layer."""


class Lengths(Struct, frozen=True):
    """Sums over the requests of an iteration."""

    queries: int
    keys: int
    pairs: int
    """Of query and key, of a causal mask."""


def announced_lengths(name: str) -> Lengths | None:
    """Return the lengths that an annotation has of all its requests; None if it lacks some."""
    phases = [dict(LABELED.findall(text)) for text in _PHASE.findall(name)]
    if not phases or any(len(sums) < len(("sq", "sk", "sqsq", "sqsk")) for sums in phases):
        return None
    sq, sk, sqsq, sqsk = (
        sum(int(sums[label]) for sums in phases) for label in ("sq", "sk", "sqsq", "sqsk")
    )
    # The last of a request's q queries sees all its k keys, each one before it one key less.
    pairs = sqsk - (sqsq - sq) // 2
    return Lengths(sq, sk, pairs) if sq and pairs >= 0 else None


def take_announced(trace: Trace, found: I32, works: list[Work]) -> None:
    """Append the work of attention that has none, and write its number by row."""
    ops = trace.ops
    named = groupby.named_rows(trace.strings, ops.name, _is_attention)
    rows = np.flatnonzero(named & (ops.kind == OPERATOR) & (ops.shapes >= 0) & (found < 0))
    if not len(rows):
        return
    lengths = {
        name: one
        for name in groupby.distinct_values(ops.name[ops.kind == ANNOTATION]).tolist()
        if (one := announced_lengths(trace.text(name))) is not None
    }
    marks = (ops.kind == ANNOTATION) & np.isin(ops.name, list(lengths))
    said = lookup(ops.name, call_tree.around(ops.parent, rows, marks), NONE)
    rows, said = rows[said >= 0], said[said >= 0]
    first, group = groupby.group_rows(ops.name[rows], ops.shapes[rows], ops.dtypes[rows], said)
    number = np.full(len(first), NONE, np.int32)
    for i, at in enumerate(first.tolist()):
        call = read_call(trace, int(rows[at]))
        work = None if call is None else _work(call, lengths[int(said[at])])
        if work is not None:
            number[i] = len(works)
            works.append(work)
    found[rows] = number[group]


def _is_attention(name: str) -> bool:
    word = reduced_name(name)
    return word in _PAGED or word in _UNIFIED


def _work(call: Arguments, lengths: Lengths) -> Work | None:
    """Return the work of a call in an iteration of these lengths; None if they do not fit."""
    first = _PAGED.get(reduced_name(call.name))
    if first is None:
        return checked(lambda: _unified(call, lengths))
    return checked(lambda: _paged(call, first, lengths))


def _unified(call: Arguments, lengths: Lengths) -> Work:
    q, k, v = (call.tensor(i) for i in range(3))
    # A batch is filled up to a size that was captured.
    if {len(q.shape), len(k.shape), len(v.shape)} != {3} or q.shape[0] < lengths.queries:
        raise UnknownWork
    heads, size, value_size = q.shape[1], q.shape[2], v.shape[2]
    cached = lengths.keys * (k.shape[1] * size + v.shape[1] * value_size)
    written = Tensor((0,), q.dtype, lengths.queries * heads * value_size)
    return _at_most(
        2 * lengths.pairs * heads * (size + value_size),
        (Tensor((0,), q.dtype, lengths.queries * heads * size), Tensor((0,), k.dtype, cached)),
        written,
    )


def _paged(call: Arguments, first: int, lengths: Lengths) -> Work:
    out, q, cache, sequences = (call.tensor(i) for i in (0, first, first + 1, first + 6))
    if len(q.shape) != 3 or sequences.shape != (lengths.queries,) or q.shape[0] < lengths.queries:
        raise UnknownWork
    heads, size = q.shape[1], q.shape[2]
    cached = 2 * lengths.keys * call.integer(first + 3) * size
    return _at_most(
        4 * lengths.keys * heads * size, (q, Tensor((cached,), cache.dtype, cached)), out
    )


def _at_most(flops: int, read: tuple[Tensor, Tensor], written: Tensor) -> Work:
    return Work(
        flops, read_of(read), read_of([written]), matrix=True, dtype=read[0].dtype, at_most=True
    )
