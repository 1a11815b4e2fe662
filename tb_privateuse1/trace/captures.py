"""The ranges and operators in the capture of a graph that is replayed."""

from __future__ import annotations

from dataclasses import dataclass

from tb_privateuse1.trace.columns import (
    Code,
    MaybeCapturedOpRow,
    MaybeCaptureRow,
    MaybeText,
    Name,
)
from tb_privateuse1.trace.table import Table


@dataclass(frozen=True)
class Captures(Table):
    """Host ranges of the capture of a graph that is replayed, merged by their path of names.

    ``kind`` is ``OPERATOR``, ``ANNOTATION`` or ``FRAME``, ``parent`` the row of the range around.
    """

    name: Name
    kind: Code
    parent: MaybeCaptureRow


@dataclass(frozen=True)
class CapturedOps(Table):
    """Calls of operators in the capture of a replayed graph, by ``parent``, the call around."""

    name: Name
    parent: MaybeCapturedOpRow
    shapes: MaybeText
    dtypes: MaybeText
    strides: MaybeText
    concrete: MaybeText
