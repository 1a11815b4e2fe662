"""Collect the tensors that operators take and return, with the memory that each of them is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_privateuse1.readers.execution_trace.inputs import Described
from tb_privateuse1.readers.raw import TensorUses
from tb_privateuse1.trace.model import NONE, READ, RETURNED, WRITTEN

_MOST = 1 << 16
"""Tensors of one operator that count."""
_LIMIT = 1 << 62
_NO_MEMORY = ("meta", "lazy")
_ARGUMENT = re.compile(r",(?![^(\[]*[)\]])")

_Row = tuple[int, int, int, int, int, int, int, int]


class Uses:
    """The rows of ``TensorUses``, which grow node by node; ``strings`` numbers texts."""

    def __init__(self, strings: dict[str, int]) -> None:
        self._strings = strings
        self._rows: list[_Row] = []
        self._chunks: list[Any] = []
        self._writes: dict[str, frozenset[int]] = {}

    def add(self, event: int, schema: str, inputs: Described, outputs: Described) -> None:
        """Add the tensors of one operator, whose event in the trace has this number."""
        writes = self._writes.get(schema)
        if writes is None:
            writes = self._writes[schema] = written_arguments(schema)
        for argument, value in _tensors(inputs):
            self._add(event, WRITTEN if argument in writes else READ, argument, value)
        for argument, value in _tensors(outputs):
            self._add(event, RETURNED, argument, value)
        if len(self._rows) >= _MOST:
            self._pack()

    def table(self) -> TensorUses:
        """Return all rows."""
        self._pack()
        rows = np.concatenate([np.empty((0, 8), np.int64), *self._chunks])
        event, access, argument, storage, offset, elements, item, device = rows.T
        return TensorUses(
            event=event.astype(np.int32),
            access=access.astype(np.int8),
            argument=argument.astype(np.int32),
            storage=storage.copy(),
            offset=offset.copy(),
            elements=elements.copy(),
            item_bytes=item.copy(),
            device_name=device.astype(np.int32),
        )

    def _pack(self) -> None:
        if self._rows:
            self._chunks.append(np.array(self._rows, np.int64))
            self._rows = []

    def _add(self, event: int, access: int, argument: int, value: Any) -> None:
        """Add a tensor: (its id, storage, offset, elements, bytes of one, device)."""
        if not isinstance(value, list) or len(value) < 6 or not isinstance(value[5], str):
            return
        _, storage, offset, elements, item, device = value[:6]
        # One by one: a generator over the four takes five times as long, for each tensor of a file.
        if not (type(storage) is type(offset) is type(elements) is type(item) is int):
            return
        if not (0 <= storage < _LIMIT and 0 <= offset < _LIMIT):
            return
        if not (0 <= elements < _LIMIT and 0 <= item < _LIMIT):
            return
        # Tensors without memory share one address, so it says nothing of them.
        if not elements or not storage or device.startswith(_NO_MEMORY):
            storage = NONE
        number = self._strings.setdefault(device, len(self._strings))
        self._rows.append((event, access, argument, storage, offset, elements, item, number))


def _tensors(described: Described) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of each tensor, also of those in lists."""
    values, layout = described
    if not isinstance(values, list):
        return
    left = _MOST
    for argument, members in layout.tensors:
        if argument >= len(values):
            return
        value = values[argument]
        if members is None:
            yield argument, value
        elif isinstance(value, list):
            counted = members[:left]
            left -= len(counted)
            for one, is_one in zip(value, counted, strict=False):
                if is_one:
                    yield argument, one


def written_arguments(schema: str) -> frozenset[int]:
    """Return the positions of the arguments that an operator writes to, by its schema.

    They are those with a ``!``, as in ``add_(Tensor(a!) self, Tensor other) -> Tensor(a!)``.
    """
    begin, end = schema.find("("), schema.rfind(") ->")
    if begin < 0 or end < begin:
        return frozenset()
    arguments = [a.strip() for a in _ARGUMENT.split(schema[begin + 1 : end])]
    arguments = [a for a in arguments if a != "*"]
    return frozenset(i for i, a in enumerate(arguments) if "!" in a.partition("=")[0])
