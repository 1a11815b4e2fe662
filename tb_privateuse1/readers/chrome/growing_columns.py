"""Columns that grow while a file is read, and the group that they become."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.raw import MISSING_OF, Group
from tb_privateuse1.trace.model import NONE


class Column:
    """An array that grows at its end.

    It doubles its capacity. Unfilled pages cost no memory, and there are no small pieces, which
    would fragment the heap when they are freed.
    """

    def __init__(self, dtype: type[np.generic] | np.dtype[Any]) -> None:
        self._array = np.empty(0, dtype)
        self._rows = 0

    def add(self, values: NDArray[Any]) -> None:
        """Append values."""
        self._reserve(len(values))
        self._array[self._rows : self._rows + len(values)] = values
        self._rows += len(values)

    def fill(self, rows: int, value: int) -> None:
        """Append one value until there are ``rows`` rows."""
        count = rows - self._rows
        if count > 0:
            self._reserve(count)
            self._array[self._rows : rows] = value
            self._rows = rows

    def values(self) -> NDArray[Any]:
        """Return the filled part of the array."""
        return self._array[: self._rows]

    def _reserve(self, count: int) -> None:
        if (needed := self._rows + count) > len(self._array):
            larger = np.empty(max(needed, 2 * len(self._array)), self._array.dtype)
            larger[: self._rows] = self.values()
            self._array = larger


class Columns:
    """Columns that grow together."""

    def __init__(self, **types: type[np.generic]) -> None:
        self._columns = {name: Column(dtype) for name, dtype in types.items()}
        self.rows = 0

    def add(self, **values: NDArray[Any]) -> None:
        """Append rows."""
        for name, column in self._columns.items():
            column.add(values[name])
        self.rows += len(next(iter(values.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name].values()


class Parts:
    """Rows of one category. A column that only some parts have is filled in the others."""

    def __init__(self) -> None:
        self._fixed = {
            name: Column(np.int64 if name.endswith("_ns") else np.int32)
            for name in ("name", "start_ns", "end_ns", "thread", "event")
        }
        self._ids: dict[str, Column] = {}
        self._texts: dict[str, Column] = {}
        self._rows = 0

    def add(self, part: Group) -> None:
        """Append rows."""
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
        """Return all rows."""
        for columns in (self._ids, self._texts):
            for key, column in columns.items():
                column.fill(self._rows, MISSING_OF.get(key, NONE))
        fixed, ids, texts = (
            {key: column.values() for key, column in columns.items()}
            for columns in (self._fixed, self._ids, self._texts)
        )
        return Group(**fixed, ids=ids, texts=texts)
