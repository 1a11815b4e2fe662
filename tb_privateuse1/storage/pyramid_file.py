"""Store a large trace's pyramid beside the trace: the timeline's first picture needs it.

It is made when the trace is stored, or, where its file is gone, when it is first asked for. It
goes with the trace's file (``cachedir``), and can like that be deleted at any time. That of a
small trace is made anew by each process that needs it.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec
import numpy as np

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline import level_of_detail
from tb_privateuse1.analysis.timeline.first_look import FirstLook
from tb_privateuse1.analysis.timeline.level_of_detail import DetailLevel, Pyramid, Tracks
from tb_privateuse1.analysis.timeline.rectangles import Exact, Ranges
from tb_privateuse1.storage import arrow_file, cache_directory, disk_cache, file_identity
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Table

LEAST_RANGES = 500_000
"""Those of a smaller trace are arranged in 0.2 s."""


class _Edges(Table, frozen=True):
    """The edges of all levels, one after the other."""

    at: I64


class _Head(msgspec.Struct):
    bins_ns: list[int]
    look: FirstLook
    look_by: str
    """The build that found it: another one may find another, and does so when it is asked for."""


_HEAD = msgspec.json.Decoder(_Head)  # here, as in ``cache``

_KINDS: dict[str, type[Table]] = {
    "tracks": Tracks, "exact": Exact, "coarser": Ranges, "edges": _Edges,
}  # fmt: skip


def open_pyramid(trace: Trace) -> Pyramid:
    """Return the pyramid of a trace: from its file, or built now."""
    path = disk_cache.cached_path(trace)
    if path is None or _few(trace):
        return level_of_detail.build_pyramid(trace)
    stored = arrow_file.read(cache_directory.pyramid_path(path), _KINDS, _pyramid)
    if stored is not None:
        return stored
    made = level_of_detail.build_pyramid(trace)
    if path.exists():  # else nobody finds the trace again, nor what lies beside it
        _write(made, find_first_look(trace), path)
        cache_directory.make_room(path.parent, keep=path)
    return made


def prepare(trace: Trace, path: Path) -> None:
    """Store a trace's pyramid beside the trace's file; a small one's is not worth it."""
    if not _few(trace):
        _write(level_of_detail.build_pyramid(trace), find_first_look(trace), path)


def _few(trace: Trace) -> bool:
    tables = (
        trace.steps,
        trace.ops,
        trace.launches,
        trace.frames,
        trace.kernels,
        trace.device_annotations,
    )
    return sum(map(len, tables)) < LEAST_RANGES


def _write(made: Pyramid, look: FirstLook, path: Path) -> None:
    exact, *coarser = (level.ranges for level in made.levels)
    columns = {
        name: np.concatenate([column, *(getattr(one, name) for one in coarser)])
        for name, column in Ranges.empty().columns()
    }
    tables: dict[str, Table] = {
        "tracks": made.tracks,
        "exact": exact,
        "coarser": Ranges(**columns),
        "edges": _Edges(np.concatenate([level.edges for level in made.levels])),
    }
    bins = [level.bin_ns for level in made.levels]
    head = msgspec.json.encode(_Head(bins, look, file_identity.build_digest()))
    with contextlib.suppress(OSError):  # a cache without room: it is made again when asked for
        arrow_file.write(cache_directory.pyramid_path(path), arrow_file.Content(head, tables))


def _pyramid(content: arrow_file.Content) -> Pyramid:
    tracks, exact, coarser, edges = (content.tables[name] for name in _KINDS)
    assert isinstance(tracks, Tracks)
    assert isinstance(exact, Exact)
    assert isinstance(coarser, Ranges)
    assert isinstance(edges, _Edges)
    head = _HEAD.decode(content.head)
    bins = head.bins_ns
    ends = edges.at.reshape(len(bins), -1)
    levels = [DetailLevel(bins[0], ends[0], exact)]
    first = 0
    for bin_ns, of_level in zip(bins[1:], ends[1:], strict=True):
        last = first + int(of_level[-1])
        part = {name: column[first:last] for name, column in coarser.columns()}
        levels.append(DetailLevel(bin_ns, of_level, Ranges(**part)))
        first = last
    look = head.look if head.look_by == file_identity.build_digest() else None
    return Pyramid(tracks, tuple(levels), look)
