"""Read which slices belong together: flows, and the device work that a call started."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.readers.chrome.growing_columns import Column
from tb_privateuse1.readers.perfetto.wire import FIXED64, VARINT, Buffer, Fields, scan
from tb_privateuse1.trace.table import I64

_FLOWS = ((47, FIXED64), (48, FIXED64), (36, VARINT), (42, VARINT))
"""``flow_ids``, ``terminating_flow_ids``, and their older forms."""
_CORRELATION = 3000
"""``GpuTrackEvent.gpu_correlation``, an extension of a track event."""
_STAGE_IDS = 1
_PACKED = (47, 48)


class Links:
    """Rows of slices with ids of flows, and with ids of a device's events."""

    def __init__(self) -> None:
        self._flows = Column(np.int64), Column(np.int64)
        self._work = Column(np.int64), Column(np.int64)

    def add(self, buffer: Buffer, fields: Fields, number: I64) -> None:
        """Add the links of track events; ``number`` is the row of their slice, or negative."""
        for field, kind in _FLOWS:
            rows = fields.rows(field, kind)
            _append(self._flows, number[fields.message[rows]], fields.value[rows].view(np.int64))
            row, spans = fields.spans(field)
            for at, text in zip(row.tolist(), buffer.texts(spans), strict=True):
                if field in _PACKED:
                    ids = np.frombuffer(text[: len(text) // 8 * 8], "<i8")
                    _append(self._flows, np.full(len(ids), number[at]), ids)
        row, spans = fields.spans(_CORRELATION)
        if len(row):
            inner = scan(buffer, spans)
            rows = inner.rows(_STAGE_IDS)
            owner = number[row][inner.message[rows]]
            _append(self._work, owner, inner.value[rows].view(np.int64))

    def flows(self) -> tuple[I64, I64]:
        """Return slices and ids of their flows."""
        return self._flows[0].values(), self._flows[1].values()

    def work(self) -> tuple[I64, I64]:
        """Return slices and ids of the device's events that they started."""
        return self._work[0].values(), self._work[1].values()


def _append(columns: tuple[Column, Column], row: I64, id: I64) -> None:
    kept = row >= 0
    columns[0].add(row[kept])
    columns[1].add(id[kept])
