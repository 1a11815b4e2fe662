"""Recognize views that take a part of a tensor: select, slice, narrow, split and others."""

from __future__ import annotations

from tb_privateuse1.analysis.work.arguments import Arguments, UnknownWork

CUTS = frozenset(("select", "slice", "narrow"))
"""Reduced names of operators that take a part of one dimension."""


def cut_share(call: Arguments, word: str) -> tuple[float, int]:
    """Return the share of a dimension that a cut takes, and the dimension, counted from 0.

    ``word`` is the call's reduced name. Raises UnknownWork if the values are not recorded.
    """
    shape, dim = call.tensor(0).shape, call.integer(1)
    if not -len(shape) <= dim < len(shape) or not shape[dim]:
        raise UnknownWork
    size = shape[dim]
    if word == "select":
        return 1 / size, dim % len(shape)
    if word == "narrow":
        return call.integer(3) / size, dim % len(shape)
    first = call.integer(2) if call.value(2) else 0
    last = call.integer(3) if call.value(3) else size
    taken = range(*slice(first, last, max(call.integer(4), 1)).indices(size))
    return len(taken) / size, dim % len(shape)
