"""Find results that operators on the host make the next input of the device of, or its sizes.

Sizes tell: an operator on the host reads a tensor of as many elements as the result, and a tensor
of the size of what such operators read or write is copied to the device next. Without sizes, any
operator between that computes may make the answer, and the answer may be of several items.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import Shape
from tb_privateuse1.analysis.idioms.nodes import operators_named
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS
from tb_privateuse1.analysis.work.arguments import UnknownWork
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools

SEVERAL = 2
"""Items of an answer of unknown size: no single one can be taken for granted."""
_WRAPS = ("to", "_to_copy", "empty_strided", "resolve_conj", "resolve_neg", "item", "lift_fresh")
"""What hands a tensor to NumPy or Python and back, beside views."""


def answers(trace: Trace, results: I64, own: I64, is_sent: Bools, is_busy: Bools) -> I64:
    """Return for each result the number of items of its answer, or 0.

    ``results`` are the rows of ``trace.ops`` that copy to the host. ``own`` are the outermost
    operators of their thread by time; in their order, ``is_sent`` says which ones copy to the
    device, and ``is_busy`` which launch anything. An item is a row of the first dimension.
    """
    ops, items = trace.ops, np.zeros(len(results), np.int64)
    first = np.searchsorted(ops.start_ns[own], ops.end_ns[results])
    stops = np.append(np.flatnonzero(is_busy | is_sent), len(own))
    shaped = bool((ops.shapes >= 0).any())
    computes = ~operators_named(trace, *VIEWS, *_WRAPS)[own]
    stop = stops[np.searchsorted(stops, first)]
    for end, some in groupby.split_by_value(stop):
        if end == len(own) or not is_sent[end]:
            continue
        sent = _shape(trace, int(own[end]))
        if not shaped:
            last = np.flatnonzero(computes[first[some].min() : end])
            if len(last):
                items[some[first[some] <= first[some].min() + last[-1]]] = SEVERAL
        elif sent:
            begin = int(first[some].min())
            made = _Made(trace, own[begin:end].tolist(), sent)
            behind = zip(some.tolist(), (first[some] - begin).tolist(), strict=True)
            made_of = [made.of(_shape(trace, int(results[i])), place) for i, place in behind]
            items[some[made_of]] = sent[0]
    return items


def divided_by(trace: Trace, results: I64, own: I64) -> I64:
    """Return for each result how many parts the next split behind it has by its numbers, or 0.

    These are as many whole numbers as the parts, and another such split has other sizes: equal ones
    are constants. ``own`` are the outermost operators of the results' thread by time.
    """
    ops, parts = trace.ops, np.zeros(len(results), np.int64)
    splits = own[operators_named(trace, "split_with_sizes")[own]]
    sizes = [_part_sizes(trace, row) for row in splits.tolist()]
    alike = Counter(len(one) for one in set(sizes))
    behind = np.searchsorted(ops.start_ns[splits], ops.end_ns[results])
    for at, place in enumerate(behind.tolist()):
        count = len(sizes[place]) if place < len(sizes) else 0
        if count > 1 and alike[count] > 1 and _whole_numbers(trace, int(results[at])) == count:
            parts[at] = count
    return parts


def _part_sizes(trace: Trace, row: int) -> tuple[int, ...]:
    """Return the sizes of the parts that a split makes; none if they are unknown."""
    call = read_call(trace, row)
    try:
        return () if call is None else call.integers(1)
    except UnknownWork:
        return ()


def _whole_numbers(trace: Trace, row: int) -> int:
    """Return how many whole numbers a call's first tensor has; 0 of another type."""
    call = read_call(trace, row)
    x = None if call is None else call.optional(0)
    return x.numel if x is not None and x.dtype in ("int64", "int32") else 0


class _Made:
    """The operators ahead of a copy to the device, each looked at once."""

    def __init__(self, trace: Trace, rows: list[int], sent: Shape) -> None:
        self._sent, self._last = sent, NONE
        self._readers: dict[int, list[int]] = {}
        """The places that read a tensor of some elements, in order."""
        for place, row in enumerate(rows):
            for shape in _shapes(trace, row):
                self._readers.setdefault(math.prod(shape), []).append(place)
                if shape == sent:
                    self._last = place

    def of(self, shape: Shape, place: int) -> bool:
        """Return whether what is sent is read or written once one at or behind a place read it.

        A view alone makes nothing: the result itself would be sent back.
        """
        size = math.prod(shape)
        if size <= 1 or shape == self._sent:
            return False
        readers = self._readers.get(size, [])
        at = bisect.bisect_left(readers, place)
        return at < len(readers) and readers[at] <= self._last


def _shape(trace: Trace, row: int) -> Shape:
    """Return the first input's size; empty for a number, or if it is unknown."""
    return next(iter(_shapes(trace, row)), ())


def _shapes(trace: Trace, row: int) -> Iterator[Shape]:
    """Yield the sizes of a call's tensors that have dimensions."""
    call = read_call(trace, row)
    yield from (one.shape for one in call.tensors() if one.shape) if call else ()
