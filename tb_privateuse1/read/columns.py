"""Decoded events -> columns: interned strings, int64 ns, one argument a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from tb_privateuse1.read import numbers
from tb_privateuse1.read.base import Flows, Group, Raw
from tb_privateuse1.read.events import NO_ARGS, Args, Event
from tb_privateuse1.trace import I32, I64, MISSING, NONE, Finding, Threads

_IDS = (
    "external_id",
    "external_id_2021",
    "correlation",
    "device",
    "stream",
    "sequence",
    "forward_thread",
    "python_id",
    "python_parent_id",
    "module_id",
)
_QUANTITIES = ("bytes", "start_bound_ns", "duration_bound_ns")
_MEMORY = (
    "address",
    "device_type",
    "device_id",
    "memory_bytes",
    "allocated_bytes",
    "reserved_bytes",
)
_JSON = ("shapes", "shapes_2021", "dtypes")
_TEXTS = ("stack", "collective", "evidence")


class Builder:
    """Takes groups of events and yields one ``Raw``; times are set to a common start last."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self._metadata = metadata
        self._strings: dict[str, int] = {}
        self._threads: dict[tuple[Any, Any], int] = {}
        self._told_threads: dict[tuple[str, str], int] = {}
        self._thread_names: dict[int, int] = {}
        self._process_names: dict[Any, str] = {}
        self._json: dict[bytes, int] = {}
        self._groups: dict[str, Group] = {}
        self._memory: list[Group] = []
        self._flows: list[Flows] = []
        self._without_time = 0

    def ranges(self, category: str, events: list[Event]) -> None:
        """Complete events (``X``). With torch's Python exporter memory instants are among them."""
        if category == "cpu_instant_event":
            self.memory([e for e in events if e.name == "[memory]"])
            return
        if events:
            self._groups[category] = self._group(events, (*_IDS, *_QUANTITIES), _TEXTS)

    def memory(self, events: list[Event]) -> None:
        """``[memory]`` instants."""
        if events:
            self._memory.append(self._group(events, _MEMORY, ()))

    def flows(self, category: str, events: list[Event], *, finish: bool) -> None:
        """One kind of ends of the arrows of one category."""
        events = self._timed(events)
        n = len(events)
        self._flows.append(
            Flows(
                category=np.full(n, self._string(category), np.int32),
                id=numbers.ids([e.id for e in events]),
                ts_ns=numbers.nanoseconds([e.ts for e in events]),
                thread=self._thread_column(events),
                finish=np.full(n, finish, np.int32),
            )
        )

    def labels(self, events: Iterable[Event]) -> None:
        """Metadata events (``M``): the names of threads and processes."""
        for event in events:
            label = event.args.name if event.args else None
            if event.name == "thread_name":
                thread = self._thread((event.pid, event.tid))
                self._thread_names[thread] = self._string(str(label))

    def raw(self, findings: list[Finding]) -> Raw:
        """Everything, with times since the file's base (``baseTimeNanoseconds`` or 0)."""
        if self._without_time:
            message = f"{self._without_time} events have no time and are not shown."
            findings.append(Finding("events_without_time", message, count=self._without_time))
        keys = list(self._told_threads)
        threads = Threads(
            pid=self._string_column([pid for pid, _ in keys]),
            tid=self._string_column([tid for _, tid in keys]),
            name=np.array([self._thread_names.get(i, NONE) for i in range(len(keys))], np.int32),
        )
        base = numbers.ids([self._metadata.get("baseTimeNanoseconds")], missing=0)[0]
        return Raw(
            base_ns=int(base),
            strings=tuple(self._strings),
            threads=threads,
            groups=self._groups,
            memory=Group.join(self._memory, dict.fromkeys(_MEMORY, int(MISSING))),
            flows=_concatenate_flows(self._flows),
            metadata=self._metadata,
            findings=tuple(findings),
        )

    def _group(self, events: list[Event], ids: tuple[str, ...], texts: tuple[str, ...]) -> Group:
        events = self._timed(events)
        start = numbers.nanoseconds([e.ts for e in events])
        duration = numbers.nanoseconds([e.dur or 0 for e in events])
        args = [e.args or NO_ARGS for e in events]
        columns: dict[str, I64] = {}
        for key in ids:
            values = [getattr(a, key) for a in args]
            if any(v is not None for v in values):
                columns[key] = numbers.ids(values, NONE if key in _IDS else int(MISSING))
        strings = {key: c for key in texts if (c := self._text_column(args, key)) is not None}
        strings |= {key: c for key in _JSON if (c := self._json_column(args, key)) is not None}
        _rename(columns)
        _rename(strings)
        return Group(
            name=self._string_column([e.name for e in events]),
            start_ns=start,
            end_ns=start + np.maximum(duration, 0),
            thread=self._thread_column(events),
            ids=columns,
            texts=strings,
        )

    def _timed(self, events: list[Event]) -> list[Event]:
        timed = [e for e in events if e.ts is not None]
        self._without_time += len(events) - len(timed)
        return timed

    def _string(self, text: Any) -> int:
        text = text if isinstance(text, str) else str(text)
        return self._strings.setdefault(text, len(self._strings))

    def _string_column(self, texts: list[Any]) -> I32:
        string = self._string
        return np.array([string(t) for t in texts], np.int32)

    def _thread(self, key: tuple[Any, Any]) -> int:
        row = self._threads.get(key)
        if row is None:
            # torch of 2021 wrote the same tid as "25738" and as 25738.
            told = (str(key[0]), str(key[1]))
            row = self._threads[key] = self._told_threads.setdefault(told, len(self._told_threads))
        return row

    def _thread_column(self, events: list[Event]) -> I32:
        thread = self._thread
        return np.array([thread((e.pid, e.tid)) for e in events], np.int32)

    def _text_column(self, args: list[Args], key: str) -> I32 | None:
        values = [getattr(a, key) for a in args]
        if not any(v is not None for v in values):
            return None
        return np.array([NONE if v is None else self._string(v) for v in values], np.int32)

    def _json_column(self, args: list[Args], key: str) -> I32 | None:
        values = [getattr(a, key) for a in args]
        if not any(values):
            return None
        return np.array([self._compact(v) if v else NONE for v in values], np.int32)

    def _compact(self, raw: msgspec.Raw) -> int:
        """Equal lists are one string, however the exporter spaced them."""
        text = bytes(raw)
        if text not in self._json:
            value = msgspec.json.decode(text)
            plain = msgspec.json.encode(value).decode()
            self._json[text] = NONE if value is None else self._string(plain)
        return self._json[text]


def _rename(columns: dict[str, Any]) -> None:
    """Columns in the spelling of 2021 get their present name."""
    for key in [key for key in columns if key.endswith("_2021")]:
        columns.setdefault(key.removesuffix("_2021"), columns.pop(key))


def _concatenate_flows(parts: list[Flows]) -> Flows:
    if not parts:
        return Flows.empty()
    return Flows(
        **{name: np.concatenate([getattr(p, name) for p in parts]) for name in Flows.column_types()}
    )
