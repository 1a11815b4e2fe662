"""Pass a file's part as columns from one process to another: raw arrays and a small header.

The arrays lie in memory that both share, the header is MessagePack: texts, and where the arrays
are. Numbers of texts, threads and events are the part's own; ``Builder.join`` makes them the
file's.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from tb_privateuse1.readers.chrome.counter_columns import Series
from tb_privateuse1.readers.chrome.event_kinds import Spelling
from tb_privateuse1.readers.chrome.problem_tally import Problem
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32

_ALIGN = 64


class Rows(msgspec.Struct, array_like=True):
    """The columns of a ``Group``."""

    fixed: dict[str, np.ndarray]
    ids: dict[str, np.ndarray] = {}
    texts: dict[str, np.ndarray] = {}

    @classmethod
    def of(cls, group: Group) -> Rows:
        """Return the columns of a group."""
        names = ("name", "start_ns", "end_ns", "thread", "event")
        fixed = {name: getattr(group, name) for name in names}
        return cls(fixed, dict(group.ids), dict(group.texts))

    def group(self, strings: I32, threads: I32, first: int) -> Group:
        """Return the group with the file's numbers of texts, threads and events."""
        own = self.fixed
        return Group(
            name=strings[own["name"]],
            start_ns=own["start_ns"],
            end_ns=own["end_ns"],
            thread=threads[own["thread"]],
            event=own["event"] + np.int32(first),
            ids=self.ids,
            texts={key: strings[column] for key, column in self.texts.items()},
        )


class PartColumns(msgspec.Struct, array_like=True):
    """The columns and texts that the events of some windows add to a file."""

    events: list[int]
    """The number of events of each window. There are less of them than were asked for if the next
    one has to be read in the order of the file."""
    kinds: list[Spelling]
    strings: list[str]
    threads: list[tuple[str, str]]
    thread_names: dict[int, int]
    process_names: dict[str, str]
    problems: list[Problem]
    groups: dict[str, Rows]
    memory: Rows
    flows: dict[str, np.ndarray]
    begun: dict[str, tuple[Rows, np.ndarray]]
    ends: tuple[np.ndarray, np.ndarray, np.ndarray]
    series: list[Series]
    samples: dict[str, np.ndarray]


class NoRoom(Exception):
    """The arrays are larger than the memory for them."""


def pack(part: PartColumns, memory: memoryview) -> bytes:
    """Write the arrays of a part into memory, and return its header. Raises NoRoom."""
    stop = 0

    def place(array: Any) -> tuple[str, int, int]:
        nonlocal stop
        start = -(-stop // _ALIGN) * _ALIGN
        stop = start + array.nbytes
        if stop > len(memory):
            raise NoRoom
        np.frombuffer(memory, array.dtype, len(array), start)[:] = array
        return array.dtype.str, len(array), start

    return msgspec.msgpack.encode(part, enc_hook=place)


def unpack(header: bytes, memory: memoryview) -> PartColumns:
    """Return a packed part; its arrays are views of the memory."""

    def find(_: type, place: Any) -> NDArray[Any]:
        dtype, rows, start = place
        return np.frombuffer(memory, dtype, rows, start)

    return msgspec.msgpack.decode(header, type=PartColumns, dec_hook=find)


def renumbering(numbers: Iterable[int]) -> I32:
    """Return the file's numbers by the part's. As an index, ``NONE`` finds itself at the end."""
    return np.array([*numbers, NONE], np.int32)
