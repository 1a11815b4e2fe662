"""Read the samples of a GPU's metrics as recorded counters."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.readers.nsight import schema
from tb_privateuse1.readers.nsight.session import Session
from tb_privateuse1.readers.raw import Counters
from tb_privateuse1.readers.sqlite.columns import Names, Times
from tb_privateuse1.readers.sqlite.database import Database
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import I32

_DEVICE = 0xFF
"""The part of ``typeId`` that is the number of the GPU."""
_MOST_SERIES = 1000
_KEY = "value"


def read_metrics(
    database: Database, names: Names, session: Session, first: int
) -> tuple[Counters, Times, int, int]:
    """Return the counters, the times, the rows, and how many samples are of too many counters.

    A metric that the report does not name has its number for a name.
    """
    table = database.numbers(schema.METRICS, ["timestamp", "typeId", "metricId", "value"])
    times = session.times(table["timestamp"], table["timestamp"])
    row = {key: column[times.rows] for key, column in table.items()}
    device = row["typeId"] & _DEVICE
    firsts, series = group_rows(device, row["metricId"])
    order = np.argsort(firsts, kind="stable")  # by first occurrence
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    firsts, series = firsts[order][:_MOST_SERIES], place[series]
    titles = _titles(database)
    pairs = zip(device[firsts].tolist(), row["metricId"][firsts].tolist(), strict=True)
    rows = [
        (names.index(titles.get(metric, f"Metric {metric}")), names.index(_KEY),
         names.index(f"GPU {gpu}"))
        for gpu, metric in pairs
    ]  # fmt: skip
    listed: I32 = np.array(rows, np.int32).reshape(-1, 3)
    kept = np.flatnonzero(series < _MOST_SERIES)
    samples = CounterSamples(
        series=series[kept].astype(np.int32),
        ts_ns=times.start_ns[kept],
        value=row["value"][kept].astype(np.float64),
        event=(first + times.rows[kept]).astype(np.int32),
    )
    known = CounterSeries(*(listed[:, i].copy() for i in range(3)))
    dropped = len(series) - len(kept)
    return Counters(known, samples), times, len(table["timestamp"]), dropped


def _titles(database: Database) -> dict[int, str]:
    texts = database.texts(schema.METRIC_NAMES, ["metricId", "metricName"])
    return {int(i): name for i, name in texts if name and i.isdecimal() and len(i) < 18}
