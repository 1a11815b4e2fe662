"""Parse a flight recorder's dump, pickle or JSON, to columns.

The layout is that of torch/csrc/distributed/c10d/FlightRecorder.hpp, version 2.0 to 2.10. A
pickle's parts may be shared objects, so that a small file could describe endless lists: there are
at most as many entries as the file has bytes, and each list is read once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct, field

from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.frame_texts import Stacks
from tb_privateuse1.trace.collective_entries import (
    COMPLETED,
    RETIRED,
    SCHEDULED,
    STARTED,
    CollectiveEntries,
)
from tb_privateuse1.trace.model import MISSING, NONE
from tb_privateuse1.trace.table import I32, I64

_STATES = {"scheduled": SCHEDULED, "started": STARTED, "completed": COMPLETED}
_LIMIT_NS = 1 << 62
_LARGEST = 1 << 62
_MOST_TENSORS = 4096
_FEW = 8
"""Values of a short list: all of such lists are compared by their values."""
_MOST_RANKS = 1 << 20
_MOST_TEXT = 64 << 20
_LONGEST_NAME = 300
_UNNAMED = {"", "undefined"}
"""What torch writes for a group without a description."""


class Document(Struct):
    """A dump's entries, the strings that their columns name, and what is wrong with it."""

    strings: list[str] = field(default_factory=list)
    entries: CollectiveEntries = field(default_factory=CollectiveEntries.empty)
    tally: Tally = field(default_factory=Tally)


def parse(content: dict[Any, Any], size: int) -> Document:
    """Return the entries of a dump of ``size`` bytes; those of an impossible kind are counted."""
    document = Document()
    tally = document.tally
    listed = _list(content.get("entries"))
    if len(listed) > size:
        tally.add("malformed_events", len(listed), "entries")
        return document
    numbers = [
        i
        for i, entry in enumerate(listed)
        if type(entry) is dict and type(entry.get("profiling_name")) is str
    ]
    tally.add("malformed_events", len(listed) - len(numbers), "entries")
    rows = listed if len(numbers) == len(listed) else [listed[i] for i in numbers]
    names = [row["profiling_name"] for row in rows]
    messages = [
        flag if type(flag := row.get("is_p2p")) is bool else _is_message_name(name)
        for row, name in zip(rows, names, strict=True)
    ]
    texts = _Texts(document)
    members = _members(content.get("pg_config"), texts)
    groups = [_group(row) for row in rows]
    started = _times(rows, "time_discovered_started_ns")
    completed = _times(rows, "time_discovered_completed_ns")
    created = _times(rows, "time_created_ns")
    tally.add("events_without_time", int((created == MISSING).sum()))
    # The recorder numbers its entries from 0 and loses the first ones.
    is_whole = bool(rows) and rows[0].get("record_id") == 0
    document.entries = CollectiveEntries(
        name=texts.column(names),
        group=texts.column([name for name, _ in groups]),
        purpose=texts.column([None if text in _UNNAMED else text for _, text in groups]),
        members=np.array([members.get(name, NONE) for name, _ in groups], np.int32),
        sequence=_sequences(rows, messages),
        message=np.array(messages, np.bool_),
        state=_states(rows, names, started, completed),
        whole=np.full(len(rows), is_whole, np.bool_),
        created_ns=created,
        started_ns=started,
        completed_ns=completed,
        shapes=texts.shapes([row.get("input_sizes") for row in rows]),
        dtypes=texts.types([row.get("input_dtypes") for row in rows]),
        out_shapes=texts.shapes([row.get("output_sizes") for row in rows]),
        out_dtypes=texts.types([row.get("output_dtypes") for row in rows]),
        stack=texts.stacks([row.get("frames") for row in rows]),
        event=np.array(numbers, np.int32),
    )
    return document


def entry(content: dict[Any, Any], number: int) -> dict[str, Any] | None:
    """Return the entry of a number; None if there is none."""
    listed = _list(content.get("entries"))
    found = listed[number] if 0 <= number < len(listed) else None
    return found if type(found) is dict else None


def _is_message_name(name: str) -> bool:
    """Return whether it names a send or a receive, for older dumps, which have it there alone."""
    return name.rpartition(":")[2].startswith(("send", "recv"))


def _sequences(rows: Sequence[dict[Any, Any]], messages: Sequence[bool]) -> I64:
    found = [
        row.get("p2p_seq_id" if message else "collective_seq_id", row.get("seq_id"))
        for row, message in zip(rows, messages, strict=True)
    ]
    return _numbers(found, 0, _LARGEST)


def _group(row: dict[Any, Any]) -> tuple[str, str]:
    """Return name and description of the entry's group; before 2.1 it has a number only."""
    pair = row.get("process_group")
    if type(pair) is list and len(pair) == 2:
        name, purpose = pair
        if type(name) is str and type(purpose) is str:
            return name, purpose
    number = row.get("pg_id")
    return (str(number) if type(number) is int and abs(number) < _LARGEST else ""), ""


def _times(rows: Sequence[dict[Any, Any]], key: str) -> I64:
    return _numbers([row.get(key) for row in rows], 1, _LIMIT_NS)


def _numbers(found: Sequence[Any], least: int, limit: int) -> I64:
    """Return the integers from ``least`` to below ``limit``, ``MISSING`` for anything else."""
    missing = int(MISSING)
    return np.array(
        [one if type(one) is int and least <= one < limit else missing for one in found], np.int64
    )


def _states(
    rows: Sequence[dict[Any, Any]], names: Sequence[str], started: I64, completed: I64
) -> Any:
    """Return the states.

    A backend that records no times retires an entry when it has ended. Of others, an entry that
    is retired and not completed has timed out: it has not ended.
    """
    words = [row.get("state") for row in rows]
    state = np.array([_STATES.get(one, SCHEDULED) if type(one) is str else 0 for one in words])
    backend_of = {name: name.partition(":")[0] for name in set(names)}
    backends = [backend_of[name] for name in names]
    timed = (started != MISSING) | (completed != MISSING) | (state != SCHEDULED)
    with_times = {backend for backend, known in zip(backends, timed, strict=True) if known}
    silent = np.array([backend not in with_times for backend in backends], np.bool_)
    retired = np.array([row.get("retired") is True for row in rows], np.bool_)
    return np.where(silent & retired, RETIRED, state).astype(np.int8)


def _members(config: Any, texts: _Texts) -> dict[str, int]:
    """Return the string of each group's ranks, by the group's name."""
    found: dict[str, int] = {}
    for key, group in config.items() if type(config) is dict else ():
        ranks = group.get("ranks") if type(group) is dict else None
        if type(ranks) is str and len(ranks) <= _MOST_TEXT:
            try:
                ranks = msgspec.json.decode(ranks)
            except (msgspec.DecodeError, RecursionError, UnicodeError):
                continue
        listed = _list(ranks)
        if type(key) is str and listed and len(listed) <= _MOST_RANKS and _are_sizes(listed):
            found[key] = texts.index(_json(sorted(set(listed))))
    return found


class _Texts:
    """The strings of a document, each once; lists of sizes are read once each."""

    def __init__(self, document: Document) -> None:
        self._strings = document.strings
        self._tally = document.tally
        self._known: dict[str, int] = {}
        self._of_list: dict[int, int] = {}
        self._of_sizes: dict[int, str | None] = {}
        self._left = _MOST_TEXT
        self._stacks: list[str] = []

    def index(self, text: str) -> int:
        """Return the index of a string; ``NONE`` beyond the limit of all text."""
        if (known := self._known.get(text)) is not None:
            return known
        text = text.encode("utf-8", "replace").decode("utf-8")
        if text not in self._known:
            self._left -= len(text)
            if self._left < 0:
                self._tally.add("stacks_dropped")
                return NONE
            self._known[text] = len(self._strings)
            self._strings.append(text)
        return self._known[text]

    def column(self, texts: Sequence[str | None]) -> I32:
        """Return the index of each text, ``NONE`` of None; long ones are cut."""
        found = {
            text: NONE if text is None else self.index(text[:_LONGEST_NAME])
            for text in dict.fromkeys(texts)
        }
        return np.array([found[text] for text in texts], np.int32)

    def shapes(self, lists: Sequence[Any]) -> I32:
        """Return the index of each list of shapes as JSON; ``NONE`` where one is impossible."""
        if not _are_short(lists, list) or not _are_short(list(chain.from_iterable(lists)), int):
            return self._of_lists(lists, self._shapes)
        return _interned(lists, (tuple(map(tuple, one)) for one in lists), self._shapes)

    def types(self, lists: Sequence[Any]) -> I32:
        """Return the index of each list of types as JSON; ``NONE`` where one is impossible."""
        if not _are_short(lists, str):
            return self._of_lists(lists, self._types)
        return _interned(lists, map(tuple, lists), self._types)

    def stacks(self, lists: Sequence[Any]) -> I32:
        """Return the index of each stack's text, ``NONE`` without one."""
        texts: list[str] = []
        column = Stacks(texts, self._tally).column(lists)
        numbers = np.array([*(self.index(text) for text in texts), NONE], np.int32)
        result: I32 = numbers[column]
        return result

    def _of_lists(self, lists: Sequence[Any], index: Callable[[list[Any]], int]) -> I32:
        """Return the index of each list; one that a pickle shares is read once.

        The lists live as long as the document, and so their ids are theirs alone.
        """
        known = self._of_list
        for one in lists:
            if id(one) not in known:
                is_short = type(one) is list and len(one) <= _MOST_TENSORS
                known[id(one)] = index(one) if is_short else NONE
        return np.array([known[id(one)] for one in lists], np.int32)

    def _shapes(self, shapes: list[Any]) -> int:
        texts = [self._sizes(one) for one in shapes]
        if None in texts or sum(len(text) for text in texts if text) > self._left:
            return NONE
        return self.index(f"[{','.join(filter(None, texts))}]")

    def _sizes(self, sizes: Any) -> str | None:
        if id(sizes) not in self._of_sizes:
            is_shape = type(sizes) is list and len(sizes) <= _MOST_TENSORS and _are_sizes(sizes)
            self._of_sizes[id(sizes)] = _json(sizes) if is_shape else None
        return self._of_sizes[id(sizes)]

    def _types(self, types: list[Any]) -> int:
        if any(type(one) is not str or len(one) > _LONGEST_NAME for one in types):
            return NONE
        valid = [one.encode("utf-8", "replace").decode("utf-8") for one in types]
        return self.index(_json(valid))


def _interned(
    lists: Sequence[list[Any]], keys: Iterable[Hashable], index: Callable[[list[Any]], int]
) -> I32:
    """Return the index of each list by its key: lists of equal keys are read once."""
    known: dict[Hashable, int] = {}
    found = []
    for one, key in zip(lists, keys, strict=True):
        number = known.get(key)
        if number is None:
            number = known[key] = index(one)
        found.append(number)
    return np.array(found, np.int32)


def _are_short(lists: Sequence[Any], kind: type) -> bool:
    """Return whether all are short lists of values of one type.

    Keys of those take little time and memory, also where a pickle shares its lists, and are equal
    only if the lists mean the same.
    """
    if set(map(type, lists)) - {list} or max(map(len, lists), default=0) > _FEW:
        return False
    return set(map(type, chain.from_iterable(lists))) <= {kind}


def _are_sizes(sizes: Sequence[Any]) -> bool:
    return all(type(size) is int and 0 <= size < _LARGEST for size in sizes)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []
