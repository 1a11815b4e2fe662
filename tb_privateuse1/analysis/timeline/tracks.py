"""List the tracks of a timeline as a reader sees them: their group and their name."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.timeline.first_look import FirstLook
from tb_privateuse1.analysis.timeline.level_of_detail import (
    ANNOTATIONS,
    DEVICE,
    FRAMES,
    OPERATORS,
    STEPS,
    Pyramid,
)
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import labels
from tb_privateuse1.trace.model import Trace

TrackKind = Literal["steps", "operators", "frames", "device", "annotations"]

_KINDS: tuple[TrackKind, ...] = ("steps", "operators", "frames", "device", "annotations")


class Track(Struct, frozen=True):
    """One track; its rows of rectangles lie below each other."""

    id: int
    kind: TrackKind
    group: str
    """The process or device that it belongs to."""
    group_key: str
    """Identifier of the group, the same in every language."""
    label: str
    rows: int
    ranges: int
    busy_ns: int | None
    """Total duration of its outermost ranges; null of a stream whose work has no times."""
    hidden: int
    """Ranges that lie too deep to be drawn."""
    owner: int
    """Row of its thread or stream in the trace's table; 0 for the steps."""
    main: bool
    """Whether it is of the thread that drives the training loop."""
    open: bool
    """Whether it shows all of its rows at first: Python's frames do if they limit the steps."""


def list_tracks(trace: Trace, pyramid: Pyramid, look: FirstLook) -> tuple[Track, ...]:
    """Return all tracks of a pyramid, in its order."""
    tracks, edges, first = pyramid.tracks, pyramid.levels[0].edges, pyramid.first_row()
    found = []
    # Tracks share the texts of their group: there may be 100,000 tracks.
    groups: dict[str, tuple[str, str]] = {}
    for i, kind in enumerate(tracks.kind.tolist()):
        owner, rows = int(tracks.owner[i]), int(tracks.rows[i])
        group, label = _labels(trace, kind, owner)
        missing = kind in (DEVICE, ANNOTATIONS) and owner in trace.meta.missing_lanes
        group, key = groups.setdefault(group, (group, str(group)))
        found.append(
            Track(
                id=i,
                kind=_KINDS[kind],
                group=group,
                group_key=key,
                label=say("{label} (no times)", label=label) if missing else label,
                rows=rows,
                ranges=int(edges[first[i] + rows] - edges[first[i]]),
                busy_ns=None if missing else int(tracks.busy_ns[i]),
                hidden=int(tracks.hidden[i]),
                owner=owner,
                main=kind in (OPERATORS, FRAMES) and owner == look.main,
                open=kind != FRAMES or (owner == look.main and look.opens_frames),
            )
        )
    return tuple(found)


def _labels(trace: Trace, kind: int, owner: int) -> tuple[str, str]:
    if kind == STEPS:
        return say("Steps"), say("Steps")
    if kind == DEVICE:
        return labels.lane(trace, owner)
    if kind == ANNOTATIONS:
        group, label = labels.lane(trace, owner)
        return group, say("{label} · annotations", label=label)
    group, label = labels.thread(trace, owner)
    return group, say("{label} · Python", label=label) if kind == FRAMES else label
