"""Groups that come in parts -> one group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome.event_schema import MISSING_OF
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace.model import NONE


class Column:
    """An array that grows at its end.

    It doubles its room: what is not filled yet costs no memory, and there are never small pieces
    of which the allocator could make nothing larger when they are freed.
    """

    def __init__(self, dtype: type[np.generic] | np.dtype[Any]) -> None:
        self._room = np.empty(0, dtype)
        self._rows = 0

    def add(self, values: NDArray[Any]) -> None:
        """More values."""
        self._reserve(len(values))
        self._room[self._rows : self._rows + len(values)] = values
        self._rows += len(values)

    def fill(self, rows: int, value: int) -> None:
        """The same value in all rows up to so many."""
        count = rows - self._rows
        if count > 0:
            self._reserve(count)
            self._room[self._rows : rows] = value
            self._rows = rows

    def values(self) -> NDArray[Any]:
        """What was added."""
        return self._room[: self._rows]

    def _reserve(self, count: int) -> None:
        if (needed := self._rows + count) > len(self._room):
            larger = np.empty(max(needed, 2 * len(self._room)), self._room.dtype)
            larger[: self._rows] = self.values()
            self._room = larger


class Parts:
    """Rows of one category. A column that only some parts have is filled where it is missing."""

    def __init__(self) -> None:
        self._fixed = {
            name: Column(np.int64 if name.endswith("_ns") else np.int32)
            for name in ("name", "start_ns", "end_ns", "thread", "event")
        }
        self._ids: dict[str, Column] = {}
        self._texts: dict[str, Column] = {}
        self._rows = 0

    def add(self, part: Group) -> None:
        """More rows."""
        for name, column in self._fixed.items():
            column.add(getattr(part, name))
        for columns, new in ((self._ids, part.ids), (self._texts, part.texts)):
            for key, values in new.items():
                if key not in columns:
                    columns[key] = Column(values.dtype)
                columns[key].fill(self._rows, MISSING_OF.get(key, NONE))
                columns[key].add(values)
        self._rows += len(part)

    def group(self) -> Group:
        """All rows."""
        for columns in (self._ids, self._texts):
            for key, column in columns.items():
                column.fill(self._rows, MISSING_OF.get(key, NONE))
        fixed, ids, texts = (
            {key: column.values() for key, column in columns.items()}
            for columns in (self._fixed, self._ids, self._texts)
        )
        return Group(**fixed, ids=ids, texts=texts)
