"""Tables of read-only numpy columns, and the types of columns.

Each integer is plain, or a row of a table, or an index of the strings. ``Maybe…`` columns hold
``NONE`` where there is no row. ``row_selection`` maps rows by these types.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Bools = NDArray[np.bool_]

HALF_INT64 = 1 << 62
"""Below it, the sum and the difference of two numbers fit into int64."""

_DTYPES: dict[Any, type[np.generic]] = {
    I8: np.int8,
    I32: np.int32,
    I64: np.int64,
    F64: np.float64,
    Bools: np.bool_,
}


class Rows(Struct, frozen=True):
    """Annotation of integers that are rows of a table of the Trace, or indices of its strings."""

    table: str
    """A name in ``model.TABLES``, or ``strings``."""
    optional: bool = False
    """``NONE`` stands for no row."""


class RowsBy(Struct, frozen=True):
    """Annotation of integers that are rows of several tables, or ``NONE``.

    The column ``column`` has the index in ``tables`` of each row's table.
    """

    column: str
    tables: tuple[str, ...]


class Plain(Struct, frozen=True):
    """Annotation of integers that refer to no row: times, sizes, ids, codes."""


Code = Annotated[I8, Plain()]
Number = Annotated[I64, Plain()]
SmallNumber = Annotated[I32, Plain()]
Nanoseconds = Annotated[I64, Plain()]

Name = Annotated[I32, Rows("strings")]
MaybeText = Annotated[I32, Rows("strings", optional=True)]

ThreadRow = Annotated[I32, Rows("threads")]
MaybeThreadRow = Annotated[I32, Rows("threads", optional=True)]
OpRow = Annotated[I32, Rows("ops")]
MaybeOpRow = Annotated[I32, Rows("ops", optional=True)]
MaybeFrameRow = Annotated[I32, Rows("frames", optional=True)]
FrameRow64 = Annotated[I64, Rows("frames")]
LaunchRow = Annotated[I32, Rows("launches")]
MaybeLaunchRow = Annotated[I32, Rows("launches", optional=True)]
LaneRow = Annotated[I32, Rows("lanes")]
MaybeLaneRow = Annotated[I32, Rows("lanes", optional=True)]
MaybeKernelRow = Annotated[I32, Rows("kernels", optional=True)]
MaybeConfigRow = Annotated[I32, Rows("configs", optional=True)]
MaybeCaptureRow = Annotated[I32, Rows("captures", optional=True)]
MaybeCapturedOpRow = Annotated[I32, Rows("captured_ops", optional=True)]
MaybeStepRow = Annotated[I32, Rows("steps", optional=True)]
SeriesRow = Annotated[I32, Rows("counter_series")]

OpRow64 = Annotated[I64, Rows("ops")]
StepRow64 = Annotated[I64, Rows("steps")]
ThreadRow64 = Annotated[I64, Rows("threads")]
MaybeThreadRow64 = Annotated[I64, Rows("threads", optional=True)]


class ColumnType(Struct, frozen=True):
    """The type of a column: its dtype, and whether its values refer to rows."""

    dtype: type[np.generic]
    kind: Rows | RowsBy | Plain | None
    """None: not declared."""


class Table(Struct, frozen=True, eq=False):
    """Equally long read-only columns.

    The type of a field is the name of a type of columns, in its module.
    """

    ORDER: ClassVar[tuple[str, ...]] = ()
    """The columns by which rows are sorted, the most significant one first."""

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
        for name in self.__struct_fields__:
            yield name, getattr(self, name)

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
        return {name: declared.dtype for name, declared in declared_types(cls).items()}

    @classmethod
    def references(cls) -> dict[str, Rows]:
        """Return the columns whose values are rows of the Trace's tables, by name."""
        types = declared_types(cls)
        return {name: one.kind for name, one in types.items() if isinstance(one.kind, Rows)}


_KNOWN: dict[type[Any], dict[str, ColumnType]] = {}


def declared_types(kind: type[Any]) -> dict[str, ColumnType]:
    """Return the declared types of the columns of a kind of Table, by name.

    Annotations are names in the table's module: ``typing.get_type_hints`` is too slow at start.
    """
    if (known := _KNOWN.get(kind)) is not None:
        return known
    names = vars(sys.modules[kind.__module__])
    found = {}
    for name, type_name in kind.__annotations__.items():
        annotation = names[type_name]
        declared = next(iter(getattr(annotation, "__metadata__", ())), None)
        array = annotation if declared is None else annotation.__origin__
        found[name] = ColumnType(_DTYPES[array], declared)
    _KNOWN[kind] = found
    return found
