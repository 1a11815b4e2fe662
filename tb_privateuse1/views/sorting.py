"""The order of rows by a column that an option names; a row without a value is last."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, TypeVar

import numpy as np

from tb_privateuse1.analysis.roofs.achieved import COLUMNS, Figures
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.table import I64

_View = TypeVar("_View", bound=Callable[..., Any])

SortOption = Annotated[
    str | None, "a column, descending with a minus before it; default: the most time"
]


def sorts(columns: Collection[str]) -> Callable[[_View], _View]:
    """Declare which columns a view's option ``sort`` names, besides the figures of work."""

    def declare(view: _View) -> _View:
        vars(view)["sorts"] = (*columns, *COLUMNS)
        return view

    return declare


def parse_sort(sort: str | None, columns: Collection[str]) -> tuple[str | None, bool]:
    """Return the column and whether it descends; None is the default order.

    Figures of work can sort everywhere. Raises TraceError ``bad_option`` for other columns.
    """
    if sort is None:
        return None, True
    key = sort.removeprefix("-")
    names = (*columns, *COLUMNS)
    if key not in names:
        message = say("Rows cannot be sorted by {key!r}.", key=key)
        hint = say("They can by: {names}.", names=", ".join(names))
        raise TraceError("bad_option", message, hint)
    return key, sort.startswith("-")


def order_by_number(rows: I64, column: I64, *, descending: bool) -> I64:
    """Return rows by their value in a column; equal ones stay as they are."""
    values = column[rows]
    order: I64 = rows[np.argsort(-values if descending else values, kind="stable")]
    return order


def order_by_text(rows: I64, texts: Sequence[str], *, descending: bool) -> I64:
    """Return rows by the text of each."""
    words = dict(zip(rows.tolist(), texts, strict=True))
    return np.array(sorted(rows.tolist(), key=words.__getitem__, reverse=descending), np.int64)


def order_by_work(rows: I64, work: Sequence[Figures], key: str, *, descending: bool) -> I64:
    """Return rows by a figure of work; ``work`` has one for each of them."""
    known = [(getattr(one, key), row) for one, row in zip(work, rows.tolist(), strict=True)]
    some = [pair for pair in known if pair[0] is not None]
    some.sort(key=lambda pair: pair[0], reverse=descending)
    order = [row for _, row in some] + [row for value, row in known if value is None]
    return np.array(order, np.int64)
