"""Figures with the units that their names have."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.i18n.units import with_unit


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mfu", 0.0028, "0.3 %"),
        ("mfu_low", 0.412, "41.2 %"),
        ("utilization_high", 1.0, "100.0 %"),
        ("now_roof_share", 0.5, "50.0 %"),
        ("flops", 140_395_069_440, "140.395 GFLOP"),
        ("product_flops", 999, "999 FLOP"),
        ("base_tflop_per_s", 71.25, "71.2 TFLOP/s"),
        ("gb_per_s", 1234.0, "1,234 GB/s"),
        ("flops_per_byte", 42.667, "42.7 FLOP/B"),
        ("samples_per_s", 346.42, "346.4"),
        ("tflop_per_s", None, "-"),
    ],
)
def test_a_figure_has_its_unit(name: str, value: Any, text: str) -> None:
    assert with_unit(name, value) == text
