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
Bools = NDArray[np.bool_]


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
        """Name and array of each column, in the order of definition."""
        for f in dataclasses.fields(cast(Any, self)):
            yield f.name, getattr(self, f.name)

    def __len__(self) -> int:
        return len(next(self.columns())[1])

    def take(self, rows: NDArray[Any]) -> Self:
        """The rows of an index array or a mask, as a table of the same kind."""
        return type(self)(**{name: column[rows] for name, column in self.columns()})

    @classmethod
    def empty(cls) -> Self:
        """A table without rows. Every column's dtype is its annotation's."""
        return cls(**{name: np.empty(0, dtype) for name, dtype in cls.column_types().items()})

    @classmethod
    def column_types(cls) -> dict[str, type[np.generic]]:
        """The columns' dtypes by name."""
        of = {"I8": np.int8, "I32": np.int32, "I64": np.int64, "Bools": np.bool_}
        return {f.name: of[cast(str, f.type)] for f in dataclasses.fields(cast(Any, cls))}
