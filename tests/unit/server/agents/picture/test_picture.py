"""Pictures of the sample logdir: their sizes, colors and limits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.server.agents.answers import Answers
from tests.support.agents import call, opened

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def answers(logdir: Path) -> Iterator[Answers]:
    with opened(logdir) as found:
        yield found


@pytest.mark.long
@pytest.mark.parametrize("width", [400, 777, 1600])
def test_a_timeline_has_the_width_and_colors_of_its_kinds(answers: Answers, width: int) -> None:
    png = call(answers, "picture", run="ddp", width_px=width).png
    assert png is not None
    image = Image.open(io.BytesIO(png))
    assert image.width == width
    assert 100 < image.height < 900
    colors = {color for _, color in image.convert("RGB").getcolors(4096)}
    for wanted in ((0x00, 0x72, 0xB2), (0x3A, 0x9A, 0xD9)):  # kernels, operators
        assert any(max(abs(a - b) for a, b in zip(wanted, c, strict=True)) < 12 for c in colors)


def test_a_smaller_size_gives_a_smaller_picture(answers: Answers) -> None:
    large, small = (
        call(answers, "picture", run="ddp", width_px=1600, max_bytes=size).png or b""
        for size in (60_000, 9_000)
    )
    assert 0 < len(small) < len(large)


def test_a_window_is_drawn_alone(answers: Answers) -> None:
    one = call(answers, "picture", run="ddp", start_ns=0, stop_ns=50_000).png
    other = call(answers, "picture", run="ddp", start_ns=500_000, stop_ns=550_000).png
    assert one != other
