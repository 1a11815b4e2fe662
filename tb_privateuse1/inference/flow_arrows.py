"""Find the tails of flow arrows by the events at their heads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.inference.stage_inputs import rows_of
from tb_privateuse1.readers.raw import Flows
from tb_privateuse1.trace.groupby import split_by_value
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64, Bools


def arrow_tails(flows: Flows, thread: I32, start_ns: I64, wanted: Bools) -> tuple[I32, I64]:
    """Return thread (``NONE`` if there is none) and time of the tail of the arrow that ends at
    each wanted range, given by thread and start. Arrows of different categories share their ids.
    """
    at_thread = np.full(len(thread), NONE, np.int32)
    at_ns = np.zeros(len(thread), np.int64)
    head_rows, tail_rows = (np.flatnonzero(flows.finish == finish) for finish in (1, 0))
    if (zero := flows.id[tail_rows] == 0).sum() > 1:  # what a profiler writes without a number
        tail_rows = tail_rows[~zero]
    if not wanted.any() or not len(head_rows) or not len(tail_rows):
        return at_thread, at_ns
    _, number = np.unique(flows.id, return_inverse=True)
    key = flows.category.astype(np.int64) * (int(number.max()) + 1) + number.reshape(-1)
    head = rows_at(flows.thread[head_rows], flows.ts_ns[head_rows], thread, start_ns)
    tail = rows_of(key[tail_rows], np.where(head >= 0, key[head_rows][head], NONE))
    hit = wanted & (head >= 0) & (tail >= 0)
    row = tail_rows[tail[hit]]
    at_thread[hit], at_ns[hit] = flows.thread[row], flows.ts_ns[row]
    return at_thread, at_ns


def by_category(flows: Flows) -> Iterator[Flows]:
    """Yield the arrows of each category: an event may be the head of several."""
    for _, rows in split_by_value(flows.category):
        yield flows.take(rows)


def rows_at(thread: I32, ts: I64, wanted_thread: I32, wanted_ts: I64) -> I32:
    """Return the row with the same thread and time, or ``NONE``."""
    if not (wanted_thread >= 0).any():
        return np.full(len(wanted_thread), NONE, np.int32)
    times, code = np.unique(np.concatenate((ts, wanted_ts)), return_inverse=True)
    key = thread.astype(np.int64) * len(times) + code[: len(ts)]
    wanted = wanted_thread.astype(np.int64) * len(times) + code[len(ts) :]
    return rows_of(key, np.where(wanted_thread >= 0, wanted, NONE))
