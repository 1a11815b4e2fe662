"""Pack the tables of a result as columns: the names of fields and repeated values once.

Nothing is left out: a page that unpacks the answer has what the JSON says.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from tb_privateuse1.i18n import Text

_WORTH_PACKING = 32
"""Rows of a table: below, names of fields take less than the description of columns."""
_WORTH_SPLITTING = 2000
"""Characters of a column of texts."""
_SEPARATOR = ";"
"""Of a text's parts: of the frames of a stack, often in many stacks."""
_SCALARS = {str, Text, bool, int, float, type(None)}
_LISTS = {tuple, list}
_INTEGERS = (np.int8, np.int16, np.int32)
_EXACT = 1 << 53
"""Whole numbers up to it are exact in float64, the only number that JavaScript has."""


def pack(value: Any) -> Any:
    """Return a result whose large tables are ``{"$rows": {field: its values}}``.

    The values are an array where all are numbers; ``{"$values": [values, index of each row's]}``
    where they repeat; ``{"$parts": [parts, indices, how many each text has]}`` where texts have
    parts that repeat (0: null); ``{"$lists": [items of all, how many each has]}`` where they are
    lists; else a list. A list of numbers is ``{"$list": array}``.
    """
    if isinstance(value, tuple | list):
        if len(value) < _WORTH_PACKING or len(set(map(type, value))) > 1:
            return [pack(one) for one in value]
        column = _items(value)
        return {"$list": column} if isinstance(column, np.ndarray) else column
    if isinstance(value, Struct):
        kind: Any = type(value)
        names, values = _fields(kind)
        return dict(zip(names, map(pack, values(value)), strict=True))
    return value


def _columns(rows: Sequence[Any]) -> dict[str, Any]:
    kind: Any = type(rows[0])
    names, values = _fields(kind)
    columns = zip(*map(values, rows), strict=True)
    return {name: _column(column) for name, column in zip(names, columns, strict=True)}


def _items(values: Sequence[Any]) -> Any:
    """Return values of one type: the columns of a table, or one column."""
    return {"$rows": _columns(values)} if isinstance(values[0], Struct) else _column(values)


def _column(values: Sequence[Any]) -> Any:
    kinds = set(map(type, values))
    if kinds == {float}:
        numbers = np.array(values)
        return numbers if np.isfinite(numbers).all() else values  # JSON's null
    if kinds == {int}:
        return _whole_numbers(values)
    if kinds <= _SCALARS:
        return _repeated(values)
    return _joined(values) if kinds <= _LISTS else [pack(one) for one in values]


def _joined(values: Sequence[Sequence[Any]]) -> Any:
    """Return the items of all lists as one column, if that is less: each list may have few."""
    items = [item for one in values for item in one]
    if 0 < len(items) < _WORTH_PACKING or len(set(map(type, items))) > 1:
        return [pack(one) for one in values]
    counts = _whole_numbers([len(one) for one in values])
    return {"$lists": [_items(items) if items else [], counts]}


def _whole_numbers(values: Sequence[int]) -> Any:
    low, high = min(values), max(values)
    for kind in _INTEGERS:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.array(values, kind)
    return np.array(values, np.float64) if max(-low, high) <= _EXACT else values


def _repeated(values: Sequence[Any]) -> Any:
    """Return each different value once and the index of each row's, where that is less."""
    # True equals 1, and texts that are the same in English may differ in another language.
    keys = [(type(value), value, getattr(value, "template", None)) for value in values]
    place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    if 2 * len(place) > len(values):
        return _split(values)
    different = dict(zip(keys, values, strict=True))
    index = _whole_numbers([place[key] for key in keys])
    return {"$values": [_split([different[key] for key in place]), index]}


def _split(values: Sequence[Any]) -> Any:
    """Return the parts of long texts once each, where they repeat."""
    if not all(value is None or type(value) is str for value in values):
        return values
    if sum(len(value or "") for value in values) < _WORTH_SPLITTING:
        return values
    texts = [[] if value is None else value.split(_SEPARATOR) for value in values]
    parts = [part for text in texts for part in text]
    place = {part: i for i, part in enumerate(dict.fromkeys(parts))}
    if 2 * len(place) > len(parts):
        return values
    indices = _whole_numbers([place[part] for part in parts])
    return {"$parts": [list(place), indices, _whole_numbers([len(text) for text in texts])]}


@functools.cache
def _fields(kind: type[Any]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of a Struct's fields, and what returns the values of one."""
    names = kind.__struct_fields__
    if len(names) > 1:
        return names, operator.attrgetter(*names)
    return names, lambda value: tuple(getattr(value, name) for name in names)
