"""Ranges recorded as two events: ``B`` where they begin, ``E`` where they end."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from msgspec.structs import replace

from tb_privateuse1.readers.brackets import match
from tb_privateuse1.readers.chrome.growing_columns import Parts
from tb_privateuse1.readers.chrome.problem_tally import Tally
from tb_privateuse1.readers.raw import Group
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I32, I64


class Pairs:
    """Collect both kinds of events, and match them per thread like brackets, by time."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._begun: dict[str, Parts] = defaultdict(Parts)
        self._order: dict[str, list[I64]] = defaultdict(list)
        self._ends: list[tuple[I32, I64, I64]] = []
        self._seen = 0

    def begin(self, category: str, part: Group) -> None:
        """Add the beginnings of one category, in the order of the file."""
        self._begun[category].add(part)
        self._order[category].append(self._numbers(len(part)))

    def end(self, thread: I32, ts_ns: I64) -> None:
        """Add ends. They have no category, and mostly no name."""
        self._ends.append((thread, ts_ns, self._numbers(len(thread))))

    def columns(self) -> tuple[dict[str, tuple[Group, I64]], tuple[I32, I64, I64]]:
        """Return beginnings with their numbers by category, and of ends thread, time and number."""
        begun = {
            c: (parts.group(), np.concatenate(self._order[c])) for c, parts in self._begun.items()
        }
        empty = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64)
        thread, ts_ns, number = map(np.concatenate, zip(empty, *self._ends, strict=True))
        return begun, (thread, ts_ns, number)

    def join(self, begun: dict[str, tuple[Group, I64]], ends: tuple[I32, I64, I64]) -> None:
        """Add the ``columns`` of a later part of the file, which are copied."""
        first = self._seen
        for category, (part, number) in begun.items():
            self._begun[category].add(part)
            self._order[category].append(number + first)
            self._seen += len(part)
        thread, ts_ns, number = ends
        if len(thread):
            self._ends.append((thread.copy(), ts_ns.copy(), number + first))
            self._seen += len(thread)

    def _numbers(self, count: int) -> I64:
        self._seen += count
        return np.arange(self._seen - count, self._seen)

    def groups(self, last_ns: int) -> dict[str, Group]:
        """Return the ranges by category. Open ones end at ``last_ns`` or the last end."""
        open_ranges = {category: parts.group() for category, parts in self._begun.items()}
        threads = [g.thread for g in open_ranges.values()] + [t for t, _, _ in self._ends]
        times = [g.start_ns for g in open_ranges.values()] + [ts for _, ts, _ in self._ends]
        numbers = [np.concatenate(self._order[c]) for c in open_ranges] + [
            n for _, _, n in self._ends
        ]
        if not threads:
            return {}
        thread, ts = np.concatenate(threads), np.concatenate(times)
        number = np.concatenate(numbers)
        by_file = np.argsort(number, kind="stable")
        is_end = np.arange(len(number)) >= sum(map(len, open_ranges.values()))
        matched = match(thread[by_file], ts[by_file], is_end[by_file])
        ends = np.full(len(number), NONE, np.int64)
        ends[by_file] = np.where(matched >= 0, by_file[matched], NONE)
        open_ends = ends[~is_end]
        self._tally.add("unclosed_ranges", int((open_ends < 0).sum()))
        self._tally.add("unopened_ends", int(is_end.sum() - (open_ends >= 0).sum()))
        column = np.where(open_ends >= 0, ts[open_ends], max(last_ns, int(ts.max())))
        sizes = np.cumsum([len(g) for g in open_ranges.values()])
        parts = zip(open_ranges.items(), np.split(column, sizes), strict=False)
        return {category: replace(g, end_ns=end) for (category, g), end in parts}
