"""Build a pyramid of rectangles, so that a window costs what the screen can show.

A **track** is a host thread's operators, its Python frames, a device lane, the annotations of a
lane, or the steps; nested ranges lie in **rows** below each other. Level 0 has every range. A
further level merges all ranges shorter than its ``bin_ns`` that start in the same bin into one,
with their number and busy time. Ranges of a row never overlap, so two binary searches find a window
of a row, whatever the size of the trace.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.timeline import rectangles
from tb_privateuse1.analysis.timeline.first_look import FirstLook
from tb_privateuse1.analysis.timeline.rectangles import Exact, Ranges
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.columns import sums_before
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I32, I64, SmallNumber, Table

STEPS, OPERATORS, FRAMES, DEVICE, ANNOTATIONS = range(5)
"""``Tracks.kind``."""

_DEEPEST = 256
"""Rows of a track. Deeper ranges are counted and not drawn."""
MOST_OWNERS = 1000
"""Threads, and lanes, that are drawn: a page cannot show more. Those with most ranges are."""
_FINEST_NS = 256
"""Bins of the first merged level: of 177,901 activities in the shared recordings 0.1 % are shorter,
and of a million operators 12 %, so that finer bins would merge little."""
_WORTH = 0.5
"""A level is used only if it has at most this share of the ranges of the level before."""
_FEW = 2048
"""A level with as many ranges is merged again for each window: an answer has up to 5,000."""
_AT_ONCE = 1 << 20
"""Ranges of a batch: it takes some 50 MB while it is merged."""


class Tracks(Table, frozen=True):
    """``owner`` is the row in ``Trace.threads`` or ``Trace.lanes``; 0 for the steps."""

    kind: SmallNumber
    owner: SmallNumber
    rows: SmallNumber
    """The number of its rows: they are consecutive, in the order of the tracks."""
    busy_ns: I64
    """Total duration of the ranges in its first row."""
    hidden: I64
    """Ranges that lie too deep to be drawn."""


class DetailLevel(Struct, frozen=True):
    """One level of detail; ``edges`` (rows + 1) has the index of each row's first range."""

    bin_ns: int
    edges: I64
    ranges: Ranges | Exact


class Pyramid(Struct, frozen=True):
    """All levels, the finest first."""

    tracks: Tracks
    levels: tuple[DetailLevel, ...]
    first_look: FirstLook | None = None
    """Stored with a large trace's pyramid; null where it is found out when it is asked for."""

    def first_row(self) -> I64:
        """Return the first row of each track."""
        return np.cumsum(self.tracks.rows) - self.tracks.rows

    def place(self, kind: int, owner: int, start_ns: int, ref: int) -> tuple[int, int]:
        """Return the track of a range and the row in it; (-1, -1) if it is not drawn.

        ``owner`` is the thread or lane, ``ref`` the row in the trace's table.
        """
        tracks, finest = self.tracks, self.levels[0]
        for track in np.flatnonzero((tracks.kind == kind) & (tracks.owner == owner)).tolist():
            first = int(self.first_row()[track])
            for row in range(first, first + int(tracks.rows[track])):
                low, high = finest.edges[row], finest.edges[row + 1]
                at = np.searchsorted(finest.ranges.start_ns[low:high], (start_ns, start_ns + 1))
                if ref in finest.ranges.ref[low + at[0] : low + at[1]]:
                    return track, row - first
        return -1, -1

    def window(
        self, rows: NDArray[np.int64], start_ns: int, end_ns: int, bin_ns: float, most: int
    ) -> tuple[I64, Ranges]:
        """Return the rectangles of some rows within a window: (row of each, rectangles).

        Ranges shorter than ``bin_ns`` are merged; if that leaves more than ``most`` rectangles, in
        bins twice as long, and so on.
        """
        fine = max(bin_ns, 1.0)
        levels = [self.levels[0], *(one for one in self.levels[1:] if one.bin_ns <= fine)]
        level, pieces = levels[-1], _pieces(levels[-1], rows, start_ns, end_ns)
        bin_size = int(fine)
        # Merging takes less time from the coarsest level that still has too many.
        for coarser in self.levels[len(levels) :]:
            if _size(pieces) <= most:
                break
            fewer = _pieces(coarser, rows, start_ns, end_ns)
            if _size(fewer) <= most:
                break
            level, pieces = coarser, fewer
        while bin_size < level.bin_ns:
            bin_size *= 2
        row, ranges = _slices(level, rows, pieces)
        while True:
            if level.bin_ns < bin_size or len(ranges) > most:
                row, ranges = rectangles.merge_short(row, ranges, bin_size)
            if len(ranges) <= most or bin_size > end_ns - start_ns:
                return row, ranges
            bin_size *= 2


def build_pyramid(trace: Trace) -> Pyramid:
    """Build the pyramid of a trace: O(n log n), and at most twice as many rectangles as ranges."""
    tracks, edges, exact = _finest(trace)
    levels = [DetailLevel(0, edges, exact)]
    span, bin_ns = int(exact.end_ns.max(initial=0)), _FINEST_NS
    while len(levels[-1].ranges) > _FEW and bin_ns < span:
        if coarser := _coarser(levels[-1], bin_ns):
            levels.append(coarser)
        bin_ns *= 2
    return Pyramid(tracks, tuple(levels))


def _coarser(level: DetailLevel, bin_ns: int) -> DetailLevel | None:
    """Return the next level, or None if it saves too little; in batches, to limit the memory."""
    rows = len(level.edges) - 1
    firsts = np.flatnonzero(np.diff(level.edges[:-1] // _AT_ONCE, prepend=-1))
    at, parts = [], []
    for first, last in itertools.pairwise([*firsts.tolist(), rows]):
        low, high = level.edges[first], level.edges[last]
        row = np.repeat(np.arange(first, last), np.diff(level.edges[first : last + 1]))
        heads = rectangles.bin_heads(row, _each(level, low, high), bin_ns)
        parts.append((low, high, heads))
        at.append(row[heads])
    if sum(map(len, at)) > _WORTH * len(level.ranges):
        return None
    edges = sums_before(np.bincount(np.concatenate(at), minlength=rows))
    joined = [rectangles.join_groups(_each(level, low, high), heads) for low, high, heads in parts]
    return DetailLevel(bin_ns, edges, Ranges(**{
        name: np.concatenate([getattr(one, name) for one in joined])
        for name, _ in Ranges.empty().columns()
    }))  # fmt: skip


def _each(level: DetailLevel, low: int, high: int) -> Ranges:
    part = type(level.ranges)(**{name: c[low:high] for name, c in level.ranges.columns()})
    return part.each() if isinstance(part, Exact) else part


class _Track(Struct, frozen=True):
    kind: int
    owner: int
    depth: I32
    start_ns: I64
    end_ns: I64
    ref: I64


def _finest(trace: Trace) -> tuple[Tracks, I64, Exact]:
    kinds, sizes, busy, hidden = [], [], [], []
    columns: list[tuple[I64, I64, I64]] = []
    counts: list[I64] = [np.zeros(1, np.int64)]
    for track in _tracks(trace):
        depth = _disjoint(track)
        shown = depth < _DEEPEST
        small = np.minimum(depth, _DEEPEST).astype(np.int16)  # sorted in linear time
        ordered = (track.start_ns[1:] >= track.start_ns[:-1]).all()
        order = np.argsort(small, kind="stable") if ordered else np.lexsort((track.start_ns, depth))
        order = order[shown[order]]
        rows = int(depth[order].max(initial=-1)) + 1
        kinds.append((track.kind, track.owner))
        sizes.append(rows)
        first = depth == 0
        busy.append(int((track.end_ns - track.start_ns)[first].sum()))
        hidden.append(len(depth) - len(order))
        columns.append((track.start_ns[order], track.end_ns[order], track.ref[order]))
        counts.append(np.bincount(depth[order], minlength=rows))
    start, end, ref = (
        np.concatenate([np.empty(0, np.int64), *(c[i] for c in columns)]) for i in range(3)
    )
    kind, owner = np.array(kinds, np.int32).reshape(-1, 2).T.copy()
    sums = np.array((busy, hidden), np.int64)
    tracks = Tracks(kind, owner, np.array(sizes, np.int32), sums[0], sums[1])
    exact = Exact(start, end, ref.astype(np.int32))
    return tracks, np.cumsum(np.concatenate(counts)), exact


def _tracks(trace: Trace) -> Iterator[_Track]:
    steps, ops, frames = trace.steps, trace.ops, trace.frames
    launches, kernels = trace.launches, trace.kernels
    if len(steps):
        flat = np.zeros(len(steps), np.int32)
        yield _Track(STEPS, 0, flat, steps.start_ns, steps.end_ns, np.arange(len(steps)))
    calls = np.arange(len(launches)) + len(ops)
    called = dict(groupby.split_by_value(launches.thread))
    # Both are sorted by thread.
    threads = np.arange(len(trace.threads) + 1)
    op, frame = np.searchsorted(ops.thread, threads), np.searchsorted(frames.thread, threads)
    for thread in drawn_threads(trace).tolist():
        of_ops = np.arange(op[thread], op[thread + 1])
        of_launches = called.get(thread, of_ops[:0])
        start = np.concatenate((ops.start_ns[of_ops], launches.start_ns[of_launches]))
        if len(start):
            end = np.concatenate((ops.end_ns[of_ops], launches.end_ns[of_launches]))
            ref = np.concatenate((of_ops, calls[of_launches]))
            one = np.zeros(len(start), np.int32)
            order = intervals.nesting_order(one, start, end)
            start, end, ref = start[order], end[order], ref[order]
            parent = intervals.nest_ordered(one, start, end)
            yield _Track(OPERATORS, thread, intervals.depths(parent), start, end, ref)
        rows = np.arange(frame[thread], frame[thread + 1])
        if len(rows):
            parent = frames.parent[rows]
            depth = intervals.depths(np.where(parent >= 0, parent - rows[0], -1).astype(np.int32))
            yield _Track(FRAMES, thread, depth, frames.start_ns[rows], frames.end_ns[rows], rows)
    by_lane = np.argsort(kernels.lane, kind="stable")
    edges = np.searchsorted(kernels.lane[by_lane], np.arange(len(trace.lanes) + 1))
    marked = dict(groupby.split_by_value(trace.device_annotations.lane))
    for lane in drawn_lanes(trace).tolist():
        if lane in marked:
            yield _annotations(trace, lane, marked[lane])
        rows = by_lane[edges[lane] : edges[lane + 1]]
        flat = np.zeros(len(rows), np.int32)
        yield _Track(DEVICE, lane, flat, kernels.start_ns[rows], kernels.end_ns[rows], rows)


def drawn_threads(trace: Trace) -> I64:
    """Return the threads that are drawn."""
    tables = (trace.ops, trace.frames, trace.launches)
    return _fullest([table.thread for table in tables], len(trace.threads))


def drawn_lanes(trace: Trace) -> I64:
    """Return the lanes that are drawn."""
    return _fullest([trace.kernels.lane, trace.device_annotations.lane], len(trace.lanes))


def count_left_out(trace: Trace) -> int:
    """Return how many threads and lanes are not drawn."""
    return sum(max(len(table) - MOST_OWNERS, 0) for table in (trace.threads, trace.lanes))


def _fullest(owners: list[I32], count: int) -> I64:
    """Return the owners with most ranges, at most ``MOST_OWNERS``, in their order."""
    ranges = sum((np.bincount(of, minlength=count) for of in owners), np.zeros(count, np.int64))
    return np.sort(np.argsort(-ranges, kind="stable")[:MOST_OWNERS])


def _annotations(trace: Trace, lane: int, rows: I64) -> _Track:
    """Return the track of a lane's annotations, nested as on the host; they stand above it."""
    marks = trace.device_annotations.take(rows)
    one = np.zeros(len(rows), np.int32)
    order = intervals.nesting_order(one, marks.start_ns, marks.end_ns)
    start, end = marks.start_ns[order], marks.end_ns[order]
    depth = intervals.depths(intervals.nest_ordered(one, start, end))
    return _Track(ANNOTATIONS, lane, depth, start, end, rows[order])


def _disjoint(track: _Track) -> I32:
    """Return depths at which no range overlaps another: overlapping ones lie one row deeper.

    Host ranges nest, and overlap only where they cross; kernels of one lane may overlap.
    """
    if len(track.depth) == 1:
        return track.depth
    depth = track.depth.copy()
    row, at = 0, np.flatnonzero(depth == 0)
    while row < _DEEPEST and len(at):
        at = at[np.argsort(track.start_ns[at], kind="stable")]
        deeper = at[intervals.overlapping(track.start_ns[at], track.end_ns[at])]
        depth[deeper] += 1
        row += 1
        at = np.flatnonzero(depth == row)
    return depth


_Pieces = list[tuple[int, int]]


def _size(pieces: _Pieces) -> int:
    return sum(last - first for first, last in pieces)


def _pieces(level: DetailLevel, rows: NDArray[np.int64], start: int, end: int) -> _Pieces:
    """Return by row the index range of its ranges within a window."""
    ranges, pieces = level.ranges, []
    for row in rows.tolist():
        low, high = int(level.edges[row]), int(level.edges[row + 1])
        first = low + int(np.searchsorted(ranges.end_ns[low:high], start, side="left"))
        last = low + int(np.searchsorted(ranges.start_ns[low:high], end, side="right"))
        pieces.append((first, max(first, last)))
    return pieces


def _slices(level: DetailLevel, rows: NDArray[np.int64], pieces: _Pieces) -> tuple[I64, Ranges]:
    ranges = level.ranges
    counts = [last - first for first, last in pieces]
    found = type(ranges)(**{
        name: np.concatenate([column[:0], *(column[a:b] for a, b in pieces)])
        for name, column in ranges.columns()
    })  # fmt: skip
    return np.repeat(rows, counts), found.each() if isinstance(found, Exact) else found
