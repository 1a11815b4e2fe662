"""Tracks and their names."""

from __future__ import annotations

from msgspec.structs import replace

from tb_privateuse1.analysis.account.first_look import find_first_look
from tb_privateuse1.analysis.timeline.level_of_detail import build_pyramid
from tb_privateuse1.analysis.timeline.tracks import list_tracks
from tb_privateuse1.trace.model import Trace
from tests.support.make import frame, kernel, launch, op, step, trace


def test_tracks_of_steps_threads_and_streams() -> None:
    """Frames share the group of their thread; busy time is that of the outermost ranges."""
    made = trace(
        step(1, 0, 100), frame("f", 0, 90), op("a", 10, 30), op("b", 15, 20), launch(16, 18, 1),
        kernel("k", 25, 40, 1),
    )  # fmt: skip
    found = list_tracks(made, build_pyramid(made), find_first_look(made))
    assert [track.kind for track in found] == ["steps", "operators", "frames", "device"]
    assert [track.id for track in found] == [0, 1, 2, 3]
    steps, operators, frames, device = found
    assert operators.group_key == frames.group_key != device.group_key
    assert frames.label == f"{operators.label} · Python"
    assert (frames.ranges, frames.busy_ns, device.busy_ns) == (1, 90_000, 15_000)
    assert (steps.rows, device.rows, device.ranges, device.hidden) == (1, 1, 1, 0)


def test_an_empty_trace_has_no_tracks() -> None:
    """Without events there are no tracks."""
    assert list_tracks(Trace(), build_pyramid(Trace()), find_first_look(Trace())) == ()


def test_only_the_main_threads_frames_are_opened() -> None:
    made = trace(
        step(1, 0, 100), frame("f", 0, 100), frame("g", 0, 100, thread=7),
        op("a", 0, 5), launch(1, 3, 1), kernel("k", 5, 40, 1),
    )  # fmt: skip
    pyramid = build_pyramid(made)
    for opens in (True, False):
        look = replace(find_first_look(made), opens_frames=opens)
        found = list_tracks(made, pyramid, look)
        frames = [(one.main, one.open) for one in found if one.kind == "frames"]
        assert frames == [(True, opens), (False, False)]
