"""Read what the tool samples of a device as recorded counters: clocks, bandwidths, memory, links.

Source: the tables of msprof's writer (``analysis/csrc/viewer/database``), and CANN's documentation
("Description of .db Data Exported by msprof"): frequencies in MHz, sizes in bytes, bandwidths in
bytes per second.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from tb_privateuse1.readers.raw import Counters
from tb_privateuse1.readers.sqlite.columns import Names, Times, valid_times
from tb_privateuse1.readers.sqlite.database import ABSENT, Database
from tb_privateuse1.trace.groupby import group_rows
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.recorded_counters import CounterSamples, CounterSeries
from tb_privateuse1.trace.table import F64, I32, I64

MOST_SERIES = 1000


class Sampled(Struct, frozen=True):
    """A table of samples: a counter for each value and each distinct part."""

    title: str
    values: dict[str, str]
    """By column: what it is, with its unit."""
    number: str | None = None
    """The column with the number of the unit that was sampled."""
    text: str | None = None
    """The column with the id of a string: read or write, or whose memory it is."""


_BANDWIDTH = "bandwidth, bytes/s"
_PORT = {"rxByteRate": "received, bytes/s", "txByteRate": "sent, bytes/s"}

TABLES = {
    "AICORE_FREQ": Sampled("AI Core frequency", {"freq": "MHz"}),
    "HBM": Sampled("HBM", {"bandwidth": _BANDWIDTH}, "hbmId", "type"),
    "DDR": Sampled("DDR", {"read": f"read {_BANDWIDTH}", "write": f"write {_BANDWIDTH}"}),
    "LLC": Sampled("LLC", {"hitRate": "hit rate", "throughput": _BANDWIDTH}, "llcId", "mode"),
    "NPU_MEM": Sampled("Memory", {"ddr": "DDR, bytes", "hbm": "HBM, bytes"}, None, "type"),
    "SOC_BANDWIDTH_LEVEL": Sampled(
        "SoC bandwidth", {"l2BufferBwLevel": "L2 buffer, level", "mataBwLevel": "MATA, level"}
    ),
    "HCCS": Sampled("HCCS", {"txThroughput": "sent, bytes/s", "rxThroughput": "received, bytes/s"}),
    "PCIE": Sampled(
        "PCIe",
        {"txPostAvg": "sent posted, bytes/s", "rxPostAvg": "received posted, bytes/s"},
    ),
    "NIC": Sampled("NIC", _PORT, "funcId"),
    "ROCE": Sampled("RoCE", _PORT, "funcId"),
}
"""The tables that are read, in the order in which their rows are numbered."""


class CounterReader:
    """Reads the tables one by one; ``counters`` has all that were read."""

    def __init__(self, database: Database, names: Names) -> None:
        self._database = database
        self._names = names
        self._series: list[tuple[int, int, int]] = []
        self._samples: list[CounterSamples] = []
        self.dropped = 0

    def read(self, table: str, first: int) -> tuple[Times, int]:
        """Read a table whose first row has the number ``first``; return its times and rows."""
        sampled = TABLES[table]
        parts = ["deviceId", *filter(None, (sampled.number, sampled.text))]
        columns = self._database.numbers(table, ["timestampNs", *parts])
        times = valid_times(columns["timestampNs"], columns["timestampNs"])
        rows = len(columns["timestampNs"])
        if not rows:
            return times, 0
        firsts, code = group_rows(*(columns[part][times.rows] for part in parts))
        for column, unit in sampled.values.items():
            number, distinct = self._values(table, column, rows)
            number = number[times.rows]
            known = number >= 0
            used = np.unique(code[known])
            place = np.full(len(firsts), NONE, np.int64)
            for group in used.tolist():
                row = int(times.rows[firsts[group]])
                place[group] = self._place(
                    sampled, unit, {part: int(columns[part][row]) for part in parts}
                )
            kept = np.flatnonzero(known & (place[code] >= 0))
            self.dropped += int(known.sum()) - len(kept)
            self._samples.append(CounterSamples(
                series=place[code[kept]].astype(np.int32),
                ts_ns=times.start_ns[kept],
                value=distinct[number[kept]],
                event=(first + times.rows[kept]).astype(np.int32),
            ))  # fmt: skip
        return times, rows

    def counters(self) -> Counters:
        """Return all counters, in the order of the tables."""
        listed: I32 = np.array(self._series, np.int32).reshape(-1, 3)
        known = CounterSeries(*(listed[:, i].copy() for i in range(3)))
        if not self._samples:
            return Counters()
        names = CounterSamples.column_types()
        whole = {
            name: np.concatenate([getattr(samples, name) for samples in self._samples])
            for name in names
        }
        return Counters(known, CounterSamples(**whole))

    def _values(self, table: str, column: str, rows: int) -> tuple[I64, F64]:
        """Return the number of each row's value, ``NONE`` without one, and the values."""
        values: list[float] = []
        numbers: dict[str, int] = {}

        def index(text: str) -> int:
            known = numbers.get(text)
            if known is None:
                value = _finite(text)
                known = numbers[text] = NONE if value is None else len(values)
                values.extend([] if value is None else [value])
            return known

        code = self._database.codes(table, column, index)
        found = np.full(rows, NONE, np.int64)
        found[: len(code)] = code[:rows]
        return found, np.array(values, np.float64)

    def _place(self, sampled: Sampled, unit: str, row: dict[str, int]) -> int:
        """Return the number of a new counter; ``NONE`` if there are too many."""
        if len(self._series) >= MOST_SERIES:
            return NONE
        title = [sampled.title]
        if sampled.number is not None and row[sampled.number] != ABSENT:
            title.append(str(row[sampled.number]))
        if sampled.text is not None and row[sampled.text] != ABSENT:
            title.append(self._names.text(row[sampled.text]) or str(row[sampled.text]))
        device = row["deviceId"]
        process = "NPU" if device == ABSENT else f"NPU {device}"
        index = self._names.index
        self._series.append((index(" ".join(title)), index(unit), index(process)))
        return len(self._series) - 1


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
