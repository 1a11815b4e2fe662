"""Tables of CUDA graph captures: the ranges and operators in a graph that is replayed."""

from __future__ import annotations

from tb_privateuse1.trace.table import (
    Code,
    MaybeCapturedOpRow,
    MaybeCaptureRow,
    MaybeText,
    Name,
    Table,
)


class Captures(Table, frozen=True):
    """Host ranges of the capture of a graph that is replayed, merged by their path of names.

    ``kind`` is ``OPERATOR``, ``ANNOTATION`` or ``FRAME``, ``parent`` the row of the range around.
    """

    name: Name
    kind: Code
    parent: MaybeCaptureRow


class CapturedOps(Table, frozen=True):
    """Calls of operators in the capture of a replayed graph, by ``parent``, the call around."""

    name: Name
    parent: MaybeCapturedOpRow
    shapes: MaybeText
    dtypes: MaybeText
    strides: MaybeText
    concrete: MaybeText
