"""Tables of read-only numpy columns, as dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]


_DTYPES: dict[str, type[np.generic]] = {
    "I8": np.int8,
    "I32": np.int32,
    "I64": np.int64,
    "F64": np.float64,
    "Bools": np.bool_,
}


class Table:
    """A frozen dataclass of equally long read-only columns."""

    def __post_init__(self) -> None:
        lengths = set()
        for name, column in self.columns():
            lengths.add(len(column))
            column.flags.writeable = False
            if column.ndim != 1:
                raise ValueError(f"{type(self).__name__}.{name} is not one-dimensional")
        if len(lengths) != 1:
            raise ValueError(f"{type(self).__name__} has columns of lengths {sorted(lengths)}")

    def columns(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the name and array of each column, in the order of definition."""
        for f in dataclasses.fields(cast(Any, self)):
            yield f.name, getattr(self, f.name)

    def __len__(self) -> int:
        return len(next(self.columns())[1])

    def take(self, rows: NDArray[Any]) -> Self:
        """Return the rows of an index array or a mask, as a table of the same kind."""
        if rows.dtype == np.bool_ and len(rows) == len(self) and rows.all():
            return self
        return type(self)(**{name: column[rows] for name, column in self.columns()})

    @classmethod
    def empty(cls) -> Self:
        """Return a table without rows; each column has the dtype of its annotation."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in cls.column_types().items()})

    @classmethod
    def column_types(cls) -> dict[str, type[np.generic]]:
        """Return the columns' dtypes by name."""
        return {f.name: _DTYPES[cast(str, f.type)] for f in dataclasses.fields(cast(Any, cls))}
