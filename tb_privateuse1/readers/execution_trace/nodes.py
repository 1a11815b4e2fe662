"""Read the nodes of an execution trace, part by part: plain or gzipped, complete or cut off.

The format is that of torch/csrc/profiler/standalone/execution_trace_observer.cpp (schemas 1.0 and
1.1) and of Chakra's host traces, which are the same: a node per call of an operator. Until schema
1.0.1 the lists of a node's inputs and outputs were keys of the node, and there were no ``attrs``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from tb_privateuse1.readers.chrome.json_values import BROKEN, value_length
from tb_privateuse1.readers.decompress import Source

_BOUNDARY = re.compile(
    rb'\}\s*,\s*(?=\{\s*"(?:id"\s*:\s*[0-9]|name"\s*:\s*"(?:[^"\\]|\\.){0,999}"\s*,\s*"id"))'
)
_LIST = re.compile(rb'"nodes"\s*:\s*\[|\A\s*\[')
_HEAD = 1 << 16
_PART = 1 << 20
"""Bytes of nodes that are decoded at once."""
_LONGEST = 1 << 26
"""Bytes of the longest node: a longer one ends the reading."""
_MOST_DAMAGES = 1000
_EMPTY = msgspec.Raw(b"[]")


class Slots(msgspec.Struct, gc=False):
    """The inputs or the outputs of a node: a value, a shape, a type and strides of each.

    All but the values are JSON: many nodes have the same, which ``inputs.Layouts`` decodes once.
    """

    values: Any = ()
    shapes: msgspec.Raw = _EMPTY
    types: msgspec.Raw = _EMPTY
    strides: msgspec.Raw = _EMPTY


class _Attribute(msgspec.Struct, gc=False):
    name: str = ""
    value: Any = None


class Node(msgspec.Struct, gc=False):
    """A call of an operator; ``record`` is its Record function id, 0 if it has none."""

    name: str = ""
    inputs: Slots | list[Any] | None = None
    outputs: Slots | list[Any] | None = None
    attrs: list[_Attribute] = []
    rf_id: int = 0
    seq_id: int = -1
    op_schema: str = ""
    input_shapes: msgspec.Raw = _EMPTY
    input_types: msgspec.Raw = _EMPTY
    output_shapes: msgspec.Raw = _EMPTY
    output_types: msgspec.Raw = _EMPTY

    def __post_init__(self) -> None:
        """Set the fields that newer schemas have in lists of their own."""
        for attribute in self.attrs:
            if attribute.name == "rf_id" and type(attribute.value) is int:
                self.rf_id = attribute.value
            elif attribute.name == "seq_id" and type(attribute.value) is int:
                self.seq_id = attribute.value
            elif attribute.name == "op_schema" and type(attribute.value) is str:
                self.op_schema = attribute.value

    def slots(self) -> tuple[Slots, Slots]:
        """Return inputs and outputs, which until schema 1.0.1 were lists of the node."""
        given, got = self.inputs, self.outputs
        if not isinstance(given, Slots):
            given = Slots(given or (), self.input_shapes, self.input_types)
        if not isinstance(got, Slots):
            got = Slots(got or (), self.output_shapes, self.output_types)
        return given, got


# Made at import: msgspec inspects a class on first use and crashes if two threads do so at once.
_ALL, _ONE = msgspec.json.Decoder(list[Node]), msgspec.json.Decoder(Node)


class NodeFile:
    """The nodes of one file. ``truncated`` and ``damages`` are known once all are read."""

    def __init__(self, path: str) -> None:
        self.truncated = False
        self.damages = 0
        self._source = Source(path)

    def parts(self) -> Iterator[list[Node]]:
        """Yield the nodes in the order of the file, a megabyte of text at a time.

        Raises TraceError ``unreadable`` or ``too_large``.
        """
        blocks = self._source.blocks()
        text = b""
        for block in blocks:
            text += block
            if len(text) >= _HEAD:
                break
        start = _LIST.search(text)
        if start is None:
            self.truncated = True
            return
        text = text[start.end() :]
        for block in blocks:
            text += block
            if len(text) < _PART:
                continue
            cut = self._last_boundary(text)
            if cut is not None:
                yield self._decoded(text[: cut[0]])
                text = text[cut[1] :]
            elif len(text) > _LONGEST:
                break
            if self.damages > _MOST_DAMAGES:
                self.truncated = True
                return
        yield self._decoded(text, last=True)
        self.truncated |= self._source.fault is not None

    @staticmethod
    def _last_boundary(text: bytes) -> tuple[int, int] | None:
        """Return where the last whole node of a text ends, and where the next one begins."""
        reach = 1 << 14
        while True:
            begin = max(0, len(text) - reach)
            matches = list(_BOUNDARY.finditer(text, begin))
            if matches:
                return matches[-1].start() + 1, matches[-1].end()
            if not begin:
                return None
            reach *= 8

    def _decoded(self, text: bytes, *, last: bool = False) -> list[Node]:
        """Return the nodes of a text; what is behind the list's end is no node."""
        if not last:
            try:
                return _ALL.decode(b"".join((b"[", text, b"]")))
            except BROKEN:
                pass
        pieces = _BOUNDARY.split(text)
        nodes = []
        for i, piece in enumerate(pieces):
            end = i == len(pieces) - 1
            whole = piece.strip() if end else piece + b"}"
            if end and whole[:1] in (b"", b"]"):
                # The list is empty, or it was cut between two nodes.
                self.truncated |= last and whole[:1] != b"]"
                break
            try:
                length = value_length(whole)
                behind = whole[length:].lstrip()
                nodes.append(_ONE.decode(whole[:length]))
                self.truncated |= last and end and b"]" not in behind
                self.damages += behind[:1] not in (b"", b"]")  # no id begins what is there
            except BROKEN:
                if last and end:
                    self.truncated = True
                else:
                    self.damages += 1
        return nodes
