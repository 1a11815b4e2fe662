"""Figures with the units that their names have."""

from __future__ import annotations

from typing import Any

import pytest

from tb_privateuse1.i18n.units import percent, significant, with_unit


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("mfu", 0.0028, "0.28 %"),
        ("mfu_low", 0.412, "41.2 %"),
        ("utilization_high", 1.0, "100 %"),
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


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.9996, "> 99.9 %"),
        (0.123456, "12.3 %"),
        (0.0932, "9.32 %"),
        (0.00123, "0.12 %"),
        (0.00001, "< 0.01 %"),
        (2.5, "250 %"),
        (-0.549, "-54.9 %"),
        (-0.00001, "> -0.01 %"),
    ],
)
def test_a_share_reads_as_on_the_pages(share: float, text: str) -> None:
    """The same shares are in ``frontend/tests/lib/format.test.ts``."""
    assert percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0.00"),
        (1.2, "1.20"),
        (9.996, "10.0"),
        (99.96, "100"),
        (999.6, "1,000"),
        (1234, "1,234"),
    ],
)
def test_three_digits_are_significant(value: float, text: str) -> None:
    assert significant(value) == text
