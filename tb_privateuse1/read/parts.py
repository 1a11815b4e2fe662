"""Groups that come in parts -> one group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.read.base import Group
from tb_privateuse1.read.events import MISSING_OF
from tb_privateuse1.trace import NONE


class Parts:
    """Rows of one category. A column that only later parts have is filled where it is missing."""

    def __init__(self) -> None:
        self._fixed: dict[str, list[NDArray[Any]]] = {
            "name": [], "start_ns": [], "end_ns": [], "thread": [], "event": []
        }  # fmt: skip
        self._ids: dict[str, list[NDArray[Any]]] = {}
        self._texts: dict[str, list[NDArray[Any]]] = {}
        self._rows = 0

    def add(self, part: Group) -> None:
        """More rows."""
        for name, column in self._fixed.items():
            column.append(getattr(part, name))
        for columns, new in ((self._ids, part.ids), (self._texts, part.texts)):
            for key in columns.keys() | new.keys():
                column = columns.setdefault(key, _gap(key, self._rows))
                column += [new[key]] if key in new else _gap(key, len(part))
        self._rows += len(part)

    def group(self) -> Group:
        """All rows. The parts are let go one column after the other: no two copies of all."""
        if not self._rows:
            return Group.join([])
        fixed = {name: _joined(column) for name, column in self._fixed.items()}
        ids, texts = (
            {key: _joined(column) for key, column in columns.items()}
            for columns in (self._ids, self._texts)
        )
        return Group(**fixed, ids=ids, texts=texts)


def _gap(key: str, rows: int) -> list[NDArray[Any]]:
    if not rows:
        return []
    missing, dtype = MISSING_OF.get(key, NONE), np.int64 if key in MISSING_OF else np.int32
    return [np.full(rows, missing, dtype)]


def _joined(column: list[NDArray[Any]]) -> NDArray[Any]:
    whole = np.concatenate(column)
    column.clear()
    return whole
