"""Find results that operators on the host make the next input of the device of.

Sizes tell: an operator on the host reads a tensor of as many elements as the result, and a tensor
of the size of what such operators read or write is copied to the device next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import Shape
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools


def answers(trace: Trace, results: I64, own: I64, is_sent: Bools, is_busy: Bools) -> I64:
    """Return for each result the number of items of its answer, or 0.

    ``results`` are the rows of ``trace.ops`` that copy to the host. ``own`` are the outermost
    operators of their thread by time; in their order, ``is_sent`` says which ones copy to the
    device, and ``is_busy`` which launch anything. An item is a row of the first dimension.
    """
    ops, items = trace.ops, np.zeros(len(results), np.int64)
    sends = np.flatnonzero(is_sent)
    stops = np.flatnonzero(is_busy | is_sent)
    for i, row in enumerate(results.tolist()):
        first = int(np.searchsorted(ops.start_ns[own], ops.end_ns[row]))
        at = np.searchsorted(stops, first)
        if at == len(stops) or not np.isin(stops[at], sends):
            continue
        sent = _shape(trace, int(own[stops[at]]))
        if sent and sent in _made_of(trace, row, own[first : stops[at]].tolist()):
            items[i] = sent[0]
    return items


def _made_of(trace: Trace, result: int, rows: Iterable[int]) -> set[Shape]:
    """Return the sizes of what operators read and write once one has read the result."""
    shape, found = _shape(trace, result), set[Shape]()
    size = int(np.prod(shape)) if shape else 1
    if size <= 1:
        return found
    for row in rows:
        read = list(_shapes(trace, row))
        if found or any(int(np.prod(one)) == size for one in read):
            found.update(read)
    # A view alone makes nothing: the result itself would be sent back.
    return found - {shape}


def _shape(trace: Trace, row: int) -> Shape:
    """Return the first input's size; empty for a number, or if it is unknown."""
    return next(iter(_shapes(trace, row)), ())


def _shapes(trace: Trace, row: int) -> Iterator[Shape]:
    """Yield the sizes of a call's tensors that have dimensions."""
    call = read_call(trace, row)
    yield from (one.shape for one in call.tensors() if one.shape) if call else ()
