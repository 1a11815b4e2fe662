"""Collect the tensors that operators take and return, with the memory that each of them is in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from tb_privateuse1.readers.execution_trace.inputs import is_tensor, member_types
from tb_privateuse1.readers.execution_trace.nodes import Node, Slots
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

    def add(self, event: int, node: Node) -> None:
        """Add the tensors of one operator, whose event in the trace has this number."""
        writes = self._writes.get(node.op_schema)
        if writes is None:
            writes = self._writes[node.op_schema] = written_arguments(node.op_schema)
        for slots, returned in ((node.inputs, False), (node.outputs, True)):
            for argument, value in _tensors(slots):
                access = RETURNED if returned else WRITTEN if argument in writes else READ
                row = self._row(event, access, argument, value)
                if row is not None:
                    self._rows.append(row)
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

    def _row(self, event: int, access: int, argument: int, value: Any) -> _Row | None:
        """Return the row of a tensor: (its id, storage, offset, elements, bytes of one, device)."""
        if not isinstance(value, list) or len(value) < 6 or not isinstance(value[5], str):
            return None
        numbers = value[1:5]
        if not all(type(n) is int and 0 <= n < _LIMIT for n in numbers):
            return None
        storage, offset, elements, item = numbers
        # Tensors without memory share one address, so it says nothing of them.
        if not elements or not storage or value[5].startswith(_NO_MEMORY):
            storage = NONE
        device = self._strings.setdefault(value[5], len(self._strings))
        return event, access, argument, storage, offset, elements, item, device


def _tensors(slots: Slots | list[Any] | None) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of each tensor, also of those in lists."""
    if not isinstance(slots, Slots) or not isinstance(slots.values, list):
        return
    kinds = slots.types if isinstance(slots.types, list) else []
    left = _MOST
    for argument, (value, kind) in enumerate(zip(slots.values, kinds, strict=False)):
        if is_tensor(kind):
            yield argument, value
        elif isinstance(value, list):
            members = (member_types(kind) or [])[:left]
            left -= len(members)
            for one, member in zip(value, members, strict=False):
                if is_tensor(member):
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
