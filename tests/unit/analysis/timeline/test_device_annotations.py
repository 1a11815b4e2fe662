"""Annotations of the device: a track above their stream, and never busy time."""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline.appearance import name_counts
from tb_privateuse1.analysis.timeline.level_of_detail import ANNOTATIONS, build_pyramid
from tb_privateuse1.analysis.timeline.tracks import list_tracks
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.area import area
from tb_privateuse1.views.lookups.links import links
from tb_privateuse1.views.lookups.search import search
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.timeline import timeline
from tests.support.make import Event, annotation, kernel, op, trace


def mark(name: str, start: float, end: float, stream: int = 7) -> Event:
    """The device's copy of an annotation."""
    return kernel(name, start, end, -1, stream, category="gpu_user_annotation")


def marked() -> Trace:
    return trace(
        op("a", 0, 1), annotation("step", 0, 5), mark("forward", 10, 50), mark("layer", 20, 40),
        kernel("k", 10, 20), kernel("k", 30, 50), kernel("k", 20, 30, stream=8),
        mark("of a stream without activities", 0, 9, stream=9),
    )  # fmt: skip


def test_they_lie_on_their_stream() -> None:
    t = marked()
    marks = t.device_annotations
    assert [t.text(n) for n in marks.name] == ["forward", "layer"]
    assert t.lanes.stream[marks.lane].tolist() == [7, 7]
    assert marks.start_ns.tolist() == [10_000, 20_000]


def test_they_are_no_activities() -> None:
    totals = overview(marked()).totals
    assert (totals.busy_ns, totals.span_ns) == (40_000, 40_000)


def test_a_track_above_the_stream_has_them_nested() -> None:
    t = marked()
    pyramid = build_pyramid(t)
    tracks = list_tracks(t, pyramid, find_first_look(t))
    assert [(one.kind, one.rows, one.label) for one in tracks[-3:]] == [
        ("annotations", 2, "device 0 stream 7 · annotations"),
        ("device", 1, "device 0 stream 7"),
        ("device", 1, "device 0 stream 8"),
    ]
    drawn = timeline(t, pyramid, (), tracks=str(tracks[-3].id))
    names = [drawn.names[n] for n in drawn.rectangles.name]
    assert names == ["forward", "layer"]
    assert {drawn.kinds[k] for k in drawn.rectangles.kind} == {"annotation"}
    assert pyramid.tracks.kind[tracks[-3].id] == ANNOTATIONS


def test_lookups_know_them() -> None:
    t = marked()
    pyramid = build_pyramid(t)
    found = links(t, pyramid, table="device_annotations", index=1)
    assert (found.item.name, found.annotation, found.place) == (
        "layer", True, "device 0 stream 7",
    )  # fmt: skip
    assert (found.item.track >= 0, found.item.row) == (True, 1)
    rows = {row.name: row.inside_ns for row in area(t, pyramid).rows}
    assert rows["forward"] == 40_000
    assert search(t, pyramid, name_counts(t), text="layer").matches == 1
    assert np.array_equal(t.device_annotations.end_ns, [50_000, 40_000])
