"""Drawing on the picture for agents: shapes, clipped text, the axis's steps."""

from __future__ import annotations

import io
import sys

import pytest

from tb_privateuse1.server.agents.picture import canvas
from tb_privateuse1.trace.errors import TraceError

Image = pytest.importorskip("PIL.Image")


@pytest.mark.parametrize(
    ("span", "most", "step"), [(100, 10, 10), (100, 9, 20), (7, 7, 1), (1, 3, 0.5), (1e9, 4, 5e8)]
)
def test_steps_are_nice(span: float, most: int, step: float) -> None:
    assert canvas.nice_step(span, most) == pytest.approx(step)


def test_text_is_clipped_to_its_room() -> None:
    made = canvas.Canvas(100, 20)
    assert made.clipped("abc", 90) == "abc"
    cut = made.clipped("abcdefghijklmnopqrstuvwxyz" * 5, 60)
    assert cut.endswith("…")
    assert made.text_width(cut) <= 60
    assert made.clipped("abcdefghij", 4) == ""


@pytest.mark.parametrize("sharpness", [1, 2])
def test_shapes_are_where_they_should_be(sharpness: int) -> None:
    made = canvas.Canvas(40, 20, sharpness)
    made.rectangle(10, 5, 20, 15, (255, 0, 0))
    made.rectangle(30.7, 5, 30.7, 15, (0, 0, 255))
    made.line([(0, 18), (39, 18)], canvas.INK)
    image = Image.open(io.BytesIO(made.png(16))).convert("RGB")
    assert image.size == (40, 20)
    assert image.getpixel((15, 10)) == (255, 0, 0)
    assert image.getpixel((5, 10)) == canvas.GROUND
    assert image.getpixel((30, 10)) != canvas.GROUND


def test_colors_are_mixed() -> None:
    assert canvas.parse_color("#0072b2") == (0, 0x72, 0xB2)
    assert canvas.mixed((0, 0, 0), 0.5) == (128, 128, 128)
    assert canvas.is_dark((0, 0, 0))
    assert not canvas.is_dark(canvas.GROUND)


def test_a_missing_pillow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(TraceError, match="needs Pillow") as raised:
        canvas.Canvas(10, 10)
    assert raised.value.code == "no_pillow"
    assert "[mcp]" in str(raised.value.hint)
